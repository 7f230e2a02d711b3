// The processor in words.
#pragma once

#include <string>

namespace envoi::core {

// "AMD EPYC 9654 96-Core Processor"; the architecture ("arm64") where the system does not say.
std::string processor_name();

// Its name, the instruction set in use and why, what else there is, threads.
// Throws Error (bad_argument) if ENVOI_ISA names an instruction set that is not here.
std::string describe_processor();

}  // namespace envoi::core
