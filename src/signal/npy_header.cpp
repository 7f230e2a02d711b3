// The head of a .npy file, versions 1 to 3.
#include "npy_header.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "shared.hpp"

namespace envoi::signal {
namespace {

// Reads the header's Python dictionary: three known keys, in any order.
class DictionaryReader {
 public:
  DictionaryReader(const Input& input, std::string_view text) : input_(input), text_(text) {}

  NpyHeader read() {
    NpyHeader header;
    bool have_dtype = false, have_order = false, have_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        header.dtype = dtype();
        have_dtype = true;
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
        have_order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        have_shape = true;
      } else {
        fault("has the unknown key '" + printable(key) + "'");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!have_dtype || !have_order || !have_shape) fault("lacks descr, fortran_order or shape");
    return header;
  }

 private:
  [[noreturn]] void fault(const std::string& what) const {
    bad_file(input_.name, "the .npy header " + what + " (near byte " + std::to_string(at_) + " of the header)");
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }

  bool accept(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fault(std::string("is damaged: no '") + c + "'");
  }

  std::string quoted() {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') fault("is damaged: no quoted word");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fault("is damaged: a quote is not closed");
    std::string word(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return word;
  }

  std::string dtype() {
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '[') {
      bad_file(input_.name, "holds records of several fields (a structured dtype); save one field as its own array");
    }
    return quoted();
  }

  bool boolean() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += std::strlen(word);
      return value;
    }
    fault("has a fortran_order that is neither True nor False");
  }

  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> sizes;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      std::size_t end = at_;
      while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
      const auto size = parse_integer(text_.substr(at_, end - at_));
      if (!size) fault("has a shape that is no tuple of counts");
      at_ = end;
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // written by Python 2
      sizes.push_back(static_cast<std::uint64_t>(*size));
      if (sizes.size() > 32) fault("has a shape of too many axes");
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return sizes;
  }

  const Input& input_;
  std::string_view text_;
  std::size_t at_ = 0;
};

template <class Value, class Word>
double load(const char* at, bool big_endian) {
  Word word = 0;
  for (std::size_t i = 0; i < sizeof(Word); ++i) {
    const std::size_t shift = 8 * (big_endian ? sizeof(Word) - 1 - i : i);
    word = static_cast<Word>(word | static_cast<Word>(static_cast<Word>(static_cast<unsigned char>(at[i])) << shift));
  }
  return static_cast<double>(std::bit_cast<Value>(word));
}

constexpr std::array kTypes = {
    NpyType{"f4", 4, load<float, std::uint32_t>},         NpyType{"f8", 8, load<double, std::uint64_t>},
    NpyType{"i1", 1, load<std::int8_t, std::uint8_t>},    NpyType{"i2", 2, load<std::int16_t, std::uint16_t>},
    NpyType{"i4", 4, load<std::int32_t, std::uint32_t>},  NpyType{"i8", 8, load<std::int64_t, std::uint64_t>},
    NpyType{"u1", 1, load<std::uint8_t, std::uint8_t>},   NpyType{"u2", 2, load<std::uint16_t, std::uint16_t>},
    NpyType{"u4", 4, load<std::uint32_t, std::uint32_t>},
};

}  // namespace

std::uint64_t npy_header_bytes(const Input& input) {
  const std::string_view bytes = input.bytes;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])); };
  if (!bytes.starts_with("\x93NUMPY")) bad_file(input.name, "is not a .npy file: it does not begin with \\x93NUMPY");
  if (bytes.size() < 12) bad_file(input.name, "is cut off inside the .npy header");
  const std::uint64_t version = byte(6);
  if (version < 1 || version > 3) {
    bad_file(input.name, ".npy version " + std::to_string(version) + " is unknown; 1 to 3 are read");
  }
  return version == 1 ? 10 + (byte(8) | byte(9) << 8) : 12 + (byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24);
}

NpyHeader read_npy_header(const Input& input) {
  const std::uint64_t data_at = npy_header_bytes(input);
  const std::size_t text_at = input.bytes[6] == 1 ? 10 : 12;
  if (data_at > input.bytes.size()) {
    bad_file(input.name, "is cut off: the .npy header claims " + std::to_string(data_at - text_at) +
                             " bytes, the file has " + std::to_string(input.bytes.size()));
  }
  const auto end = static_cast<std::size_t>(data_at);
  NpyHeader header = DictionaryReader(input, input.bytes.substr(text_at, end - text_at)).read();
  header.data_at = end;
  return header;
}

bool NpyHeader::big_endian() const {
  return dtype[0] == '>' || (dtype[0] == '=' && std::endian::native == std::endian::big);
}

const NpyType& npy_type(const Input& input, const std::string& dtype) {
  if (dtype.size() >= 2 && (dtype[0] == '<' || dtype[0] == '>' || dtype[0] == '|' || dtype[0] == '=')) {
    for (const NpyType& type : kTypes) {
      if (type.code == std::string_view(dtype).substr(1)) return type;
    }
  }
  const std::string kind = dtype.find('c') != std::string::npos   ? " (complex)"
                           : dtype.find('O') != std::string::npos ? " (Python objects)"
                                                                  : "";
  bad_file(input.name, "holds the dtype '" + printable(dtype) + "'" + kind +
                           "; f4, f8, i1, i2, i4, i8, u1, u2 and u4 are read, so convert it with astype first");
}

}  // namespace envoi::signal
