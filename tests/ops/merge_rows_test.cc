#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

#include "capstan/capstan.h"
#include "src/core/apply.h"
#include "src/core/thread_pool.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::same_bits;
using Indices = std::vector<std::int64_t>;

TEST(MergeRows, SumsTheRowsOfAnIndexInTheirOrder) {
  const Tensor values = constant({{1, 2}, {3, 4}, {5, 6}, {7, 8}}, float32);
  for (const DType dtype : {int32, int64}) {
    const Tensor merged = merge_rows(make_row_sparse(cast(constant({2, 0, 2, 2}), dtype), values, {4, 2}));
    EXPECT_EQ(merged.shape(), (Shape{4, 2}));
    EXPECT_EQ(merged.indices().dtype(), int64);
    EXPECT_EQ(merged.indices().to_vector<std::int64_t>(), (Indices{0, 2, 2, 2}));
    EXPECT_EQ(merged.values().to_vector<float>(), (std::vector<float>{3, 4, 13, 16, 0, 0, 0, 0}));
  }
}

TEST(MergeRows, KeepsTheDenseTensorInEveryBit) {
  for (const std::int64_t rows : {1, 3, 1024, 1025, 3'000'000}) {
    for (const std::int64_t count : {0, 1, 2, 5000}) {
      const Tensor ids = random::uniform({count}, 0, rows, int64, static_cast<std::uint64_t>(rows));
      const Tensor values = random::normal({count, 3}, 0, 1, float32, 7);
      const Tensor merged = merge_rows(make_row_sparse(ids, values, {rows, 3}));
      const Indices indices = merged.indices().to_vector<std::int64_t>();
      // The sums of an independent program, in float32 and in the same order.
      std::map<std::int64_t, std::vector<float>> sums;
      for (std::int64_t i = 0; i < count; ++i) {
        std::vector<float>& sum = sums[ids(i).item<std::int64_t>()];
        sum.resize(3);
        for (int j = 0; j < 3; ++j) sum[static_cast<std::size_t>(j)] += values(i, j).item<float>();
      }
      const std::vector<float> got = merged.values().to_vector<float>();
      std::size_t k = 0;
      for (const auto& [row, sum] : sums) {
        EXPECT_EQ(indices[k], row);
        for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(got[3 * k + j], sum[j]) << row;
        ++k;
      }
      for (; k < indices.size(); ++k) {
        EXPECT_EQ(indices[k], sums.rbegin()->first);
        EXPECT_EQ(got[3 * k], 0);
      }
    }
  }
}

TEST(MergeRows, HasTheSameBitsWithAnyNumberOfThreadsAndInATrace) {
  const Tensor ids = random::uniform({4000}, 0, 900, int32, 1);
  const Tensor values = random::normal({4000, 65}, 0, 1, float64, 2);
  const int before = thread_count();
  std::vector<Tensor> all;
  for (const int threads : {1, 4}) {
    set_thread_count(threads);
    all.push_back(merge_rows(make_row_sparse(ids, values, {900, 65})).values());
    auto traced = function([](const Tensor& i, const Tensor& v) {
      const Tensor merged = merge_rows(make_row_sparse(i, v, {900, 65}));
      return std::vector<Tensor>{merged.indices(), merged.values()};
    });
    all.push_back(traced(ids, values)[1]);
  }
  set_thread_count(before);
  for (const Tensor& values_again : all) EXPECT_TRUE(same_bits(all[0], values_again));
}

TEST(MergeRows, TakesRowsOfAnyRank) {
  const Tensor flat = merge_rows(make_row_sparse(constant({1, 1}), constant({2.0, 3.0}), {4}));
  EXPECT_EQ(flat.to_dense().to_vector<double>(), (std::vector<double>{0, 5, 0, 0}));
  const Tensor cube = merge_rows(make_row_sparse(constant({1, 1}), ones({2, 2, 3}), {4, 2, 3}));
  EXPECT_EQ(cube.values().shape(), (Shape{2, 2, 3}));
  const Tensor thin = merge_rows(make_row_sparse(constant({1, 1}), zeros({2, 0}), {4, 0}));
  EXPECT_EQ(thin.values().shape(), (Shape{2, 0}));
  const Tensor dense = ones({3});
  EXPECT_TRUE(same_tensor(merge_rows(dense), dense));
}

TEST(MergeRows, SaysWhatDoesNotFit) {
  const auto message = [](const Tensor& ids, const Tensor& values) {
    return testing::message_of([&] { merge_rows(make_row_sparse(ids, values, {4, 1})); });
  };
  EXPECT_EQ(message(constant({0, 4}), ones({2, 1})), "merge_rows: index 4 is out of range for axis 0 of length 4");
  EXPECT_EQ(message(constant({-1}), ones({1, 1})), "merge_rows: index -1 is out of range for axis 0 of length 4");
  EXPECT_EQ(message(constant({1}), ones({1, 1}, bfloat16)).substr(0, 49),
            "merge_rows: dtype bfloat16 is not float32 or floa");
}

TEST(RowUpdates, AssignAddAndSubTakeRows) {
  for (const DType dtype : {float32, float64, bfloat16}) {
    for (const bool traced : {false, true}) {
      const Variable table(ones({4, 2}, dtype));
      const auto change = [&](const Tensor& ids) {
        const Tensor rows = make_row_sparse(ids, cast(constant({{1, 2}, {3, 4}, {5, 6}}), dtype), {4, 2});
        table.assign_add(rows);
        table.assign_sub(-rows);
        table.assign_sub(rows);
      };
      traced ? function(change)(constant({2, 0, 2})) : change(constant({2, 0, 2}));
      EXPECT_EQ(cast(table.value(), float64).to_vector<double>(), (std::vector<double>{4, 5, 1, 1, 7, 9, 1, 1}));
    }
  }
  const Variable table(ones({4, 2}));
  EXPECT_THROW(table.assign_add(make_row_sparse(constant({4}), ones({1, 2}), {4, 2})), IndexError);
  EXPECT_THROW(table.assign_add(make_row_sparse(constant({0}), ones({1, 2}), {5, 2})), ShapeError);
  EXPECT_THROW(table.assign_add(make_row_sparse(constant({0}), ones({1, 2}, float64), {4, 2})), DTypeError);
  EXPECT_EQ(table.to_vector<float>(), std::vector<float>(8, 1));
}

TEST(RowClipping, ActsOnValuesAndKeepsRows) {
  const Tensor g = make_row_sparse(constant({1, 1}), constant({{3.0, 0.0}, {0.0, -4.0}}), {5, 2});
  const auto expect = [&](const Tensor& clipped, const std::vector<double>& values) {
    ASSERT_TRUE(clipped.is_row_sparse());
    EXPECT_TRUE(same_tensor(clipped.indices(), g.indices()));
    EXPECT_EQ(clipped.shape(), g.shape());
    const Tensor want = cast(reshape(constant(values), {2, 2}), float32);
    EXPECT_EQ(testing::difference(clipped.values(), want, {.relative = 1e-6}), "");
  };
  expect(clip_by_value(g, -1.0, 2.0), {2, 0, 0, -1});
  expect(clip_by_norm(g, 2.5), {1.5, 0, 0, -2});
  expect(-g, {-3, 0, 0, 4});
  EXPECT_EQ(global_norm(std::vector<Tensor>{g, Tensor()}).item<double>(), 5);
  const ClippedByGlobalNorm clipped = clip_by_global_norm(std::vector<Tensor>{g, Tensor(), constant({12.0})}, 6.5);
  EXPECT_EQ(clipped.global_norm.item<double>(), 13);
  expect(clipped.tensors[0], {1.5, 0, 0, -2});
  EXPECT_FALSE(clipped.tensors[1].has_value());
  auto traced = function([](const Tensor& table, const Tensor& ids) {
    GradientTape tape;
    tape.watch(table);
    const Tensor rows = clip_by_value(tape.gradient(reduce_sum(gather(table, ids)), table), 0.0, 0.5);
    EXPECT_TRUE(rows.is_row_sparse());
    return rows.to_dense();
  });
  EXPECT_EQ(traced(ones({3, 1}), constant({2, 2})).to_vector<float>(), (std::vector<float>{0, 0, 1}));
}

}  // namespace
}  // namespace capstan
