// Finished parts as bytes and back, on machines of one byte order.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pursuit/segment.hpp"
#include "pursuit/whole.hpp"

namespace envoi::pursuit {

std::string to_bytes(const std::vector<SegmentResult>& results);
std::string to_bytes(const StretchRecord& record);

// Nothing if the bytes are not of such a part.
std::optional<std::vector<SegmentResult>> segments_of(std::string_view bytes);
std::optional<StretchRecord> stretch_of(std::string_view bytes);

}  // namespace envoi::pursuit
