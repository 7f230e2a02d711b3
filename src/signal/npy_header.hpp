// What the head of a .npy file says, and how its numbers are read. Format: numpy.lib.format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "readers.hpp"

namespace envoi::signal {

struct NpyHeader {
  std::string dtype;  // "<f8"
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
  std::size_t data_at = 0;  // bytes from the start

  bool big_endian() const;
};

// The bytes up to the first number, as the first 12 of a file tell. Throws Error (bad_file) if that is no .npy file.
std::uint64_t npy_header_bytes(const Input& input);

// `input` holds the header at least. Throws Error (bad_file).
NpyHeader read_npy_header(const Input& input);

struct NpyType {
  std::string_view code;  // "f4", "f8", "i1", ...
  std::size_t width;      // bytes
  double (*load)(const char* at, bool big_endian);
};

// Throws Error (bad_file) for a dtype that is not read.
const NpyType& npy_type(const Input& input, const std::string& dtype);

}  // namespace envoi::signal
