// The command `envoi`.
#include "program.hpp"

int main(int argc, char** argv) {
  envoi::command::watch_signals();
  return envoi::command::run_program(argc, argv, {});
}
