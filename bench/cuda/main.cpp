// envoi_bench_cuda [NAME...] [--json FILE] [--shape M N K [--ending NAME]]: GPU products beside cuBLAS's, as tables.
// Exit status 1 if a row did not reach what it has to, or failed; 4 where there is no usable GPU.
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "device.cuh"

namespace bench {

const Cublas* cublas() {
  // Never given back: at the exit the runtime that it needs may be gone.
  static const Cublas* const found = [] {
    std::string why;
    std::unique_ptr<Cublas> library = Cublas::find(why);
    if (!library) note("without cuBLAS there is no peer: " + why + " (ENVOI_CUBLAS names its file)");
    return library.release();
  }();
  return found;
}

namespace {

struct Asked {
  std::vector<std::string> names;
  std::string json, ending = "store";
  Shape shape;  // of 0: none
};

constexpr const char* kUsage = "envoi_bench_cuda [NAME...] [--json FILE] [--shape M N K [--ending NAME]]";

Asked parse(const std::vector<std::string>& words) {
  Asked asked;
  std::size_t i = 0;
  const auto next = [&]() -> const std::string& {
    if (++i >= words.size()) throw std::invalid_argument(words[i - 1] + " needs more; usage: " + kUsage);
    return words[i];
  };
  const auto size = [&] {
    const std::string& word = next();
    char* end = nullptr;
    const long long value = std::strtoll(word.c_str(), &end, 10);
    if (*end != '\0' || value < 1 || value > 1 << 24) throw std::invalid_argument(word + " is no size");
    return static_cast<std::int64_t>(value);
  };
  for (; i < words.size(); ++i) {
    if (words[i] == "--json") {
      asked.json = next();
    } else if (words[i] == "--shape") {
      asked.shape.m = size(), asked.shape.n = size(), asked.shape.k = size();
    } else if (words[i] == "--ending") {
      asked.ending = next();
    } else if (words[i].rfind('-', 0) == 0) {
      throw std::invalid_argument("no option " + words[i] + "; usage: " + kUsage);
    } else {
      asked.names.push_back(words[i]);
    }
  }
  return asked;
}

int run(const std::vector<std::string>& words) {
  const Asked asked = parse(words);
  std::vector<Question> questions = gemm_cuda_questions();
  for (const Question& question : ending_cuda_questions()) questions.push_back(question);
  for (const std::string& name : asked.names) {
    if (std::none_of(questions.begin(), questions.end(), [&](const Question& q) { return named(q, {name}); })) {
      std::string all;
      for (const Question& question : questions) all += " " + question.name;
      throw std::invalid_argument("no question is named " + name + "; there are" + all);
    }
  }
  const std::string why = envoi::cuda::why_no_device();
  if (!why.empty()) {
    std::cerr << "envoi_bench_cuda: " << why << "\n";
    return 4;
  }
  std::ofstream json;
  if (!asked.json.empty()) {
    json.open(asked.json);
    if (!json) throw std::invalid_argument(asked.json + " cannot be written");
  }
  bool all_reached = true;
  const auto show = [&](const std::string& name, const std::string& title, const Rows& rows) {
    print_table(name, title, rows);
    for (const Row& row : rows) {
      all_reached = all_reached && reached(row);
      if (json.is_open()) json << to_json(row, {{"device", device_name()}}) << std::endl;
    }
  };
  std::cout << device_name() << ", " << (cublas() ? cublas()->name() : "no cuBLAS") << "\n";
  if (asked.shape.m > 0) {
    show("shape", asked.ending + " beside bare products, bf16", shape_rows(asked.shape, asked.ending));
    return 0;
  }
  for (const Question& question : questions) {
    if (!named(question, asked.names)) continue;
    Rows rows;
    try {
      rows = question.ask();
    } catch (const std::exception& error) {  // the others are still asked
      rows = {Row(question.name, "all").with("failed", error.what())};
    }
    show(question.name, question.title, rows);
  }
  return all_reached ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  try {
    return bench::run({argv + 1, argv + argc});
  } catch (const std::invalid_argument& error) {
    std::cerr << "envoi_bench_cuda: " << error.what() << "\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "envoi_bench_cuda: " << error.what() << "\n";
    return 1;
  }
}
