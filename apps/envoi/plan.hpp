// What an analysis would cost, in words.
#pragma once

#include <string>

#include "envoi/options.hpp"
#include "envoi/recording.hpp"

namespace envoi::command {

std::string plan_text(const Recording& recording, const PursuitOptions& options);

}  // namespace envoi::command
