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

struct Kind : IsaKind {
  int64_t target = 0;
};

// A lower bit is a better target. The compiler's own baseline always runs.
std::vector<Kind> find_kinds() {
  const int64_t run = hwy::SupportedTargets() | HWY_STATIC_TARGET;
  std::vector<Kind> kinds;
  for (int64_t rest = HWY_TARGETS; rest != 0; rest &= rest - 1) {
    const int64_t target = rest & -rest;
    kinds.push_back({{lower(hwy::TargetName(target)), (run & target) != 0}, target});
  }
  return kinds;
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = find_kinds();
  return all;
}

struct Choice : Isa {
  int64_t target = 0;  // 0: whatever Highway finds best
};

Choice choose() {
  Choice choice;
  const std::vector<Kind>& all = kinds();
  const char* wanted = std::getenv("ENVOI_ISA");
  if (wanted && lower(wanted) == "avx512") wanted = "avx3";  // Highway's name of it
  if (wanted && *wanted) {
    std::string known;
    for (const Kind& kind : all) {
      if (!kind.here) continue;
      known += (known.empty() ? "" : ", ") + kind.name;
      if (kind.name == lower(wanted)) choice.target = kind.target;
    }
    if (choice.target == 0) {
      throw Error(ErrorKind::bad_argument,
                  "ENVOI_ISA is '" + std::string(wanted) +
                      "', which this processor or build does not have; unset it or choose one of: " + known);
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

const std::vector<IsaKind>& isa_kinds() {
  static const std::vector<IsaKind> all = [] {
    chosen();  // Highway is asked before anything narrows its answer
    return std::vector<IsaKind>(kinds().begin(), kinds().end());
  }();
  return all;
}

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
