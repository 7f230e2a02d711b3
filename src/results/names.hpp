// The words of the result file for the library's enumerations, in one table each, for writing and for reading.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "envoi/decomposition.hpp"

namespace envoi::results {

template <class E, std::size_t N>
using Names = std::array<std::pair<E, std::string_view>, N>;

inline constexpr Names<Method, 3> kMethods = {{{Method::mp, "mp"}, {Method::omp, "omp"}, {Method::joint, "joint"}}};
inline constexpr Names<Detrend, 3> kDetrends = {
    {{Detrend::mean, "mean"}, {Detrend::linear, "linear"}, {Detrend::none, "none"}}};
inline constexpr Names<Missing, 2> kMissing = {{{Missing::reject, "reject"}, {Missing::weight, "weight"}}};
inline constexpr Names<Precision, 2> kPrecisions = {{{Precision::exact, "exact"}, {Precision::double_, "double"}}};
inline constexpr Names<Phase, 2> kPhases = {{{Phase::solved, "solved"}, {Phase::fixed, "fixed"}}};
inline constexpr Names<Channels, 3> kChannels = {
    {{Channels::independent, "independent"}, {Channels::joint, "joint"}, {Channels::joint_phase, "joint-phase"}}};
inline constexpr Names<StopReason, 9> kStopReasons = {{{StopReason::atoms, "atoms"},
                                                       {StopReason::snr, "snr"},
                                                       {StopReason::energy, "energy"},
                                                       {StopReason::noise, "noise"},
                                                       {StopReason::silence, "silence"},
                                                       {StopReason::missing, "missing"},
                                                       {StopReason::exhausted, "exhausted"},
                                                       {StopReason::threshold, "threshold"},
                                                       {StopReason::density, "density"}}};

template <class E, std::size_t N>
constexpr std::string_view name_of(const Names<E, N>& names, E value) {
  for (const auto& [v, name] : names)
    if (v == value) return name;
  return "?";
}

template <class E, std::size_t N>
constexpr std::optional<E> value_of(const Names<E, N>& names, std::string_view wanted) {
  for (const auto& [v, name] : names)
    if (name == wanted) return v;
  return std::nullopt;
}

}  // namespace envoi::results
