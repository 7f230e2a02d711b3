// envoi devices: what is here, what would be used, and why.
#include "command.hpp"
#include "envoi/pursuit.hpp"

namespace envoi::command {

void add_devices(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("devices", "What is here, what would be used, and why");
  command->callback([&run] {
    run = [] {
      std::string text;
      for (const DeviceInfo& device : devices()) text += device.name + "  " + device.detail + "\n";
      print(text + "--device auto uses " + devices().front().name +
            "\nENVOI_ISA=NAME in the environment forces another instruction set\n");
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace envoi::command
