// The page that reports are filled into; the build makes it from web/ and writes the file that defines these.
#pragma once

#include <string_view>

namespace envoi::results {

std::string_view report_page();          // empty in a build that has none
std::string_view report_page_missing();  // why there is none

}  // namespace envoi::results
