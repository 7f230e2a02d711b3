// The command `envoi-mpi`: envoi, with an `analyze` that several processes share.
#include "program.hpp"
#include "shared_run.hpp"

int main(int argc, char** argv) {
  using namespace envoi::command;
  watch_signals();
  const Ranks ranks(&argc, &argv);
  Program program;
  program.name = "envoi-mpi";
  program.speaks = ranks.rank() == 0;
  program.analyze = [&ranks](const AnalyzeLine& line) { return analyze_shared(ranks, line); };
  const int code = run_program(argc, argv, program);
  ending(code);  // mpirun ends the others as soon as one has failed
  return code;
}
