// Runs the ladder: checks each step against the first, times it, prints a table. README.md says how to build it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "01_naive.cuh"
#include "02_tiling.cuh"
#include "03_tensor_cores.cuh"
#include "04_tma_wgmma.cuh"
#include "05_ring.cuh"
#include "06_two_consumers.cuh"
#include "07_persistent.cuh"
#include "08_multicast.cuh"
#include "09_tma_store.cuh"
#include "10_raster.cuh"
#include "check.cuh"

namespace ladder {
namespace {

struct Step {
  int number;
  const char* name;
  void (*run)(const Problem&);
  bool slow;  // timed at 4096^3 alone, and few times
};
constexpr Step kSteps[] = {
    {1, "01 naive", run_01, true},         {2, "02 tiling", run_02, true},
    {3, "03 tensor cores", run_03, false}, {4, "04 TMA and wgmma", run_04, false},
    {5, "05 ring", run_05, false},         {6, "06 two consumers", run_06, false},
    {7, "07 persistent", run_07, false},   {8, "08 multicast", run_08, false},
    {9, "09 TMA stores", run_09, false},   {10, "10 grouped raster", run_10, false},
};

constexpr double kPeak = 989;  // TFLOP/s of bf16, dense, of H100 and H200 SXM

struct Options {
  int only = 0;  // 0: all
  bool time = true;
  bool once = false;
  int size = 4096;  // of --once
  std::uint64_t seed = 0;
  std::string json;
};

struct Row {
  const Step* step;
  std::string wrong;
  double tflops_4096 = 0, tflops_8192 = 0;  // 0: not measured
};

class Device {
 public:
  Device() {
    int index = 0;
    check(cudaGetDevice(&index), "looking for a GPU");
    check(cudaGetDeviceProperties(&properties_, index), "asking for the GPU's properties");
    if (properties_.major != 9 || properties_.minor != 0) {
      throw std::runtime_error(std::string(properties_.name) + " is not a Hopper GPU (compute capability 9.0)");
    }
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    check(cudaEventCreate(&begin_), "making an event");
    check(cudaEventCreate(&end_), "making an event");
  }
  Device(const Device&) = delete;
  ~Device() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
  }
  const char* name() const { return properties_.name; }
  Problem problem(const Matrices& matrices) const { return matrices.problem(properties_.multiProcessorCount, stream_); }
  void finish() const { check(cudaStreamSynchronize(stream_), "running a kernel"); }
  void mark_begin() const { check(cudaEventRecord(begin_, stream_), "recording an event"); }
  void mark_end() const { check(cudaEventRecord(end_, stream_), "recording an event"); }
  double milliseconds() const {
    float passed = 0;
    check(cudaEventSynchronize(end_), "running a kernel");
    check(cudaEventElapsedTime(&passed, begin_, end_), "reading a time");
    return passed;
  }

 private:
  cudaDeviceProp properties_{};
  cudaStream_t stream_{};
  cudaEvent_t begin_{}, end_{};
};

// Every step on the same fresh data of one shape; what is wrong goes into the rows.
void check_steps(const Device& device, int m, int n, int k, std::uint64_t seed, std::vector<Row>& rows) {
  Matrices matrices(m, n, k, 8, seed);
  const Problem problem = device.problem(matrices);
  const auto result_of = [&](void (*run)(const Problem&)) {
    matrices.poison();
    check(cudaDeviceSynchronize(), "poisoning C");
    run(problem);
    device.finish();
    return matrices.download();
  };
  const std::vector<std::uint16_t> right = result_of(run_01);
  const std::string shape = std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k);
  for (Row& row : rows) {
    const std::string wrong = matrices.compare(result_of(row.step->run), right);
    if (!wrong.empty() && row.wrong.empty()) row.wrong = shape + ": " + wrong;
  }
}

// The median over samples, each of some launches that take the sets of matrices in turn: more bytes than L2 holds. The
// clock starts behind one launch more, while which runs the host puts the others into the queue.
double tflops(const Device& device, const Step& step, const std::vector<Matrices>& sets, int size) {
  const int launches = step.slow ? 1 : static_cast<int>(sets.size()) * (size < 8192 ? 4 : 1);
  const int samples = step.slow ? 3 : 21;
  std::size_t turn = 0;
  std::vector<double> times;
  const auto launch_next = [&] { step.run(device.problem(sets[turn++ % sets.size()])); };
  for (int sample = step.slow ? -1 : -4; sample < samples; ++sample) {  // those below 0 warm up
    if (!step.slow) launch_next();
    device.mark_begin();
    for (int i = 0; i < launches; ++i) launch_next();
    device.mark_end();
    const double passed = device.milliseconds();
    if (sample >= 0) times.push_back(passed / launches);
  }
  std::sort(times.begin(), times.end());
  return 2.0 * size * size * size / times[times.size() / 2] * 1e-9;
}

void time_steps(const Device& device, int size, std::uint64_t seed, std::vector<Row>& rows) {
  std::vector<Matrices> sets;
  for (std::uint64_t i = 0; i < 3; ++i) sets.emplace_back(size, size, size, 0, seed + i);
  check(cudaDeviceSynchronize(), "filling matrices");
  for (Row& row : rows) {
    if (!row.wrong.empty()) continue;
    if (size == 4096) row.tflops_4096 = tflops(device, *row.step, sets, size);
    if (size == 8192 && !row.step->slow) row.tflops_8192 = tflops(device, *row.step, sets, size);
  }
}

std::string number(double x, const char* format) {
  if (x == 0) return "-";
  char text[32];
  std::snprintf(text, sizeof(text), format, x);
  return text;
}

void print(const std::vector<Row>& rows) {
  std::printf("%-18s %14s %14s %9s  %s\n", "step", "TFLOP/s 4096^3", "TFLOP/s 8192^3", "of 989", "checked");
  for (const Row& row : rows) {
    const double best = std::max(row.tflops_4096, row.tflops_8192);
    std::printf("%-18s %14s %14s %9s  %s\n", row.step->name, number(row.tflops_4096, "%.1f").c_str(),
                number(row.tflops_8192, "%.1f").c_str(), number(100 * best / kPeak, "%.1f %%").c_str(),
                row.wrong.empty() ? "right" : ("WRONG, " + row.wrong).c_str());
  }
}

void write_json(const std::string& path, const Device& device, const std::vector<Row>& rows) {
  std::ofstream file(path);
  for (const Row& row : rows) {
    file << "{\"bench\": \"ladder\", \"case\": \"" << row.step->name << "\"";
    if (row.tflops_4096 > 0) file << ", \"tflops_4096\": " << row.tflops_4096;
    if (row.tflops_8192 > 0) file << ", \"tflops_8192\": " << row.tflops_8192;
    const double best = std::max(row.tflops_4096, row.tflops_8192);
    if (best > 0) file << ", \"share_of_peak\": " << best / kPeak << ", \"peak_tflops\": " << kPeak;
    file << ", \"right\": " << (row.wrong.empty() ? "true" : "false") << ", \"gpu\": \"" << device.name() << "\"}\n";
  }
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

int run(const Options& options) {
  const Device device;
  std::vector<Row> rows;
  for (const Step& step : kSteps) {
    if (options.only == 0 || options.only == step.number) rows.push_back({&step, ""});
  }
  if (options.once) {
    const Matrices matrices(options.size, options.size, options.size, 0, options.seed);
    check(cudaDeviceSynchronize(), "filling matrices");
    for (const Row& row : rows) row.step->run(device.problem(matrices));
    device.finish();
    return 0;
  }
  std::printf("%s, seed %llu\n", device.name(), static_cast<unsigned long long>(options.seed));
  // Whole tiles; tiles cut on every side, the last pair's second one below C; many such tiles a block; and next to
  // nothing.
  check_steps(device, 1024, 1536, 1024, options.seed, rows);
  check_steps(device, 1100, 1096, 520, options.seed + 1, rows);
  check_steps(device, 3001, 5000, 264, options.seed + 2, rows);
  check_steps(device, 1, 8, 8, options.seed + 3, rows);
  if (options.time) {
    time_steps(device, 4096, options.seed + 4, rows);
    time_steps(device, 8192, options.seed + 7, rows);
  }
  print(rows);
  if (!options.json.empty()) write_json(options.json, device, rows);
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.wrong.empty(); }) ? 0 : 1;
}

constexpr const char* kUsage =
    "usage: ladder [--only STEP] [--check] [--seed N] [--json FILE]\n"
    "       ladder --once [--only STEP] [--size N]\n"
    "  --only STEP  one step, 1 to 10\n"
    "  --check      no times\n"
    "  --seed N     of the random matrices; without it, from the clock\n"
    "  --json FILE  a line of JSON for each step\n"
    "  --once       launches each step once at N^3 (4096), neither checked nor timed: for profilers\n";

// False where an argument is not understood.
bool parse(int count, char** arguments, Options& options) {
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    if (name == "--check") {
      options.time = false;
      continue;
    }
    if (name == "--once") {
      options.once = true;
      continue;
    }
    if (i + 1 == count) return false;
    const std::string value = arguments[++i];
    if (name == "--json") {
      options.json = value;
      continue;
    }
    char* end = nullptr;
    const long long parsed = std::strtoll(value.c_str(), &end, 10);
    if (value.empty() || *end != '\0' || parsed < 0) return false;
    if (name == "--only" && parsed >= 1 && parsed <= 10) {
      options.only = static_cast<int>(parsed);
    } else if (name == "--size" && parsed >= 8 && parsed <= 65536 && parsed % 8 == 0) {
      options.size = static_cast<int>(parsed);
    } else if (name == "--seed") {
      options.seed = static_cast<std::uint64_t>(parsed);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace ladder

int main(int count, char** arguments) {
  ladder::Options options;
  options.seed = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) % 1000000;
  if (!ladder::parse(count, arguments, options)) {
    std::fputs(ladder::kUsage, stderr);
    return 2;
  }
  try {
    return ladder::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ladder: %s\n", error.what());
    return 1;
  }
}
