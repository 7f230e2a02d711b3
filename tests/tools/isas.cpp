// Prints the instruction sets that this build has code for, one a line, best first, and whether they are "here".
#include <iostream>

#include "core/isa.hpp"

int main() {
  for (const envoi::core::IsaKind& kind : envoi::core::isa_kinds()) {
    std::cout << kind.name << (kind.here ? " here\n" : " not-here\n");
  }
}
