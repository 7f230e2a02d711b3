// Windows about annotations: which, where, and what is said of those that cannot be.
#include "envoi/events.hpp"

#include "support.hpp"

namespace envoi {
namespace {

using envoi_test::expect_error;

Recording with_annotations() {
  Recording r;
  r.name = "r.edf";
  r.channels.resize(2);
  r.channels[0].rate_hz = 100, r.channels[0].samples.resize(1000);
  r.channels[1].rate_hz = 50, r.channels[1].samples.resize(475), r.channels[1].start_s = 0.5;
  r.annotations = {
      {5, {}, "stim/left"}, {0.9, {}, "stim/right"}, {2, 1.0, "stim/left"}, {9.5, {}, "stim/left"}, {3, {}, "rest"}};
  return r;
}

TEST(Events, start_before_each_annotation_that_leaves_room) {
  Recording r = with_annotations();
  EXPECT_EQ(event_starts(r, {"stim/left", 0.5, 1}), (std::vector<double>{1.5, 4.5}));
  ASSERT_EQ(r.warnings.size(), 1u);
  EXPECT_NE(r.warnings[0].find("1 of 3"), std::string::npos) << r.warnings[0];
  // Each channel must hold the window: the second begins at 0.5 s.
  EXPECT_EQ(event_starts(r, {"stim*", 0.4, 0.6}), (std::vector<double>{0.5, 1.6, 4.6}));
  EXPECT_EQ(event_starts(r, {"stim*", 0.5, 0.4}), (std::vector<double>{1.5, 4.5, 9}));
  EXPECT_EQ(event_starts(r, {"re?t", 0, 7}), (std::vector<double>{3}));
  EXPECT_EQ(event_starts(r, {"rest", -1, 2}), (std::vector<double>{4}));
}

TEST(Events, those_at_one_sample_are_said) {
  Recording r = with_annotations();
  r.annotations.push_back({2.004, {}, "stim/left"});
  EXPECT_EQ(event_starts(r, {"stim/left", 0.5, 0.4}).size(), 4u);
  ASSERT_EQ(r.warnings.size(), 1u);
  EXPECT_NE(r.warnings[0].find("1 of 4 events"), std::string::npos) << r.warnings[0];
}

TEST(Events, refusals_tell_what_is_there) {
  Recording r = with_annotations();
  expect_error(
      [&] {
        event_starts(r, {"left", 1, 1});
      },
      ErrorKind::bad_file, {"r.edf", "'left'", "stim/left (3), stim/right, rest"});
  expect_error([&] { event_starts(r, {"rest", 4, 0}); }, ErrorKind::bad_file, {"inside", "--before"});
  expect_error([&] { event_starts(r, {"rest", 1, -1}); }, ErrorKind::bad_argument, {"length"});
  r.annotations.clear();
  expect_error([&] { event_starts(r, {"rest", 1, 1}); }, ErrorKind::bad_file, {"none"});
}

}  // namespace
}  // namespace envoi
