// What the readers that use the HDF5 library share.
#pragma once

#include <mutex>

namespace envoi::signal {

// The library is mostly built without locks of its own: hold this while using it, or a library on top of it.
std::mutex& hdf5_mutex();

// The library prints its faults unless told not to: silent while this lives. Hold the mutex.
class QuietHdf5 {
 public:
  QuietHdf5();
  ~QuietHdf5();
  QuietHdf5(const QuietHdf5&) = delete;
  QuietHdf5& operator=(const QuietHdf5&) = delete;

 private:
  void (*function_)() = nullptr;  // what was set before, of the library's own type
  void* data_ = nullptr;
};

// For programs, before anything is read: the library does not clean up at the end of the process, where it prints a
// complaint about what damaged files left open in it. Nothing is lost by it: no file is written through the library.
void leave_hdf5_open_at_exit();

}  // namespace envoi::signal
