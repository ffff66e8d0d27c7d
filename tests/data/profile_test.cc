// What a profile shows of a pipeline: the stages, and where it waits.
#include "capstan/profile.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/data/elements.h"

namespace capstan {
namespace {

using datasets::range;

std::int64_t slow_identity(std::int64_t x) {
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return x;
}

ProfileRow row(const Profile& profile, const std::string& kind, const std::string& name) {
  for (const ProfileRow& one : profile.rows()) {
    if (one.kind == kind && one.name == name) return one;
  }
  return {};
}

template <class D>
Profile profile_of(const D& dataset) {
  return profile([&] { testing::elements_of(dataset); });
}

TEST(ProfileOfDatasets, ShowsTheStageThatTakesTheTime) {
  const Profile found = profile_of(range(8).map(slow_identity).batch(2).map([](const Tensor& x) { return x + 1; }));
  // Those of 8 numbers, of 4 batches, and the end of each.
  EXPECT_EQ(row(found, "stage", "range").count, 9);
  EXPECT_EQ(row(found, "stage", "map").count, 14);
  EXPECT_EQ(row(found, "stage", "batch").count, 5);
  EXPECT_EQ(row(found, "op", "add").count, 4);
  EXPECT_GE(row(found, "stage", "map").self_seconds, 0.016);
  EXPECT_LT(row(found, "stage", "batch").self_seconds, 0.008);
  EXPECT_GE(row(found, "stage", "batch").total_seconds, 0.016);
  EXPECT_NE(found.to_string().find("stage"), std::string::npos);
}

TEST(ProfileOfDatasets, ShowsWhereAPipelineWaits) {
  const Profile ahead = profile_of(range(8).map(slow_identity).prefetch(2));
  EXPECT_GE(row(ahead, "wait", "prefetch").self_seconds, 0.008);
  EXPECT_LE(row(ahead, "wait", "prefetch").count, 9);
  EXPECT_EQ(row(ahead, "stage", "prefetch").count, 9);
  const Profile mapped = profile_of(range(8).map(slow_identity, {.num_parallel_calls = 2}));
  EXPECT_GE(row(mapped, "wait", "map").count, 1);
  EXPECT_EQ(row(mapped, "call", "map").count, 8);
  EXPECT_GE(row(mapped, "call", "map").self_seconds, 0.016);
  const Profile batched = profile_of(range(8).map(slow_identity).batch(2, {.num_parallel_calls = 2}));
  EXPECT_EQ(row(batched, "call", "batch").count, 4);
  const auto open = [](std::int64_t x) { return range(x, x + 2).map(slow_identity); };
  const Profile mixed = profile_of(range(4).interleave(open, {.cycle_length = 2, .num_parallel_calls = 2}));
  EXPECT_GE(row(mixed, "wait", "interleave").count, 1);
  EXPECT_EQ(row(mixed, "stage", "interleave").count, 9);
  // A loop that is slower than its data does not wait.
  const auto dataset = range(8).prefetch(8);
  auto iterator = dataset.begin();
  iterator.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const Profile ready = profile([&] {
    for (int i = 0; i < 6; ++i) iterator.next();
  });
  EXPECT_EQ(row(ready, "wait", "prefetch").count, 0);
}

}  // namespace
}  // namespace capstan
