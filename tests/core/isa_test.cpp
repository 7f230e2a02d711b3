// The SIMD code runs with the instruction set it should: forced, or the best there is, and never one lane at a time
// where the processor can do more.
#include "core/isa.hpp"

#include <gtest/gtest.h>
#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "core/processor.hpp"

namespace envoi::core {
namespace {

TEST(Isa, is_the_one_asked_for_else_the_best_here) {
  const Isa& chosen = isa();
  std::cout << "instruction set: " << chosen.name << "\n";
  const char* forced = std::getenv("ENVOI_ISA");
  EXPECT_EQ(chosen.forced, forced && *forced);
  const auto best = std::find_if(isa_kinds().begin(), isa_kinds().end(), [](const IsaKind& kind) { return kind.here; });
  ASSERT_NE(best, isa_kinds().end());
  if (chosen.forced) {
    EXPECT_EQ(strcasecmp(chosen.name.c_str(), forced), 0) << chosen.name;
  } else {
    EXPECT_EQ(chosen.name, best->name);
  }
}

TEST(Isa, is_simd_where_the_processor_has_it) {
  if (isa().forced) GTEST_SKIP() << "ENVOI_ISA=" << isa().name;
#if defined(__aarch64__)
  EXPECT_EQ(isa().name.rfind("neon", 0), 0u) << isa().name;  // "neon_bf16" is one, too
#elif defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "no AVX2 here";
  EXPECT_EQ(isa().name.rfind("avx", 0), 0u) << isa().name;
#else
  GTEST_SKIP() << "no expectation of this architecture";
#endif
}

TEST(Isa, devices_say_which_and_why) {
  const std::string text = describe_processor();
  EXPECT_NE(text.find(processor_name()), std::string::npos) << text;
  EXPECT_NE(text.find("instruction set " + isa().name), std::string::npos) << text;
  EXPECT_NE(text.find(isa().forced ? "named by ENVOI_ISA" : "best of this processor"), std::string::npos) << text;
  for (const IsaKind& kind : isa_kinds()) EXPECT_NE(text.find(kind.name), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

}  // namespace
}  // namespace envoi::core
