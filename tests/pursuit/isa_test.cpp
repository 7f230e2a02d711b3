// The search's kernels are those of the instruction set in use.
#include "core/isa.hpp"

#include <gtest/gtest.h>

#include <map>

#include "pursuit/cpu/screen.hpp"

namespace envoi::pursuit {
namespace {

TEST(Isa, the_kernels_have_its_lanes) {
  const std::map<std::string, int> bytes = {{"scalar", 0}, {"emu128", 16}, {"ssse3", 16}, {"sse4", 16},
                                            {"avx2", 32},  {"avx3", 64},   {"neon", 16}};
  std::string name = core::isa().name;
  if (name.rfind("avx3", 0) == 0) name = "avx3";  // avx3_dl and later
  if (name.rfind("neon", 0) == 0) name = "neon";
  ASSERT_TRUE(bytes.count(name)) << name;
  EXPECT_EQ(screen_kernels<float>().lanes, std::max(bytes.at(name) / 4, 1)) << name;
  EXPECT_EQ(screen_kernels<double>().lanes, std::max(bytes.at(name) / 8, 1)) << name;
}

}  // namespace
}  // namespace envoi::pursuit
