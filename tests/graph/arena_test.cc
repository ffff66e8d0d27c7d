#include "src/graph/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/random.h"

namespace capstan {
namespace {

TEST(Arena, HandsOutWholeLines) {
  Arena arena;
  EXPECT_EQ(arena.size(), 0u);
  EXPECT_EQ(arena.take(1), 0u);
  EXPECT_EQ(arena.take(64), 64u);
  EXPECT_EQ(arena.take(65), 128u);
  EXPECT_EQ(arena.size(), 256u);
}

TEST(Arena, NothingHasALineToo) {
  Arena arena;
  const std::size_t a = arena.take(0);
  const std::size_t b = arena.take(0);
  EXPECT_NE(a, b);
  arena.give_back(a, 0);
  EXPECT_EQ(arena.take(64), a);
}

TEST(Arena, TakesTheSmallestGapThatSuffices) {
  Arena arena;
  const std::size_t large = arena.take(256);
  arena.take(64);
  const std::size_t small = arena.take(128);
  arena.take(64);
  arena.give_back(large, 256);
  arena.give_back(small, 128);
  EXPECT_EQ(arena.take(128), small);
  EXPECT_EQ(arena.take(128), large);
  EXPECT_EQ(arena.take(128), large + 128);
}

TEST(Arena, NeighbouringGapsBecomeOne) {
  for (const std::vector<int>& order : {std::vector<int>{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}}) {
    Arena arena;
    const std::size_t parts[] = {arena.take(64), arena.take(64), arena.take(64)};
    arena.take(64);
    for (const int i : order) arena.give_back(parts[i], 64);
    EXPECT_EQ(arena.take(192), parts[0]);
    EXPECT_EQ(arena.size(), 256u);
  }
}

TEST(Arena, AGapAtTheEndGrows) {
  Arena arena;
  arena.take(64);
  arena.give_back(arena.take(128), 128);
  EXPECT_EQ(arena.take(256), 64u);
  EXPECT_EQ(arena.size(), 320u);
}

TEST(Arena, RandomRequestsNeverOverlap) {
  struct Piece {
    std::size_t offset, bytes;
  };
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    testing::Random random(seed);
    Arena arena;
    std::vector<Piece> live;
    std::size_t end = 0;
    std::size_t taken = 0;
    for (int i = 0; i < 400; ++i) {
      if (!live.empty() && random.integer(0, 2) == 0) {
        const auto which = random.integer(0, static_cast<std::int64_t>(live.size()) - 1);
        std::swap(live[static_cast<std::size_t>(which)], live.back());
        arena.give_back(live.back().offset, live.back().bytes);
        live.pop_back();
        continue;
      }
      const auto bytes = static_cast<std::size_t>(random.integer(0, random.integer(0, 1) == 0 ? 200 : 5000));
      const Piece piece{arena.take(bytes), bytes};
      EXPECT_EQ(piece.offset % 64, 0u);
      for (const Piece& other : live) {
        const bool apart = piece.offset + std::max<std::size_t>(1, piece.bytes) <= other.offset ||
                           other.offset + std::max<std::size_t>(1, other.bytes) <= piece.offset;
        ASSERT_TRUE(apart) << "seed " << seed << ", request " << i;
      }
      live.push_back(piece);
      end = std::max(end, piece.offset + bytes);
      taken += (std::max<std::size_t>(1, bytes) + 63) / 64 * 64;
      ASSERT_GE(arena.size(), end);
      ASSERT_LE(arena.size(), taken);
    }
    // Everything that was given back is one gap again.
    const std::size_t size = arena.size();
    for (const Piece& piece : live) arena.give_back(piece.offset, piece.bytes);
    EXPECT_EQ(arena.take(size), 0u);
    EXPECT_EQ(arena.size(), size);
  }
}

TEST(StagedArena, WhatATaskGivesBackIsForThatTaskUntilTheStageEnds) {
  StagedArena arena(3);
  const std::int32_t by_itself = StagedArena::kNoTask;
  const std::size_t before = arena.take(by_itself, 256);
  arena.give_back(0, before, 256);
  EXPECT_EQ(arena.take(1, 64), 256u);
  const std::size_t a = arena.take(0, 100);
  const std::size_t b = arena.take(0, 128);
  EXPECT_LT(a, 256u);
  EXPECT_LT(b, 256u);
  EXPECT_NE(a, b);
  arena.give_back(2, 256, 64);  // what several tasks read
  EXPECT_EQ(arena.take(0, 64), 320u);
  arena.give_back(0, a, 100);
  EXPECT_EQ(arena.take(1, 64), 384u);
  arena.end_stage();
  // The two gaps side by side are one.
  EXPECT_EQ(arena.take(by_itself, 192), a);
  EXPECT_EQ(arena.size(), 448u);
}

TEST(Pack, PlacesWhatIsNeededAtDifferentTimesInOnePlace) {
  std::vector<Piece> pieces = {{100, 0, 1}, {100, 2, 3}, {0, 1, 2}};
  EXPECT_EQ(peak_of(pieces), 192u);
  EXPECT_EQ(pack(pieces), 192u);
  EXPECT_EQ(pieces[0].offset, 0u);
  EXPECT_EQ(pieces[1].offset, 0u);
  EXPECT_EQ(pieces[2].offset, 128u);
  std::vector<Piece> none;
  EXPECT_EQ(peak_of(none), 0u);
  EXPECT_EQ(pack(none), 0u);
}

// One by one the third would lie behind the others: neither gap suffices when it comes.
TEST(Pack, FindsRoomThatComingOneByOneDoesNot) {
  std::vector<Piece> pieces = {{64, 0, 3}, {64, 0, 1}, {128, 2, 4}, {64, 4, 5}};
  EXPECT_EQ(peak_of(pieces), 192u);
  EXPECT_EQ(pack(pieces), 192u);
}

TEST(Pack, KeepsPiecesApart) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    testing::Random random(seed);
    std::vector<Piece> pieces;
    std::size_t all = 0;
    for (std::int64_t i = random.integer(1, 60); i > 0; --i) {
      const auto begin = static_cast<std::size_t>(random.integer(0, 40));
      const auto end = begin + static_cast<std::size_t>(random.integer(0, 12));
      pieces.push_back({static_cast<std::size_t>(random.integer(0, 500)), begin, end});
      all += Arena::rounded(pieces.back().bytes);
    }
    const std::size_t size = pack(pieces);
    EXPECT_GE(size, peak_of(pieces));
    EXPECT_LE(size, all);
    for (const Piece& a : pieces) {
      EXPECT_LE(a.offset + a.bytes, size);
      for (const Piece& b : pieces) {
        const bool together = &a != &b && a.begin <= b.end && b.begin <= a.end;
        if (!together) continue;
        EXPECT_TRUE(a.offset + Arena::rounded(a.bytes) <= b.offset || b.offset + Arena::rounded(b.bytes) <= a.offset)
            << seed;
      }
    }
  }
}

}  // namespace
}  // namespace capstan
