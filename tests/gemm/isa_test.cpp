// Every instruction set finds the same winners: each is asked in a process of its own, on the same dictionary.
#include "core/isa.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>

#include "reference.hpp"

namespace envoi::gemm::tests {
namespace {

// Winners of a dictionary whose best and second differ by far more than rounding does.
std::string winners_here() {
  const std::int64_t rows = 5000, depth = 100, signals = 9;
  std::minstd_rand random(11);
  const auto next = [&] { return static_cast<float>(random() % 4096) / 2048.0f - 1.0f; };
  std::vector<float> a(static_cast<std::size_t>(rows * depth)), b(static_cast<std::size_t>(depth * signals));
  for (float& x : a) x = next();
  for (float& x : b) x = next();
  std::string text;
  const Matrix left(a.data(), rows, depth), right(b.data(), depth, signals);
  for (const By by : {By::value, By::magnitude}) {
    for (const Winner& winner : top_k(left, right, Over::rows, by, 3)) text += std::to_string(winner.index) + " ";
    for (const Winner& winner : argmax(right.transposed(), left.transposed(), Over::columns, by)) {
      text += std::to_string(winner.index) + " ";
    }
  }
  return text;
}

TEST(gemm_isa, say_winners) { std::cout << "winners: " << winners_here() << "\n"; }

TEST(gemm_isa, every_instruction_set_finds_the_same_winners) {
#ifdef ENVOI_TESTS_EMULATED
  GTEST_SKIP() << "processes under an emulator do not start others";
#endif
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length <= 0) GTEST_SKIP() << "no /proc";
  const std::string wanted = winners_here();
  int asked = 0;
  for (const char* isa : {"scalar", "emu128", "ssse3", "sse4", "avx2", "avx3", "avx3_dl", "avx3_zen4", "neon"}) {
    const std::string command =
        std::string("ENVOI_ISA=") + isa + " '" + path.data() + "' --gtest_filter=gemm_isa.say_winners 2>&1";
    FILE* pipe = ::popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string output;
    std::array<char, 4096> piece{};
    while (std::fgets(piece.data(), static_cast<int>(piece.size()), pipe)) output += piece.data();
    ::pclose(pipe);
    if (output.find("which this processor or build does not have") != std::string::npos) continue;
    ++asked;
    EXPECT_NE(output.find("winners: " + wanted), std::string::npos) << isa << "\n" << output;
  }
  EXPECT_GE(asked, 1);
}

}  // namespace
}  // namespace envoi::gemm::tests
