// How many random cases a test draws: fewer under sanitizers, which take some twenty times as long.
#pragma once

#include <algorithm>

namespace envoi::tests {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

inline int effort(int count) { return kSanitized ? std::max(count / 20, 1) : count; }

}  // namespace envoi::tests
