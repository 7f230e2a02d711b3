// How many random cases a test draws: fewer under sanitizers and in emulators, which take some twenty times as long.
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

#if defined(ENVOI_TESTS_EMULATED)
inline constexpr bool kEmulated = true;
#else
inline constexpr bool kEmulated = false;
#endif

// `sanitized` and `emulated` divide the count there.
inline int effort(int count, int sanitized = 20, int emulated = 10) {
  return std::max(count / (kSanitized ? sanitized : kEmulated ? emulated : 1), 1);
}

}  // namespace envoi::tests
