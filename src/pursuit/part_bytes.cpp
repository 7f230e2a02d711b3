// Numbers one after the other, vectors and texts with their lengths before them.
#include "pursuit/part_bytes.hpp"

#include <cstring>
#include <type_traits>

namespace envoi::pursuit {
namespace {

class Writer {
 public:
  template <class T>
  void operator()(const T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void operator()(const std::string& text) {
    (*this)(std::uint64_t{text.size()});
    bytes_ += text;
  }
  template <class T, class Each>
  void each(const std::vector<T>& values, const Each& visit) {
    (*this)(std::uint64_t{values.size()});
    for (const T& value : values) visit(value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  void operator()(T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    if (!has(sizeof value)) return;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
  }
  void operator()(std::string& text) {
    std::uint64_t size = 0;
    (*this)(size);
    if (!has(size)) return;
    text.assign(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
  }
  template <class T, class Each>
  void each(std::vector<T>& values, const Each& visit) {
    std::uint64_t size = 0;
    (*this)(size);
    if (!has(size)) return;  // at least a byte each
    values.resize(size);
    for (T& value : values) visit(value);
  }
  bool complete() const { return good_ && bytes_.empty(); }

 private:
  bool has(std::uint64_t size) {
    good_ = good_ && size <= bytes_.size();
    return good_;
  }
  std::string_view bytes_;
  bool good_ = true;
};

// The fields, once for both directions.
template <class Io, class C>
void chirplet_fields(Io& io, C& c) {
  io(c.time_s), io(c.frequency_hz), io(c.duration_s), io(c.chirp_rate_hz_per_s), io(c.amplitude), io(c.phase_rad);
  io(c.peak), io(c.energy), io(c.energy_share), io(c.energy_left_share), io(c.kept);
  io(c.se.time_s), io(c.se.frequency_hz), io(c.se.duration_s), io(c.se.chirp_rate_hz_per_s), io(c.se.amplitude);
  io(c.se.phase_rad);
}

template <class Io, class R>
void result_fields(Io& io, R& r) {
  auto& s = r.segment;
  io(s.start_s), io(s.samples), io(s.mean), io(s.slope_per_s), io(s.energy), io(s.in_band_share);
  io(s.missing_samples), io(s.stop_reason), io(s.snr_db), io(s.energy_left_share), io(s.atom_count);
  io(s.certificate.precision), io(s.certificate.bound);
  io.each(s.certificate.survivors, [&](auto& n) { io(n); });
  io.each(r.atoms, [&](auto& atom) { chirplet_fields(io, atom); });
}

template <class Io, class T>
void take_fields(Io& io, T& t) {
  io(t.round), io(t.rank), io(t.gain), io(t.bound), io(t.survivors);
  auto& a = t.term.atom;
  io(a.sample), io(a.offset), io(a.frequency), io(a.ln_duration), io(a.chirp_rate);
}

constexpr std::uint32_t kSegments = 0x53474d31, kStretch = 0x53545231;

}  // namespace

std::string to_bytes(const std::vector<SegmentResult>& results) {
  Writer out;
  out(kSegments);
  out.each(results, [&](const SegmentResult& r) { result_fields(out, r); });
  return out.take();
}

std::optional<std::vector<SegmentResult>> segments_of(std::string_view bytes) {
  Reader in(bytes);
  std::uint32_t kind = 0;
  in(kind);
  std::vector<SegmentResult> results;
  in.each(results, [&](SegmentResult& r) { result_fields(in, r); });
  if (kind != kSegments || !in.complete()) return std::nullopt;
  return results;
}

std::string to_bytes(const StretchRecord& record) {
  Writer out;
  out(kStretch), out(record.reason), out(record.closed);
  out.each(record.keys, [&](double key) { out(key); });
  out.each(record.takes, [&](const Take& take) {
    take_fields(out, take);
    out(take.term.alpha.real()), out(take.term.alpha.imag());
  });
  return out.take();
}

std::optional<StretchRecord> stretch_of(std::string_view bytes) {
  Reader in(bytes);
  StretchRecord record;
  std::uint32_t kind = 0;
  in(kind), in(record.reason), in(record.closed);
  in.each(record.keys, [&](double& key) { in(key); });
  in.each(record.takes, [&](Take& take) {
    take_fields(in, take);
    double re = 0, im = 0;
    in(re), in(im);
    take.term.alpha = {re, im};
  });
  if (kind != kStretch || !in.complete() || record.closed < 0 ||
      record.keys.size() != static_cast<std::size_t>(record.closed) + 1)
    return std::nullopt;
  return record;
}

}  // namespace envoi::pursuit
