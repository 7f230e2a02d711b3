// Dictionaries and signals as plain matrices in .npy files. Dictionaries are read in pieces where they are used, with
// pread rather than a mapping, so that a file cut off meanwhile is an error and not the end of the process.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>

#include "bytes.hpp"
#include "envoi/error.hpp"
#include "envoi/search.hpp"
#include "envoi/signal.hpp"
#include "npy_header.hpp"
#include "pursuit/dense_rows.hpp"
#include "shared.hpp"

namespace envoi::signal {
namespace {

constexpr double kLargestInteger = 0x1p53;  // whole numbers up to it are numbers of fp64

// Bytes at any place: of a regular file from the disk, of anything else from memory.
class Source {
 public:
  explicit Source(const std::string& path) : name_(path == "-" ? "standard input" : path) {
    struct stat about {};
    if (path != "-" && ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
      file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (file_ < 0) bad_file(name_, "cannot be opened: " + std::generic_category().message(errno));
      size_ = static_cast<std::uint64_t>(about.st_size);
      return;
    }
    whole_.emplace(path);
    size_ = whole_->view().size();
  }
  ~Source() {
    if (file_ >= 0) ::close(file_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }

  void read(std::uint64_t at, std::size_t bytes, void* to) const {
    if (whole_) {
      std::memcpy(to, whole_->view().data() + at, bytes);
      return;
    }
    for (char* out = static_cast<char*>(to); bytes > 0;) {
      const ssize_t got = ::pread(file_, out, std::min(bytes, std::size_t{1} << 30), static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) bad_file(name_, "cannot be read: " + std::generic_category().message(errno));
      if (got == 0) {  // threads read in places of their own, so the end is asked for
        struct stat about {};
        const std::uint64_t end = ::fstat(file_, &about) == 0 ? static_cast<std::uint64_t>(about.st_size) : at;
        bad_file(name_, "ends at byte " + std::to_string(std::min(end, at)) +
                            ", but was longer when it was opened; run again when nothing else writes it");
      }
      out += got;
      at += static_cast<std::uint64_t>(got);
      bytes -= static_cast<std::size_t>(got);
    }
  }

 private:
  std::string name_;
  int file_ = -1;
  std::uint64_t size_ = 0;
  std::optional<FileBytes> whole_;
};

// A two-dimensional array in a file; a one-dimensional one is a single row.
class NpyRows : public pursuit::RowSource {
 public:
  // `what` the rows are, for messages: "atoms".
  NpyRows(const std::string& path, const std::string& what) : source_(path) {
    name = printable(source_.name(), 300);
    std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(source_.size(), 12)), '\0');
    source_.read(0, head.size(), head.data());
    const std::uint64_t wanted = npy_header_bytes({head, name});
    if (wanted > (std::uint64_t{1} << 24)) bad_file(name, "has a .npy header of more than 16 MB, so it is damaged");
    head.resize(static_cast<std::size_t>(std::min(source_.size(), wanted)));
    source_.read(0, head.size(), head.data());
    header_ = read_npy_header({head, name});
    type_ = &npy_type({head, name}, header_.dtype);
    const std::vector<std::uint64_t>& shape = header_.shape;
    if (shape.empty() || shape.size() > 2) {
      bad_file(name, "the array has " + std::to_string(shape.size()) + " axes; " + what + " x samples are wanted");
    }
    atoms = shape.size() == 2 ? shape[0] : 1;
    const std::uint64_t columns = shape.back();
    if (atoms == 0 || columns == 0) {
      bad_file(name, "the array is " + std::to_string(atoms) + " " + what + " x " + std::to_string(columns) +
                         " samples; at least one of each is needed");
    }
    const std::uint64_t there = (source_.size() - header_.data_at) / type_->width;
    if (atoms > there || columns > there / atoms) {
      bad_file(name, "is cut off: the header announces " + std::to_string(atoms) + " x " + std::to_string(columns) +
                         " numbers, the file holds " + std::to_string(there));
    }
    samples = static_cast<std::size_t>(columns);
    if (atoms == 1) header_.fortran_order = false;  // one row: all the same
    big_endian_ = header_.big_endian();
    const std::string_view code = type_->code;
    wide = code == "f8" || code == "i4" || code == "u4" || code == "i8";  // the others are numbers of fp32
    const bool native = std::endian::native == std::endian::little ? !big_endian_ : big_endian_;
    direct_ = native && !header_.fortran_order && (code == "f4" || code == "f8");
  }

  void read(std::uint64_t first, std::size_t count, void* to) const override {
    if (direct_) {
      source_.read(header_.data_at + first * samples * type_->width, count * samples * type_->width, to);
    } else if (wide) {
      convert(first, count, static_cast<double*>(to));
    } else {
      convert(first, count, static_cast<float*>(to));
    }
  }

 private:
  template <class T>
  void convert(std::uint64_t first, std::size_t count, T* to) const {
    const std::size_t width = type_->width;
    // Rows one by one, or columns: each is one stretch of the file.
    const std::size_t lines = header_.fortran_order ? samples : count;
    const std::size_t length = header_.fortran_order ? count : samples;
    std::vector<char> line(length * width);
    for (std::size_t i = 0; i < lines; ++i) {
      const std::uint64_t at = header_.fortran_order ? i * atoms + first : (first + i) * samples;
      source_.read(header_.data_at + at * width, line.size(), line.data());
      for (std::size_t j = 0; j < length; ++j) {
        const std::size_t row = header_.fortran_order ? j : i, column = header_.fortran_order ? i : j;
        const double value = type_->load(line.data() + j * width, big_endian_);
        if (type_->code == "i8" && std::abs(value) >= kLargestInteger) {
          bad_file(name, "row " + std::to_string(first + row) + ", column " + std::to_string(column) +
                             " (counted from 0) is a whole number beyond 2^53, which fp64 does not hold");
        }
        to[row * samples + column] = static_cast<T>(value);
      }
    }
  }

  Source source_;
  NpyHeader header_;
  const NpyType* type_ = nullptr;
  bool big_endian_ = false;
  bool direct_ = false;
};

}  // namespace
}  // namespace envoi::signal

namespace envoi {

Dictionary open_dictionary(const std::string& path) {
  return Dictionary(std::make_unique<signal::NpyRows>(path, "atoms"));
}

SignalRows read_signal_rows(const std::string& path) {
  const signal::NpyRows rows(path, "signals");
  SignalRows out;
  out.name = rows.name;
  out.count = static_cast<std::size_t>(rows.atoms);
  out.samples = rows.samples;
  try {
    out.values.resize(out.count * out.samples);
    std::vector<float> narrow(rows.wide ? 0 : out.samples);
    for (std::size_t r = 0; r < out.count; ++r) {
      double* const to = out.values.data() + r * out.samples;
      rows.read(r, 1, rows.wide ? static_cast<void*>(to) : narrow.data());
      if (!rows.wide) std::copy(narrow.begin(), narrow.end(), to);
      const std::size_t column = pursuit::first_not_finite(to, out.samples);
      if (column < out.samples) {
        throw Error(ErrorKind::numerical,
                    rows.name + ": row " + std::to_string(r) + ", column " + std::to_string(column) +
                        " (counted from 0) is not a finite number; mend or leave out that signal");
      }
    }
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::out_of_memory, rows.name + ": the signals do not fit into memory; search fewer at a time");
  } catch (const std::length_error&) {
    throw Error(ErrorKind::out_of_memory, rows.name + ": the signals do not fit into memory; search fewer at a time");
  }
  return out;
}

}  // namespace envoi
