// envoi devices: what is here, what would be used, and why.
#include <cstdio>

#include "command.hpp"
#include "envoi/cuda.hpp"
#include "envoi/pursuit.hpp"

namespace envoi::command {
namespace {

std::string line_of(const cuda::Device& gpu) {
  char memory[32];
  std::snprintf(memory, sizeof memory, "%.1f GiB", static_cast<double>(gpu.memory_bytes) / (1 << 30));
  const std::string chip = "compute capability " + std::to_string(gpu.major) + "." + std::to_string(gpu.minor);
  // A refusal says the compute capability itself.
  return "gpu " + std::to_string(gpu.index) + "  " + gpu.name + ", " + memory + ", " +
         std::to_string(gpu.multiprocessors) + " multiprocessors, " +
         (gpu.refusal.empty() ? chip + ": runs matrix products (envoi bench gemm)" : "not usable: " + gpu.refusal) +
         "\n";
}

}  // namespace

void add_devices(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("devices", "What is here, what would be used, and why");
  command->callback([&run] {
    run = [] {
      std::string text;
      for (const DeviceInfo& device : devices()) text += device.name + "  " + device.detail + "\n";
      const std::vector<cuda::Device> gpus = cuda::devices();
      for (const cuda::Device& gpu : gpus) text += line_of(gpu);
      if (gpus.empty()) text += "gpu  none: " + cuda::why_no_device() + "\n";
      print(text + "--device auto uses " + devices().front().name +
            "\nENVOI_ISA=NAME in the environment forces another instruction set\n");
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace envoi::command
