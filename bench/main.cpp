// envoi_bench [NAME...] [--json FILE]: asks the questions whose names begin with a NAME, prints a table each.
// Exit status 1 if a row did not reach what it has to.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <thread>

#include "bench.hpp"
#include "envoi/pursuit.hpp"

namespace bench {
namespace {

std::string program;  // path of this executable

// Rows between processes: one field a line, "name\tn|s\tvalue", a blank line after each row.
void send(const Rows& rows) {
  for (const Row& row : rows) {
    std::cout << row.bench << "\n";
    for (const auto& [name, value] : row.fields) {
      const bool number = std::holds_alternative<double>(value);
      std::cout << name << (number ? "\tn\t" : "\ts\t")
                << (number ? exact(std::get<double>(value)) : std::get<std::string>(value)) << "\n";
    }
    std::cout << "\n";
  }
}

Rows receive(std::istream& in) {
  Rows rows;
  for (std::string name; std::getline(in, name);) {
    Row row(name, "");
    row.fields.clear();
    for (std::string line; std::getline(in, line) && !line.empty();) {
      const std::size_t tab = line.find('\t');
      const std::string value = line.substr(tab + 3);
      if (line[tab + 1] == 'n') {
        row.with(line.substr(0, tab), value == "null" ? std::nan("") : std::strtod(value.c_str(), nullptr));
      } else {
        row.with(line.substr(0, tab), value);
      }
    }
    rows.push_back(row);
  }
  return rows;
}

int run(int argc, char** argv) {
  program = argv[0];
  std::vector<Question> questions = quality_questions();
  for (const auto& more :
       {cases_questions(), long_questions(), speed_questions(), dense_questions(), gemm_questions()}) {
    questions.insert(questions.end(), more.begin(), more.end());
  }
  std::vector<std::string> names;
  std::ofstream json;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--child" && i + 1 < argc) {
      for (const auto& children :
           {child_questions(), long_child_questions(), dense_child_questions(), gemm_child_questions()}) {
        for (const Question& question : children) {
          if (question.name == argv[i + 1]) send(question.ask());
        }
      }
      return 0;
    }
    if (word == "--json" && i + 1 < argc) {
      json.open(argv[++i]);
      if (!json) {
        std::cerr << "envoi_bench: cannot write " << argv[i] << "\n";
        return 2;
      }
    } else if (word == "--list") {
      for (const Question& question : questions) std::cout << question.name << "  " << question.title << "\n";
      return 0;
    } else if (word[0] == '-' ||
               std::none_of(questions.begin(), questions.end(), [&](const Question& q) { return named(q, {word}); })) {
      std::cerr << "envoi_bench: '" << word << "' is no bench; --list names them, --json FILE writes rows\n";
      return 2;
    } else {
      names.push_back(word);
    }
  }
  std::cout << cpu_name() << ", " << processors() << " processors, " << envoi::isa_name() << "\n";
  bool all_met = true;
  for (const Question& question : questions) {
    if (!named(question, names)) continue;
    const Rows rows = question.ask();
    print_table(question.name, question.title, rows);
    for (const Row& row : rows) {
      if (json.is_open()) {
        json << to_json(row, {{"cpu", cpu_name()}, {"isa", envoi::isa_name()}}) << "\n" << std::flush;
      }
      all_met = all_met && reached(row);
    }
  }
  return all_met ? 0 : 1;
}

}  // namespace

void parallel(std::size_t count, const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::atomic<bool> failed{false};
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < count && !failed; i = next++) task(i);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (unsigned t = 1; t < processors(); ++t) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

namespace {
double milliseconds(const std::function<void(int)>& run, int i) {
  const auto start = std::chrono::steady_clock::now();
  run(i);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}
}  // namespace

Paired interleave(int pairs, const std::function<void(int)>& ours, const std::function<void(int)>& peer) {
  ours(0);
  peer(0);
  std::vector<double> our_times, peer_times, ratios;
  for (int i = 0; i < pairs; ++i) {
    our_times.push_back(milliseconds(ours, i));
    peer_times.push_back(milliseconds(peer, i));
    ratios.push_back(peer_times.back() / our_times.back());
  }
  return {quantile(our_times, 0.5), quantile(peer_times, 0.5), quantile(ratios, 0.5), quantile(ratios, 0.25)};
}

double median_ms(int times, const std::function<void(int)>& run) {
  run(0);
  std::vector<double> measured;
  for (int i = 0; i < times; ++i) measured.push_back(milliseconds(run, i));
  return quantile(measured, 0.5);
}

Rows ask_child(const std::string& question, const std::vector<std::string>& environment) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  std::cout.flush();
  const pid_t child = fork();
  if (child < 0) return {};
  if (child == 0) {
    for (const std::string& variable : environment) {
      const std::size_t equals = variable.find('=');
      if (equals == std::string::npos) {
        unsetenv(variable.c_str());
      } else {
        setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
      }
    }
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execl(program.c_str(), program.c_str(), "--child", question.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0; (n = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    note(question + ": the process that measures it failed");
    return {};
  }
  std::istringstream in(text);
  return receive(in);
}

}  // namespace bench

int main(int argc, char** argv) {
  try {
    return bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "envoi_bench: " << error.what() << "\n";
    return 1;
  }
}
