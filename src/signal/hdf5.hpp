// What the readers that use the HDF5 library share.
#pragma once

#include <mutex>

namespace envoi::signal {

// The library is mostly built without locks of its own: hold this while using it, or a library on top of it.
std::mutex& hdf5_mutex();

}  // namespace envoi::signal
