// The EDF+ and BDF+ writer behind write_signal.
#pragma once

#include <span>
#include <string>

#include "core/atomic_file.hpp"
#include "envoi/signal.hpp"

namespace envoi::signal {

// 16-bit samples, or 24-bit if `wide`. Throws Error (bad_argument: what EDF cannot hold), before anything is written.
void write_edf(core::AtomicFile& file, const std::string& path, std::span<const Channel> channels,
               const SignalNotes& notes, bool wide);

}  // namespace envoi::signal
