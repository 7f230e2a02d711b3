// The choice of an instruction set among those that this build has code for and this processor runs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/isa.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace envoi::core::HWY_NAMESPACE {
int64_t TargetHere() { return HWY_TARGET; }
}  // namespace envoi::core::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <mutex>

#include "core/isa.hpp"
#include "envoi/error.hpp"

namespace envoi::core {
HWY_EXPORT(TargetHere);

namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::recursive_mutex dispatching;

void restrict_to(int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

struct Choice : Isa {
  int64_t target = 0;  // 0: whatever Highway finds best
};

Choice choose() {
  Choice choice;
  const char* wanted = std::getenv("ENVOI_ISA");
  if (wanted && *wanted) {
    std::string known;
    for (const int64_t t : hwy::SupportedAndGeneratedTargets()) {
      const std::string name = lower(hwy::TargetName(t));
      known += (known.empty() ? "" : ", ") + name;
      if (name == lower(wanted)) choice.target = t;
    }
    if (choice.target == 0) {
      throw Error(ErrorKind::bad_argument, "ENVOI_ISA is '" + std::string(wanted) +
                                               "', which this processor or build does not have; there are: " + known);
    }
    choice.forced = true;
  }
  const std::lock_guard lock(dispatching);
  restrict_to(choice.target);
  choice.name = lower(hwy::TargetName(HWY_DYNAMIC_DISPATCH(TargetHere)()));
  restrict_to(0);
  return choice;
}

const Choice& chosen() {
  static const Choice choice = choose();
  return choice;
}

}  // namespace

const Isa& isa() { return chosen(); }

detail::PinnedIsa::PinnedIsa() {
  const int64_t target = chosen().target;  // may throw: before the lock
  dispatching.lock();
  restrict_to(target);
}

detail::PinnedIsa::~PinnedIsa() {
  restrict_to(0);
  dispatching.unlock();
}

}  // namespace envoi::core
#endif  // HWY_ONCE
