// The one exception type of the library.
#pragma once

#include <stdexcept>
#include <string>

namespace envoi {

enum class ErrorKind {
  bad_argument,   // an option or parameter that cannot be met
  bad_file,       // input that is missing, damaged or not what it says it is
  no_device,      // the device asked for is not here
  out_of_memory,  // the job does not fit
  numerical,      // NaN or infinity where a number is needed
  cancelled,      // a progress callback asked to stop
};

// what() is one line: what is wrong, where (file, byte or line), and what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace envoi
