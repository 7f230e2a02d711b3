// Dictionaries in files: read in pieces while they are searched.
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "envoi/results.hpp"
#include "envoi/search.hpp"
#include "support.hpp"

namespace {

using namespace envoi_test;
using envoi::ErrorKind;

std::string npy(std::size_t rows, std::size_t columns, const std::vector<float>& values) {
  const std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                           std::to_string(columns) + "), }\n";
  std::string out = "\x93NUMPY\x01";
  out += '\0';
  out += static_cast<char>(text.size() & 0xFF);
  out += static_cast<char>(text.size() >> 8);
  out += text;
  out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return out;
}

std::vector<float> draw(std::size_t count) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

TEST(DictionaryFile, gives_what_the_same_rows_in_memory_give) {
  const Folder folder;
  const std::vector<float> rows = draw(3000 * 100);
  const envoi::Dictionary file = envoi::open_dictionary(folder.write("d.npy", npy(3000, 100, rows)));
  const envoi::Dictionary memory(rows.data(), 3000, 100);
  const std::vector<double> signals(rows.begin() + 500, rows.begin() + 700);
  for (int round = 0; round < 2; ++round) {  // the second knows the norms
    const auto a = envoi::search(file, signals, {.k = 4}), b = envoi::search(memory, signals, {.k = 4});
    EXPECT_EQ(envoi::to_json(a), envoi::to_json(b));
    EXPECT_EQ(a.signals[1].best[0].index, 6u);
  }
}

TEST(DictionaryFile, cut_off_after_it_was_opened_is_an_error) {
  const Folder folder;
  const std::string path = folder.write("d.npy", npy(3000, 100, draw(3000 * 100)));
  const envoi::Dictionary dictionary = envoi::open_dictionary(path);
  std::filesystem::resize_file(path, 700000);
  const std::vector<double> signal(100, 1.0);
  expect_error([&] { envoi::search(dictionary, signal); }, ErrorKind::bad_file, {"d.npy", "byte 700000"});
}

TEST(DictionaryFile, cut_off_headers_are_errors) {
  const Folder folder;
  const std::string whole = npy(2, 3, draw(6));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string path = folder.write("d.npy", whole.substr(0, size));
    expect_error([&] { envoi::open_dictionary(path); }, ErrorKind::bad_file, {"d.npy"});
  }
  EXPECT_EQ(envoi::open_dictionary(folder.write("d.npy", whole)).atoms(), 2u);
}

}  // namespace
