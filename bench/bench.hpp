// The bench: named questions, each answered with rows of fields. This header is what the questions share.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace bench {

// One row of a table and one line of JSON. Fields keep their order; a number is written to four significant digits in
// the table and whole in JSON.
struct Row {
  using Value = std::variant<double, std::string>;
  std::string bench;
  std::vector<std::pair<std::string, Value>> fields;

  Row(std::string bench_name, const std::string& case_name) : bench(std::move(bench_name)) {
    fields.emplace_back("case", case_name);
  }
  Row& with(const std::string& name, double value) { return put(name, value); }
  Row& with(const std::string& name, const std::string& value) { return put(name, value); }
  Row& with(const std::string& name, const char* value) { return put(name, std::string(value)); }
  // What the row has to reach, and whether it did ("yes" or "NO", which makes the whole run fail).
  Row& judged(const std::string& wanted, bool met) { return with("wanted", wanted).with("met", met ? "yes" : "NO"); }

 private:
  Row& put(const std::string& name, Value value) {
    fields.emplace_back(name, std::move(value));
    return *this;
  }
};
using Rows = std::vector<Row>;

struct Question {
  std::string name;
  std::string title;  // what the numbers mean, a sentence
  Rows (*ask)();
};

// In the order they are printed.
std::vector<Question> quality_questions();  // quality.cpp
std::vector<Question> cases_questions();    // cases.cpp, empty in a build without readers
std::vector<Question> speed_questions();    // speed.cpp
std::vector<Question> dense_questions();    // dense.cpp
std::vector<Question> long_questions();     // long.cpp
std::vector<Question> gemm_questions();     // gemm.cpp

// A question asked in a process of its own, with environment variables set ("NAME=VALUE") or removed ("NAME"); an
// empty answer if that process fails.
Rows ask_child(const std::string& question, const std::vector<std::string>& environment);
// Questions that only a child is asked: they would disturb, or be disturbed by, what else this process did.
std::vector<Question> child_questions();        // speed.cpp
std::vector<Question> dense_child_questions();  // dense.cpp
std::vector<Question> long_child_questions();   // long.cpp
std::vector<Question> gemm_child_questions();   // gemm.cpp

// rows.cpp
std::string exact(double value);  // the shortest text that reads back to the same bits; null for what is not finite
// One object a line; `machine` are fields of all rows of a program.
std::string to_json(const Row& row, const std::vector<std::pair<std::string, std::string>>& machine);
void print_table(const std::string& name, const std::string& title, const Rows& rows);
bool named(const Question& question, const std::vector<std::string>& names);  // by its whole name or a part before /
bool reached(const Row& row);                                                 // what it had to
void note(const std::string& line);                                           // progress, on standard error
double quantile(std::vector<double> values, double share);                    // linear between the order statistics

// task(i) for i in [0, count) on every processor; the calling thread waits.
void parallel(std::size_t count, const std::function<void(std::size_t)>& task);

// Ours and the peer's in turn, `pairs` times after one of each unmeasured; `i` numbers the pair, from 0.
struct Paired {
  double ours_ms = 0, peer_ms = 0;             // medians
  double ratio = 0, ratio_lower_quartile = 0;  // peer / ours, of the pairs
};
Paired interleave(int pairs, const std::function<void(int)>& ours, const std::function<void(int)>& peer);
double median_ms(int times, const std::function<void(int)>& run);  // after one unmeasured

// machine.cpp
std::string cpu_name();
unsigned processors();
// Fused multiply-adds in single precision, 1e9 operations a second, of one thread or of all together; 0 where the
// probe does not know the instruction set.
double peak_gflops(unsigned threads);
double read_bandwidth_gbs(unsigned threads);  // summing an array far larger than the caches
bool has_avx512();
double peak_memory_mb();  // of this process so far

}  // namespace bench
