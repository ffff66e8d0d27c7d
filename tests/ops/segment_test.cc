// Segments without rows, and products around zeros and infinities; the rest is in every_op_test.cc.
#include "capstan/ops/segment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"

namespace capstan {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int>;

TEST(Segments, WithoutRowsHaveTheIdentityOfTheReduction) {
  const Tensor x = constant({1.0, 2.0});
  const Tensor ids = constant({2, -1});
  EXPECT_EQ(unsorted_segment_sum(x, ids, 3).to_vector<float>(), (Floats{0, 0, 1}));
  EXPECT_EQ(unsorted_segment_prod(x, ids, 3).to_vector<float>(), (Floats{1, 1, 1}));
  EXPECT_EQ(unsorted_segment_mean(x, ids, 3).to_vector<float>(), (Floats{0, 0, 1}));
  EXPECT_EQ(unsorted_segment_max(x, ids, 3)(0).item<float>(), std::numeric_limits<float>::lowest());
  EXPECT_EQ(unsorted_segment_min(x, ids, 3)(0).item<float>(), std::numeric_limits<float>::max());
  EXPECT_EQ(unsorted_segment_max(cast(x, int32), ids, 3)(1).item<int>(), std::numeric_limits<int>::lowest());
  EXPECT_TRUE(std::isfinite(unsorted_segment_max(cast(x, bfloat16), ids, 3)(0).item<float>()));
  EXPECT_EQ(segment_max(x, constant({0, 2})).to_vector<float>(), (Floats{1, 0, 2}));
  EXPECT_EQ(segment_prod(x, constant({0, 2})).to_vector<float>(), (Floats{1, 1, 2}));
}

TEST(Segments, MeansOfIntegersAreIntegersIfSorted) {
  const Tensor x = constant({-1, -4, 7, 200});
  const Tensor ids = constant({0, 0, 1, 3});
  EXPECT_EQ(segment_mean(x, ids).to_vector<int>(), (Ints{-2, 7, 0, 200}));
  EXPECT_EQ(segment_mean(cast(x, int64), ids).dtype(), int64);
  // Neither a sum beyond 255 nor a count of as many rows is cut.
  EXPECT_EQ(segment_mean(cast(fill({300}, 200), uint8), zeros({300}, int32))(0).item<int>(), 200);
  EXPECT_EQ(unsorted_segment_mean(x, ids, 4).to_vector<double>(), (std::vector<double>{-2.5, 7, 0, 200}));
}

TEST(Segments, WithoutRowsHaveNoShareInSecondDerivatives) {
  const Tensor x = constant({1.0, 3.0});
  const Tensor ids = constant({0, 0});
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor y = unsorted_segment_max(x, ids, 1);
  const Tensor g = inner.gradient(reduce_sum(y * y * y), x);
  EXPECT_EQ(g.to_vector<float>(), (Floats{0, 27}));
  EXPECT_EQ(outer.gradient(g, x).to_dense().to_vector<float>(), (Floats{0, 18}));
}

TEST(Segments, ANanIsTheExtremum) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor y = unsorted_segment_max(constant(Floats{1, nan, 3}), constant({0, 0, 0}), 1);
  EXPECT_TRUE(std::isnan(y.item<float>()));
}

TEST(Segments, AnInfiniteProductDoesNotReachItsNeighbours) {
  const Tensor x = constant(Floats{1e30f, 1e30f, 2, 5});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = unsorted_segment_prod(x, constant({0, 0, 1, 1}), 2);
  const Tensor g = tape.gradient(y(1), x);
  EXPECT_EQ(g(2).item<float>(), 5.0f);
  EXPECT_EQ(g(3).item<float>(), 2.0f);
}

TEST(Segments, SumsOfIntegersWrapAround) {
  const Tensor most = constant({std::numeric_limits<int>::max(), 1});
  EXPECT_EQ(unsorted_segment_sum(most, constant({0, 0}), 1).item<int>(), std::numeric_limits<int>::min());
}

TEST(DynamicPartition, AndStitchAreInverse) {
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}});
  const Tensor which = constant({1, 0, 1});
  const std::vector<Tensor> rows = dynamic_partition(x, which, 2);
  const std::vector<Tensor> places = dynamic_partition(range(3), which, 2);
  EXPECT_EQ(rows[1].to_vector<float>(), (Floats{1, 2, 5, 6}));
  EXPECT_TRUE(equal_tensors(dynamic_stitch(places, rows), x));
}

TEST(Cummax, KeepsANanOnceItHasSeenIt) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Floats y = cummax(constant(Floats{1, nan, 3})).to_vector<float>();
  EXPECT_EQ(y[0], 1.0f);
  EXPECT_TRUE(std::isnan(y[1]) && std::isnan(y[2]));
}

}  // namespace
}  // namespace capstan
