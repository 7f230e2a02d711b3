// What the readers of .npy, raw samples and sound promise, and what every reader does with channels and stretches.
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdio>

#include "support.hpp"

namespace {

using namespace envoi_test;
using envoi::ErrorKind;
using envoi::ReadOptions;
using envoi::Recording;
using Samples = std::vector<double>;

std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>(dictionary.size() >> (8 * i) & 0xFF);
  return out + dictionary + data;
}

std::string header(const std::string& dtype, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': '" + dtype + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

template <class Word>
std::string words(const std::vector<Word>& values, bool big = false) {
  std::string out;
  for (const Word value : values) {
    for (std::size_t i = 0; i < sizeof(Word); ++i) {
      out += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * (big ? sizeof(Word) - 1 - i : i)) & 0xFF);
    }
  }
  return out;
}

std::string doubles(const Samples& values, bool big = false) {
  std::vector<std::uint64_t> out;
  for (const double v : values) out.push_back(std::bit_cast<std::uint64_t>(v));
  return words(out, big);
}

TEST(Npy, every_type_version_and_byte_order_is_read) {
  const auto expect = [](const std::string& bytes) {
    const Recording r = from_bytes(bytes, "x.npy", at_rate(10));
    ASSERT_EQ(r.channels.size(), 1u);
    EXPECT_EQ(r.channels[0].samples, (Samples{1, 2, 100}));
    EXPECT_EQ(r.format, "npy");
  };
  for (int version = 1; version <= 3; ++version) expect(npy(header("<f8", "(3,)"), doubles({1, 2, 100}), version));
  expect(npy(header(">f8", "(3,)"), doubles({1, 2, 100}, true)));
  const std::vector<std::uint32_t> floats = {std::bit_cast<std::uint32_t>(1.f), std::bit_cast<std::uint32_t>(2.f),
                                             std::bit_cast<std::uint32_t>(100.f)};
  expect(npy(header("<f4", "(3,)"), words(floats)));
  expect(npy(header(">f4", "(3,)"), words(floats, true)));
  for (const char* type : {"|i1", "|u1"}) expect(npy(header(type, "(3,)"), words<std::uint8_t>({1, 2, 100})));
  for (const char* type : {"i2", "u2"}) {
    expect(npy(header(std::string("<") + type, "(3,)"), words<std::uint16_t>({1, 2, 100})));
    expect(npy(header(std::string(">") + type, "(3,)"), words<std::uint16_t>({1, 2, 100}, true)));
  }
  expect(npy(header("<i4", "(3,)"), words<std::uint32_t>({1, 2, 100})));
  expect(npy(header("<i8", "(3,)"), words<std::uint64_t>({1, 2, 100})));
  EXPECT_EQ(from_bytes(npy(header("<i2", "(1,)"), words<std::uint16_t>({0xFFFF})), "x.npy", at_rate(1))
                .channels[0]
                .samples[0],
            -1);
}

TEST(Npy, axis_0_is_samples_in_either_order) {
  const Recording c = from_bytes(npy(header("<f8", "(3, 2)"), doubles({1, 2, 3, 4, 5, 6})), "x.npy", at_rate(1));
  ASSERT_EQ(c.channels.size(), 2u);
  EXPECT_EQ(c.channels[1].samples, (Samples{2, 4, 6}));
  EXPECT_TRUE(c.warnings.empty());
  const Recording f =
      from_bytes(npy(header("<f8", "(3, 2)", "True"), doubles({1, 2, 3, 4, 5, 6})), "x.npy", at_rate(1));
  EXPECT_EQ(f.channels[1].samples, (Samples{4, 5, 6}));
  EXPECT_FALSE(
      from_bytes(npy(header("<f8", "(2, 3)"), doubles({1, 2, 3, 4, 5, 6})), "x.npy", at_rate(1)).warnings.empty())
      << "an array that lies on its side is said";
}

TEST(Npy, lies_and_other_types_are_refused) {
  const auto refused = [](const std::string& bytes, const std::vector<std::string>& parts) {
    expect_error([&] { from_bytes(bytes, "x.npy", at_rate(1)); }, ErrorKind::bad_file, parts);
  };
  refused(npy(header("<c16", "(1,)"), std::string(16, 'x')), {"<c16", "complex"});
  refused(npy(header("|O", "(1,)"), "x"), {"|O", "objects"});
  refused(npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}", "x"), {"structured"});
  refused(npy(header("<f2", "(1,)"), "xx"), {"<f2"});
  refused(npy(header("<f8", "(3,)"), doubles({1, 2})), {"cut off", "3"});
  refused(npy(header("<f8", "(2, 3)"), doubles({1, 2, 3, 4, 5})), {"cut off", "2 x 3"});
  refused(npy(header("<f8", "(2, 9223372036854775807)"), doubles({1, 2})), {"cut off"});
  refused(npy(header("<f8", "(4611686018427387904, 4)"), doubles({1, 2})), {"cut off"});
  refused(npy(header("<f8", "(99999999999999999999,)"), doubles({1, 2})), {"shape"});
  refused(npy(header("<f8", "(-1,)"), doubles({1, 2})), {"shape"});
  refused(npy(header("<f8", "()"), doubles({1})), {"0 axes"});
  refused(npy(header("<f8", "(1, 1, 1)"), doubles({1})), {"3 axes"});
  refused(npy(header("<f8", "(0,)"), ""), {"empty"});
  refused(npy("{'descr': '<f8', 'shape': (1,)}", doubles({1})), {"lacks"});
  refused(npy("{'descr': '<f8', 'fortran_order': Maybe, 'shape': (1,)}", doubles({1})), {"fortran_order"});
  refused(npy(header("<f8", "(1,)"), doubles({1}), 4), {"version 4"});
  refused("\x93NUMPY\x01", {"cut off"});
  refused(std::string("\x93NUMPY\x01\0\xFF\xFF{}", 12), {"cut off"});
  refused("not numpy at all", {"NUMPY"});
  expect_error([] { from_bytes(npy(header("<f8", "(1,)"), doubles({1})), "x.npy"); }, ErrorKind::bad_argument,
               {"--rate"});
}

TEST(Raw, little_endian_samples_by_ending_or_format) {
  EXPECT_EQ(from_bytes(doubles({1, -2.5}), "x.f64", at_rate(1)).channels[0].samples, (Samples{1, -2.5}));
  ReadOptions options = at_rate(2);
  options.format = "f32";
  const Recording r = from_bytes(words<std::uint32_t>({std::bit_cast<std::uint32_t>(0.5f)}), "x.bin", options);
  EXPECT_EQ(r.channels[0].samples, (Samples{0.5}));
  EXPECT_EQ(r.format, "f32");
  expect_error([] { from_bytes("12345", "x.f32", at_rate(1)); }, ErrorKind::bad_file, {"5 bytes"});
  expect_error([] { from_bytes("12345678", "x.f32"); }, ErrorKind::bad_argument, {"--rate"});
}

// 20 samples of 2 channels at 8000 Hz, 16 bits: 100 ((37 k mod 200) - 100) for k = 0 .. 39, interleaved.
const char kFlac[] =
    "664c6143000000221000100000004c00004c01f402f00000001458ae581e4c08fabdcf2fa2e01553b1a0840000282000"
    "00007265666572656e6365206c6962464c414320312e342e3220323032323130323200000000fff86418001338112051"
    "70f44a583cec636d6577b844fcea3fa08cb4ad8398fe7d10d10679014b44502d89b44c44d20079c8a29bb555f3776259"
    "e14991ce22d5b51525cf6d8f96bd2c8476e1";

std::string flac() {
  std::string out;
  for (std::size_t i = 0; i + 1 < sizeof kFlac; i += 2) {
    out += static_cast<char>(std::stoi(std::string(kFlac + i, 2), nullptr, 16));
  }
  return out;
}

TEST(Flac, samples_are_shares_of_full_scale) {
  const Recording r = from_bytes(flac(), "x.flac");
  EXPECT_EQ(r.format, "flac");
  ASSERT_EQ(r.channels.size(), 2u);
  ASSERT_EQ(r.channels[1].samples.size(), 20u);
  for (int k = 0; k < 40; ++k) {
    const double sample = r.channels[static_cast<std::size_t>(k % 2)].samples[static_cast<std::size_t>(k / 2)];
    EXPECT_EQ(sample, 100 * ((37 * k) % 200 - 100) / 32768.0);
  }
  ReadOptions options;
  options.from_s = 0.001;
  options.channels = {"right"};
  const Recording cut = from_bytes(flac(), "x.flac", options);
  EXPECT_EQ(cut.channels[0].samples.size(), 12u);
  EXPECT_EQ(cut.channels[0].samples[0], r.channels[1].samples[8]);
}

TEST(Flac, a_cut_file_is_refused_or_says_so) {
  const std::string bytes = flac();
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    try {
      EXPECT_FALSE(from_bytes(bytes.substr(0, size), "x.flac").warnings.empty()) << size;
    } catch (const envoi::Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file) << error.what();
    }
  }
}

TEST(Format, unknown_names_and_contents_are_refused) {
  ReadOptions options = at_rate(1);
  options.format = "tiff";
  expect_error([&] { from_bytes("1\n", "x", options); }, ErrorKind::bad_argument, {"tiff", "edf"});
  expect_error([] { from_bytes("hello", "x.edf"); }, ErrorKind::bad_file, {"x.edf", "not EDF"});
  expect_error([] { from_bytes("RIFF....WAVE", "x.wav"); }, ErrorKind::bad_file, {"x.wav", "libsndfile"});
  expect_error([] { from_bytes("", "x.txt"); }, ErrorKind::bad_file, {"empty"});
  expect_error([] { from_bytes("PK\x03\x04xx", "x.npz"); }, ErrorKind::bad_file, {"zip"});
  options = at_rate(1);
  options.column = "2";
  expect_error([&] { from_bytes(doubles({1}), "x.f64", options); }, ErrorKind::bad_argument, {"--channels"});
  const std::string zeros = "0       \n0       \n0       \n";
  EXPECT_EQ(from_bytes(zeros, "zeros", at_rate(1)).format, "text") << "a column of zeros is no EDF";
}

const char kFour[] = "Fp1,Fp2,Cz,3\n1,2,3,4\n5,6,7,8\n9,10,11,12\n";

std::vector<std::string> chosen(const std::vector<std::string>& patterns) {
  ReadOptions options = at_rate(1);
  options.channels = patterns;
  std::vector<std::string> names;
  for (const envoi::Channel& channel : from_bytes(kFour, "x.csv", options).channels) names.push_back(channel.name);
  return names;
}

TEST(Channels, names_globs_numbers_and_ranges_choose_in_their_order) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(chosen({}), (Names{"Fp1", "Fp2", "Cz", "3"}));
  EXPECT_EQ(chosen({"Cz", "Fp*"}), (Names{"Cz", "Fp1", "Fp2"}));
  EXPECT_EQ(chosen({"?z"}), (Names{"Cz"}));
  EXPECT_EQ(chosen({"2-4"}), (Names{"Fp2", "Cz", "3"}));
  EXPECT_EQ(chosen({"1", "1", "Fp1"}), (Names{"Fp1"}));
  EXPECT_EQ(chosen({"3"}), (Names{"3"})) << "a name goes before a number";
}

TEST(Channels, a_pattern_that_chooses_nothing_is_refused_with_the_names) {
  for (const char* pattern : {"Oz", "O*", "5", "0", "-1", "3-2", "2-9", "1-", ""}) {
    expect_error([&] { chosen({"Cz", pattern}); }, ErrorKind::bad_argument, {"no channel", "Fp1, Fp2, Cz, 3"});
  }
}

TEST(Stretch, holds_the_samples_from_its_start_up_to_but_not_at_its_end) {
  const auto cut = [](double from, double to) {
    ReadOptions options = at_rate(10);
    options.from_s = from;
    options.to_s = to;
    return from_bytes("0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n", "x.txt", options).channels[0];
  };
  EXPECT_EQ(cut(0.3, 0.6).samples, (Samples{3, 4, 5}));
  EXPECT_DOUBLE_EQ(cut(0.3, 0.6).start_s, 0.3);
  EXPECT_EQ(cut(0.25, 0.35).samples, (Samples{3}));
  EXPECT_EQ(cut(-5, 0.1).samples, (Samples{0}));
  EXPECT_EQ(cut(0.8, 99).samples, (Samples{8, 9}));
  for (const auto& [from, to] : {std::pair{2.0, 3.0}, std::pair{0.31, 0.39}, std::pair{0.5, 0.5}, std::pair{0.6, 0.5},
                                 std::pair{double(NAN), 1.0}, std::pair{-3.0, -2.0}}) {
    expect_error([&, f = from, t = to] { cut(f, t); }, ErrorKind::bad_argument, {"x.txt"});
  }
}

TEST(Stretch, a_limit_on_a_sample_counts_as_on_it_whatever_the_rounding) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += std::to_string(i) + "\n";
  for (int i = 0; i < 199; ++i) {
    ReadOptions options = at_rate(100);
    options.from_s = i * 0.01;
    options.to_s = (i + 1) / 100.0;
    EXPECT_EQ(from_bytes(text, "x.txt", options).channels[0].samples, (Samples{double(i)}));
  }
}

TEST(Files, what_cannot_be_opened_is_refused_with_its_path) {
  const Folder folder;
  expect_error([&] { envoi::read(folder / "none.edf"); }, ErrorKind::bad_file, {"none.edf", "no such file"});
  expect_error([&] { envoi::read(folder / ""); }, ErrorKind::bad_file, {"folder"});
  expect_error([&] { envoi::read(folder.write("e.txt", "")); }, ErrorKind::bad_file, {"e.txt", "empty"});
  expect_error([&] { envoi::read(""); }, ErrorKind::bad_file, {""});
  expect_error([&] { envoi::read(folder.write("a\nb.txt", "x")); }, ErrorKind::bad_file, {"a?b.txt"});
}

TEST(Files, a_huge_file_that_cannot_fit_is_refused_at_once) {
  const Folder folder;
  for (const char* name : {"h.f64", "h.txt", "h.edf", "h.npy"}) {
    const std::string path = folder.write(name, "");
    std::error_code error;
    std::filesystem::resize_file(path, std::uintmax_t{1} << 42, error);
    if (error) GTEST_SKIP() << "no sparse files here";
    try {
      envoi::read(path, at_rate(1));
      ADD_FAILURE() << name;
    } catch (const envoi::Error& e) {
      EXPECT_EQ(e.kind(), std::string(name) == "h.f64" ? ErrorKind::out_of_memory : ErrorKind::bad_file) << e.what();
    }
  }
}

TEST(Files, standard_input_is_read_to_its_end) {
  const Folder folder;
  const std::string path = folder.write("x", "1\n2\n3\n");
  std::FILE* const pipe = ::popen(("cat '" + path + "'").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  const int kept = ::dup(0);
  ::dup2(::fileno(pipe), 0);
  const Recording r = envoi::read("-", at_rate(1));
  ::dup2(kept, 0);
  ::close(kept);
  ::pclose(pipe);
  EXPECT_EQ(r.name, "stdin");
  EXPECT_EQ(r.channels[0].samples, (Samples{1, 2, 3}));
  EXPECT_EQ(r.sha256, envoi::read(path, at_rate(1)).sha256);
}

TEST(Files, the_hash_is_that_of_the_bytes) {
  const Folder folder;
  const Recording r = envoi::read(folder.write("abc.txt", "1\n2\n"), at_rate(1));
  EXPECT_EQ(r.name, "abc.txt");
  EXPECT_EQ(r.sha256, "a6e2b7a040683432de03a18fd8a1939a2fdf82585b364bfc874bdd4095c4cae1");
}

}  // namespace
