// What batching rules are written with, and what goes wrong in an item.
#include "src/ops/batching.h"

#include <gtest/gtest.h>

#include <vector>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/rearrange.h"
#include "capstan/ops/segment.h"
#include "capstan/vectorized_map.h"

namespace capstan {
namespace {

TEST(Batching, IdsOfAnItemDoNotReachAnother) {
  const Tensor rows = ones({2, 3}, float64);
  const auto sums = [](const std::vector<Tensor>& of) { return unsorted_segment_sum(of[0], of[1], 3); };
  EXPECT_THROW(vectorized_map(sums, std::vector<Tensor>{rows, constant({{0, 3, 1}, {0, 1, 2}})}), IndexError);
  const Tensor kept = vectorized_map(sums, std::vector<Tensor>{rows, constant({{0, -1, 0}, {2, 1, 2}})});
  EXPECT_EQ(kept.to_vector<double>(), (std::vector<double>{2, 0, 0, 0, 1, 2}));

  const auto inverse = [](const Tensor& row) { return invert_permutation(row); };
  EXPECT_THROW(vectorized_map(inverse, constant({{1}, {-1}})), ValueError);
  EXPECT_THROW(vectorized_map(inverse, constant({{0, 2}, {-1, 0}})), ValueError);

  const auto place = [](const Tensor& index) { return scatter_nd(index, constant({1.0}), {2}); };
  EXPECT_THROW(vectorized_map(place, constant({{{2}}, {{0}}})), IndexError);
}

TEST(Batching, MovesAnAxis) {
  const Tensor x = zeros({2, 3, 4, 5});
  EXPECT_EQ(move_axis(x, 0, 2).shape(), (Shape{3, 4, 2, 5}));
  EXPECT_EQ(move_axis(x, 2, 0).shape(), (Shape{4, 2, 3, 5}));
  EXPECT_EQ(move_axis(x, 3, 3).shape(), x.shape());
}

TEST(Batching, OfPicksNests) {
  const Tensor tables = reshape(range(0.0, 24.0), {2, 3, 4});
  const Tensor picks = constant({{3, 0}, {1, 1}});
  const Tensor y = vectorized_map(
      [](const std::vector<Tensor>& of) {
        return vectorized_map([&](const Tensor& row) { return gather(row, of[1]); }, of[0]);
      },
      std::vector<Tensor>{tables, picks});
  EXPECT_EQ(y.shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{3, 0, 7, 4, 11, 8, 13, 13, 17, 17, 21, 21}));
}

}  // namespace
}  // namespace capstan
