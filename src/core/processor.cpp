#include "core/processor.hpp"

#include <array>
#include <cstring>
#include <fstream>

#include "core/isa.hpp"
#include "core/thread_pool.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace envoi::core {
namespace {

std::string name_from_system() {
#if defined(__x86_64__) || defined(__i386__)
  std::array<unsigned, 12> words{};
  if (static_cast<unsigned>(__get_cpuid_max(0x80000000u, nullptr)) < 0x80000004u) return "";
  for (unsigned i = 0; i < 3; ++i) {
    unsigned* w = words.data() + 4 * i;
    __get_cpuid(0x80000002u + i, w, w + 1, w + 2, w + 3);
  }
  std::array<char, sizeof(words) + 1> text{};
  std::memcpy(text.data(), words.data(), sizeof(words));
  return text.data();
#elif defined(__APPLE__)
  std::array<char, 256> text{};
  std::size_t size = text.size() - 1;
  return sysctlbyname("machdep.cpu.brand_string", text.data(), &size, nullptr, 0) == 0 ? text.data() : "";
#else
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(':');
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 1);
  }
  return "";
#endif
}

}  // namespace

std::string processor_name() {
  std::string name;
  for (const char c : name_from_system()) {  // one space between words
    if (c != ' ' || (!name.empty() && name.back() != ' ')) name += c;
  }
  while (!name.empty() && name.back() == ' ') name.pop_back();
  if (!name.empty()) return name;
#if defined(__aarch64__)
  return "arm64";
#elif defined(__x86_64__)
  return "x86-64";
#else
  return "processor";
#endif
}

std::string describe_processor() {
  const Isa& chosen = isa();
  std::string others, missing;
  for (const IsaKind& kind : isa_kinds()) {
    if (kind.name == chosen.name) continue;
    std::string& list = kind.here ? others : missing;
    list += (list.empty() ? "" : ", ") + kind.name;
  }
  std::string text =
      processor_name() + ", " + std::to_string(thread_count(0)) + " threads; instruction set " + chosen.name +
      (chosen.forced ? ", named by ENVOI_ISA" : ", the best of this processor that this build has code for");
  if (!others.empty()) text += "; others here: " + others;
  if (!missing.empty()) text += "; not on this processor: " + missing;
  return text;
}

}  // namespace envoi::core
