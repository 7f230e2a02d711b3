// MATLAB files of versions 4 and 5, looked through before the library that reads them believes their sizes.
#pragma once

#include <string>
#include <string_view>

namespace envoi::signal {

// Throws Error: bad_file if an element does not fit into the one around it, or a variable's sizes do not give the bytes
// that are there; out_of_memory. Other files (version 7.3 is HDF5) are let through.
void check_mat_tree(const std::string& name, std::string_view bytes);

}  // namespace envoi::signal
