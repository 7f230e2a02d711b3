// envoi bench gemm: how fast a matrix product of the user's own shape is on this machine's GPU.
#include <array>
#include <cstdio>
#include <memory>
#include <utility>

#include "command.hpp"
#include "envoi/cuda.hpp"
#include "numbers.hpp"

namespace envoi::command {
namespace {

using cuda::MeasuredEnding;
using cuda::MeasuredType;

constexpr std::pair<const char*, MeasuredEnding> kEndings[] = {
    {"store", MeasuredEnding::store},         {"bias_activation", MeasuredEnding::bias_activation},
    {"row_scale", MeasuredEnding::row_scale}, {"residual_squares", MeasuredEnding::residual_squares},
    {"swiglu", MeasuredEnding::swiglu},       {"geglu", MeasuredEnding::geglu},
    {"rope", MeasuredEnding::rope},           {"cross_entropy", MeasuredEnding::cross_entropy},
    {"argmax", MeasuredEnding::argmax},       {"pair_energy", MeasuredEnding::pair_energy},
};
constexpr std::pair<const char*, MeasuredType> kTypes[] = {
    {"bf16", MeasuredType::bf16},
    {"fp16", MeasuredType::fp16},
    {"fp32", MeasuredType::fp32},
    {"tf32", MeasuredType::tf32},
};

template <class Table>
auto named(const Table& table, const std::string& name, const std::string& option) {
  std::string known;
  for (const auto& [word, value] : table) {
    if (name == word) return value;
    known += std::string(known.empty() ? "" : ", ") + word;
  }
  usage_error(option + ": '" + one_line(name) + "' is not one of " + known);
}

struct Arguments {
  std::string what;
  std::array<std::string, 3> sizes;
  std::string ending = "store", type = "bf16";
  bool json = false;
};

int run_bench(const Arguments& arguments) {
  if (arguments.what != "gemm") {
    usage_error("'" + one_line(arguments.what) + "' is not measured; gemm is, a matrix product on a GPU");
  }
  const MeasuredEnding ending = named(kEndings, arguments.ending, "--ending");
  const MeasuredType type = named(kTypes, arguments.type, "--type");
  std::array<std::int64_t, 3> sizes{};
  for (std::size_t i = 0; i < 3; ++i) {
    sizes[i] = static_cast<std::int64_t>(parse_count(arguments.sizes[i], std::string(1, "MNK"[i])));
  }
  const cuda::Measured measured = cuda::measure(sizes[0], sizes[1], sizes[2], ending, type);
  std::array<char, 1024> text{};
  if (arguments.json) {
    std::snprintf(text.data(), text.size(),
                  "{\"device\": \"%s\", \"ending\": \"%s\", \"type\": \"%s\", \"m\": %lld, \"n\": %lld, \"k\": %lld, "
                  "\"ms\": %.6g, \"tflops\": %.6g, \"share_of_peak\": %.4g, \"kernel\": \"%s\"}\n",
                  measured.device.c_str(), arguments.ending.c_str(), arguments.type.c_str(),
                  static_cast<long long>(sizes[0]), static_cast<long long>(sizes[1]), static_cast<long long>(sizes[2]),
                  measured.ms, measured.tflops, measured.share_of_peak, measured.kernel.c_str());
  } else {
    std::snprintf(text.data(), text.size(),
                  "%s: %s of %lld x %lld x %lld, %s\n%.4g ms, %.4g TFLOP/s, %.1f%% of peak\n%s\n",
                  measured.device.c_str(), arguments.ending.c_str(), static_cast<long long>(sizes[0]),
                  static_cast<long long>(sizes[1]), static_cast<long long>(sizes[2]), arguments.type.c_str(),
                  measured.ms, measured.tflops, 100 * measured.share_of_peak, measured.kernel.c_str());
  }
  print(text.data());
  return kDone;
}

}  // namespace

void add_bench(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("bench", "How fast a matrix product of your shape is on this machine's GPU");
  c->add_option("WHAT", arguments->what, "gemm: A (M x K) times B (K x N), with an ending")->required()->type_name("");
  for (std::size_t i = 0; i < 3; ++i) {
    c->add_option(std::string(1, "MNK"[i]), arguments->sizes[i],
                  i == 0   ? "rows of A"
                  : i == 1 ? "columns of B"
                           : "depth")
        ->required()
        ->type_name("");
  }
  const auto words = [](const auto& table) {
    std::string all;
    for (const auto& [word, value] : table) all += std::string(all.empty() ? "" : ", ") + word;
    return all;
  };
  c->add_option("--ending", arguments->ending, "what each tile goes through (store): " + words(kEndings))
      ->option_text("NAME");
  c->add_option("--type", arguments->type, "of A and B (bf16): " + words(kTypes) + "; fp32 keeps its precision")
      ->option_text("NAME");
  c->add_flag("--json", arguments->json, "JSON on standard output, and nothing else there");
  c->footer(
      "Random numbers, the median of 20 samples; CUDA_VISIBLE_DEVICES chooses among GPUs.\n"
      "Examples:\n"
      "  envoi bench gemm 8192 8192 8192\n"
      "  envoi bench gemm 4096 28672 4096 --ending swiglu");
  c->callback([arguments, &run] { run = [arguments] { return run_bench(*arguments); }; });
}

}  // namespace envoi::command
