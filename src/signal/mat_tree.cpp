// The tree of elements of a MATLAB file, walked without keeping any of it: tags of type and size, packed ones unpacked
// on the way.
#include "mat_tree.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "shared.hpp"

namespace envoi::signal {
namespace {

constexpr std::size_t kHeaderBytes = 128;
constexpr std::uint32_t kMatrix = 14, kPacked = 15;
constexpr int kDeepest = 64;             // structures in structures
constexpr double kBytesAnElement = 512;  // that the library spends on each, whatever it holds

// The bytes of one element of the file, as they are or unpacked; read once, in order.
class Bytes {
 public:
  Bytes(const std::string& file, std::size_t at, std::string_view bytes, bool packed)
      : file_(file), at_(at), bytes_(bytes), packed_(packed) {
    if (!packed_) return;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes_.data()));
    stream_.avail_in = static_cast<uInt>(bytes_.size());
    if (inflateInit(&stream_) != Z_OK) damaged("cannot be unpacked");
  }
  ~Bytes() {
    if (packed_) inflateEnd(&stream_);
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  void take(char* to, std::size_t count) {
    passed_ += static_cast<double>(count);
    if (!packed_) {
      if (count > bytes_.size()) damaged("is cut off");
      std::memcpy(to, bytes_.data(), count);
      bytes_.remove_prefix(count);
      return;
    }
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(count);
    while (stream_.avail_out > 0)
      if (const int status = inflate(&stream_, Z_NO_FLUSH); status != Z_OK && stream_.avail_out > 0)
        damaged("cannot be unpacked");
  }

  void skip(std::uint64_t count) {
    if (!packed_) {
      if (count > bytes_.size()) damaged("is cut off");
      bytes_.remove_prefix(count);
      passed_ += static_cast<double>(count);
      return;
    }
    std::array<char, 65536> rest;
    for (; count > 0; count -= std::min<std::uint64_t>(count, rest.size()))
      take(rest.data(), std::min<std::uint64_t>(count, rest.size()));
  }

  // What follows; of a packed variable up to its end, where its checksum stands.
  void finish() {
    std::array<char, 65536> rest;
    for (int status = Z_OK; packed_ && status != Z_STREAM_END;) {
      stream_.next_out = reinterpret_cast<Bytef*>(rest.data());
      stream_.avail_out = static_cast<uInt>(rest.size());
      status = inflate(&stream_, Z_NO_FLUSH);
      if (status != Z_OK && status != Z_STREAM_END) damaged("cannot be unpacked");
    }
  }

  [[noreturn]] void damaged(const std::string& what) const {
    bad_file(file_, "the variable at byte " + std::to_string(at_) + " " + what + "; the file is cut off or damaged");
  }

  void count_element() {
    ++elements_;
    // The library holds all of a variable; 64 bits for what may be 8 in the file.
    if (elements_ % 1024 == 1) require_memory(file_, static_cast<double>(elements_) * kBytesAnElement / 8 + passed_);
  }

 private:
  const std::string& file_;
  std::size_t at_;
  std::string_view bytes_;
  bool packed_;
  z_stream stream_{};
  std::size_t elements_ = 0;
  double passed_ = 0;
};

std::uint32_t word_of(const char* at, bool big) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i)
    word |= static_cast<std::uint32_t>(static_cast<unsigned char>(at[i])) << (8 * (big ? 3 - i : i));
  return word;
}

// Bytes of a number of that type; 0: no type of numbers.
std::uint64_t width_of(std::uint32_t type) {
  constexpr std::array<std::uint8_t, 19> kWidths = {0, 1, 1, 2, 2, 4, 4, 4, 0, 8, 0, 0, 8, 8, 0, 0, 1, 2, 4};
  return type < kWidths.size() ? kWidths[type] : 0;
}

// Walks one variable; `left` is what remains of the element around.
class Walk {
 public:
  Walk(Bytes& bytes, bool big) : bytes_(bytes), big_(big) {}

  // The content of a matrix of so many bytes.
  void matrix(std::uint64_t size, int depth) {
    bytes_.count_element();
    if (size == 0) return;  // an empty one
    if (depth > kDeepest) bytes_.damaged("holds structures too deep in each other");
    std::uint64_t left = size;
    const std::string flags = small(left, 16);
    if (flags.size() != 8) bytes_.damaged("has no class");
    const std::uint32_t word = word_of(flags.data(), big_), kind = word & 0xFF;
    if (kind == 17) return bytes_.skip(left);  // of MATLAB's own objects only MATLAB knows more
    const std::string axes = small(left, 4 * 64);
    if (axes.size() < 8 || axes.size() % 4 != 0) bytes_.damaged("has no dimensions");
    std::uint64_t count = 1;
    for (std::size_t i = 0; i < axes.size(); i += 4)
      if (const std::uint32_t axis = word_of(axes.data() + i, big_);
          axis > INT32_MAX || __builtin_mul_overflow(count, std::uint64_t{axis}, &count))
        bytes_.damaged("has impossible dimensions");
    small(left, 4096);  // its name
    if (kind >= 6 && kind <= 15) {
      numbers(left, count, false);
      if (word & 0x0800) numbers(left, count, false);
    } else if (kind == 4) {
      numbers(left, count, true);
    } else if (kind == 1) {
      matrices(left, count, depth);
    } else if (kind == 2 || kind == 3) {
      if (kind == 3) small(left, 4096);
      const std::string length = small(left, 4);
      const std::uint32_t each = length.size() == 4 ? word_of(length.data(), big_) : 0;
      const std::string names = small(left, std::uint64_t{1} << 20);
      if (each == 0 || names.size() % each != 0) bytes_.damaged("has damaged names of fields");
      if (__builtin_mul_overflow(count, std::uint64_t{names.size() / each}, &count))
        bytes_.damaged("has impossible dimensions");
      matrices(left, count, depth);
    } else if (kind == 5 || kind == 16) {
      while (left >= 8) {  // sparse matrices, functions
        const Tag tag = next(left);
        if (tag.type == kMatrix)
          matrix(tag.bytes, depth + 1);
        else
          bytes_.skip(tag.bytes);
        bytes_.skip(tag.padding);
      }
    } else {
      bytes_.damaged("is of no known class");
    }
    bytes_.skip(left);
  }

 private:
  struct Tag {
    std::uint32_t type = 0;
    std::uint64_t bytes = 0;
    std::uint64_t padding = 0;
  };

  // A tag; `left` loses it and its content, which comes next.
  Tag next(std::uint64_t& left) {
    if (left < 8) bytes_.damaged("ends too early");
    char head[8];
    bytes_.take(head, 4);
    const std::uint32_t first = word_of(head, big_);
    Tag tag;
    if (first >> 16) {  // up to 4 bytes, in the tag itself
      tag.type = first & 0xFFFF;
      tag.bytes = first >> 16;
      if (tag.bytes > 4) bytes_.damaged("has a damaged tag");
      tag.padding = 4 - tag.bytes;
      left -= 8;
      return tag;
    }
    bytes_.take(head + 4, 4);
    tag.type = first;
    tag.bytes = word_of(head + 4, big_);
    left -= 8;
    if (tag.bytes > left) bytes_.damaged("holds an element larger than itself");
    left -= tag.bytes;
    if (tag.type != kMatrix) tag.padding = std::min<std::uint64_t>(left, (8 - tag.bytes % 8) % 8);
    left -= tag.padding;
    return tag;
  }

  // The content of an element that is read whole.
  std::string small(std::uint64_t& left, std::uint64_t most) {
    const Tag tag = next(left);
    if (tag.type == kMatrix || width_of(tag.type) == 0 || tag.bytes > most) bytes_.damaged("has a damaged head");
    std::string content(tag.bytes, '\0');
    bytes_.take(content.data(), content.size());
    bytes_.skip(tag.padding);
    return content;
  }

  void numbers(std::uint64_t& left, std::uint64_t count, bool text) {
    if (left == 0 && count == 0) return;
    const Tag tag = next(left);
    const std::uint64_t width = width_of(tag.type);
    const bool utf8 = text && tag.type == 16;  // a letter may take several bytes
    // MATLAB itself writes letters that have none.
    if (text && tag.bytes == 0 && count <= 1024) return bytes_.skip(tag.padding);
    if (width == 0 || tag.bytes % width != 0 || (utf8 ? count > tag.bytes : count != tag.bytes / width))
      bytes_.damaged("announces " + std::to_string(count) + " numbers or letters and holds " +
                     std::to_string(width == 0 ? 0 : tag.bytes / width));
    bytes_.skip(tag.bytes);
    bytes_.skip(tag.padding);
  }

  void matrices(std::uint64_t& left, std::uint64_t count, int depth) {
    if (count > left / 8) bytes_.damaged("announces " + std::to_string(count) + " elements, for which it has no room");
    for (; count > 0; --count) {
      const Tag tag = next(left);
      if (tag.type != kMatrix) bytes_.damaged("has a damaged tag");
      matrix(tag.bytes, depth + 1);
      bytes_.skip(tag.padding);
    }
  }

  Bytes& bytes_;
  bool big_;
};

void check_version_5(const std::string& name, std::string_view bytes, bool big) {
  for (std::size_t at = kHeaderBytes; bytes.size() - at >= 8;) {
    const std::uint32_t type = word_of(bytes.data() + at, big), size = word_of(bytes.data() + at + 4, big);
    const std::string_view rest = bytes.substr(at + 8);
    if ((type != kMatrix && type != kPacked) || size > rest.size()) {
      bad_file(name, "the element at byte " + std::to_string(at) +
                         (size > rest.size() ? " is larger than what is left of the file" : " is no variable") +
                         "; the file is cut off or damaged");
    }
    Bytes content(name, at, rest.substr(0, size), type == kPacked);
    std::uint64_t inside = size;
    if (type == kPacked) {
      char tag[8];
      content.take(tag, sizeof tag);
      if (word_of(tag, big) != kMatrix) content.damaged("holds no matrix");
      inside = word_of(tag + 4, big);
    }
    Walk(content, big).matrix(inside, 0);
    content.finish();
    at += 8 + size;
  }
}

void check_version_4(const std::string& name, std::string_view bytes) {
  constexpr std::array<std::uint64_t, 6> kWidths = {8, 4, 4, 2, 2, 1};
  for (std::size_t at = 0; at < bytes.size();) {
    const auto damaged = [&](const char* what) {
      bad_file(name, "the variable at byte " + std::to_string(at) + " " + what +
                         "; the file is cut off, damaged or no MATLAB file");
    };
    if (bytes.size() - at < 20) damaged("is cut off");
    const char* const head = bytes.data() + at;
    const bool big = word_of(head, false) > 9999;
    const std::uint32_t type = word_of(head, big), length = word_of(head + 16, big);
    if (type > 9999 || type / 10 % 10 >= kWidths.size()) damaged("is of no known type");
    std::uint64_t count = word_of(head + 4, big);
    if (__builtin_mul_overflow(count, std::uint64_t{word_of(head + 8, big)}, &count) ||
        __builtin_mul_overflow(count, (word_of(head + 12, big) ? 2 : 1) * kWidths[type / 10 % 10], &count) ||
        __builtin_add_overflow(count, std::uint64_t{length} + 20, &count) || count > bytes.size() - at)
      damaged("is larger than what is left of the file");
    at += count;
  }
}

}  // namespace

void check_mat_tree(const std::string& name, std::string_view bytes) {
  if (bytes.starts_with("\x89HDF") || bytes.substr(0, 20).starts_with("MATLAB 7.3")) return;
  if (bytes.size() >= kHeaderBytes) {
    const std::string_view end = bytes.substr(126, 2);
    if (end == "IM" || end == "MI") {
      const auto high = static_cast<unsigned char>(bytes[end == "IM" ? 125 : 124]);
      if (high != 1) return;  // version 2 is HDF5
      return check_version_5(name, bytes, end == "MI");
    }
  }
  check_version_4(name, bytes);
}

}  // namespace envoi::signal
