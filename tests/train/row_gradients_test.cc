// Row-sparse gradients on their way through every optimizer: the results of the dense rule without a dense gradient.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "capstan/capstan.h"
#include "src/core/apply.h"
#include "src/core/thread_pool.h"
#include "tests/support/compare.h"
#include "tests/support/limits.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using optimizers::Adam;
using optimizers::AdamW;
using optimizers::SGD;
using testing::message_of;
using testing::same_bits;

enum class How { kRows, kDense, kTraced };

using MakeOptimizer = std::function<Optimizer()>;

// A table and a bias after several steps, with everything that the optimizer keeps.
std::vector<Tensor> train(const MakeOptimizer& make, const std::vector<Tensor>& batches, DType dtype, How how,
                          const Shape& shape = {7, 5}) {
  const Variable table(random::uniform(shape, -1, 1, dtype, 1), {.name = "table"});
  const Variable bias(random::uniform({shape[1]}, -1, 1, dtype, 2), {.name = "bias"});
  const std::vector<Variable> variables{table, bias};
  const Optimizer optimizer = make();
  const auto step = [&](const Tensor& ids, const Tensor& weights) {
    GradientTape tape;
    const Tensor y = embedding_lookup(table, ids) + bias;
    const Tensor loss = reduce_sum(y * y * weights);
    std::vector<Tensor> gradients = tape.gradient(loss, variables);
    EXPECT_TRUE(gradients[0].is_row_sparse());
    if (how == How::kDense) gradients[0] = gradients[0].to_dense();
    optimizer.apply_gradients(gradients, variables);
    return loss;
  };
  auto traced = function(step);
  std::uint64_t seed = 3;
  for (const Tensor& ids : batches) {
    const Tensor weights = random::uniform({ids.size(), shape[1]}, -1, 1, dtype, seed++);
    how == How::kTraced ? traced(ids, weights) : step(ids, weights);
  }
  std::vector<Tensor> all{table.value(), bias.value()};
  for (const Variable& variable : optimizer.variables()) all.push_back(variable.value());
  return all;
}

void expect_dense_rule(const MakeOptimizer& make, const std::vector<Tensor>& batches,
                       testing::Tolerance tolerance = {}) {
  for (const DType dtype : {float32, float64}) {
    const std::vector<Tensor> want = train(make, batches, dtype, How::kDense);
    for (const How how : {How::kRows, How::kTraced}) {
      const std::vector<Tensor> got = train(make, batches, dtype, how);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        testing::Tolerance allowed = tolerance;
        if (dtype == float32) allowed.relative *= 1e8;
        EXPECT_EQ(testing::difference(got[i], want[i], allowed), "") << "dtype " << name_of(dtype) << ", tensor " << i;
      }
    }
  }
}

const std::vector<Tensor> kBatches = {constant({3, 1, 3, 3, 0}), constant({6, 6, 6, 6, 6}), constant({0, 1, 2, 4, 6}),
                                      constant({5, 4, 3, 2, 0}), constant({1, 1, 0, 0, 1})};

TEST(RowGradients, GiveWhatTheDenseRuleGives) {
  expect_dense_rule([] { return SGD({.learning_rate = 0.1}); }, kBatches);
  expect_dense_rule([] { return SGD({.learning_rate = 0.1, .momentum = 0.9}); }, kBatches);
  expect_dense_rule([] { return SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}); }, kBatches);
  expect_dense_rule([] { return Adam({.learning_rate = 0.1}); }, kBatches);
  expect_dense_rule([] { return Adam({.learning_rate = 0.1, .amsgrad = true}); }, kBatches);
  expect_dense_rule([] { return AdamW({.learning_rate = 0.1}); }, kBatches);
}

TEST(RowGradients, MayHaveNoRowsOrOne) {
  const std::vector<Tensor> batches = {constant({2}), zeros({0}, int32), constant({6}), zeros({0}, int32)};
  expect_dense_rule([] { return SGD({.learning_rate = 0.1}); }, batches);
  expect_dense_rule([] { return SGD({.learning_rate = 0.1, .momentum = 0.9}); }, batches);
  expect_dense_rule([] { return Adam({.learning_rate = 0.1}); }, batches);
  expect_dense_rule([] { return Adam({.learning_rate = 0.1, .clipvalue = 0.1}); }, batches);
}

TEST(RowGradients, MayHaveWideIndices) {
  std::vector<Tensor> batches;
  for (const Tensor& ids : kBatches) batches.push_back(cast(ids, int64));
  expect_dense_rule([] { return SGD({.learning_rate = 0.1}); }, batches);
  expect_dense_rule([] { return Adam({.learning_rate = 0.1}); }, batches);
}

// Sums of squares are taken over rows here and over the table there.
TEST(RowGradients, AreClippedByWhatEachRowGotTogether) {
  expect_dense_rule([] { return SGD({.learning_rate = 0.1, .clipvalue = 0.3}); }, kBatches);
  expect_dense_rule([] { return Adam({.learning_rate = 0.1, .clipvalue = 0.3}); }, kBatches);
  const testing::Tolerance close{.relative = 1e-13, .floor = 1e-13};
  expect_dense_rule([] { return SGD({.learning_rate = 0.1, .clipnorm = 0.3}); }, kBatches, close);
  expect_dense_rule([] { return SGD({.learning_rate = 0.1, .global_clipnorm = 0.3}); }, kBatches, close);
}

TEST(RowGradients, WorkWithEveryOption) {
  expect_dense_rule([] { return SGD({.learning_rate = 0.1, .weight_decay = 0.1}); }, kBatches);
  expect_dense_rule([] { return SGD({.learning_rate = 0.1, .loss_scale_factor = 8}); }, kBatches);
  expect_dense_rule([] { return Adam({.learning_rate = 0.1, .use_ema = true, .ema_overwrite_frequency = 2}); },
                    kBatches);
  expect_dense_rule([] { return SGD({.learning_rate = 0.1, .gradient_accumulation_steps = 2}); }, kBatches);
  expect_dense_rule([] { return Adam({.learning_rate = 0.1, .gradient_accumulation_steps = 3}); }, kBatches);
}

TEST(RowGradients, TracedStepsHaveTheBitsOfPlainOnes) {
  for (const auto& make : std::vector<MakeOptimizer>{
           [] { return SGD({.learning_rate = 0.1}); }, [] { return SGD({.learning_rate = 0.1, .clipnorm = 0.3}); },
           [] { return Adam({.learning_rate = 0.1, .global_clipnorm = 0.3}); },
           [] { return AdamW({.learning_rate = 0.1, .loss_scale_factor = 3, .gradient_accumulation_steps = 2}); }}) {
    const std::vector<Tensor> plain = train(make, kBatches, float32, How::kRows);
    const std::vector<Tensor> traced = train(make, kBatches, float32, How::kTraced);
    for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(same_bits(plain[i], traced[i])) << i;
  }
}

// Rows cut by the borders of tasks, and none, one and many rows in a task.
TEST(RowGradients, HaveTheSameBitsWithAnyNumberOfThreads) {
  const Tensor ids = random::uniform({3000}, 0, 1100, int32, 8);
  const std::vector<Tensor> batches = {ids, constant({0, 1099, 500, 500}), ids};
  for (const auto& make : std::vector<MakeOptimizer>{[] { return SGD({.learning_rate = 0.1}); },
                                                     [] { return SGD({.learning_rate = 0.1, .momentum = 0.5}); },
                                                     [] { return Adam({.learning_rate = 0.1}); }}) {
    const std::vector<Tensor> want = train(make, batches, float32, How::kDense, {1100, 97});
    const int before = thread_count();
    for (const int threads : {1, 3}) {
      set_thread_count(threads);
      for (const How how : {How::kRows, How::kTraced}) {
        const std::vector<Tensor> got = train(make, batches, float32, how, {1100, 97});
        for (std::size_t i = 0; i < got.size(); ++i) {
          EXPECT_EQ(testing::difference(got[i], want[i], {}), "") << threads << " threads, tensor " << i;
        }
      }
    }
    set_thread_count(before);
  }
}

// Adam of the original: rows without a gradient still move.
TEST(RowGradients, MomentsDecayInAllRows) {
  for (const bool traced : {false, true}) {
    const Variable table(ones({2, 1}));
    const Adam adam({.learning_rate = 0.1});
    const auto step = [&](const Tensor& ids) {
      GradientTape tape;
      const Tensor loss = reduce_sum(embedding_lookup(table, ids));
      adam.apply_gradients({tape.gradient(loss, table)}, {table});
    };
    auto compiled = function(step);
    traced ? compiled(constant({0})) : step(constant({0}));
    EXPECT_NEAR(table(0).item<double>(), 0.900001, 1e-7);
    EXPECT_EQ(table(1).item<double>(), 1);
    traced ? compiled(constant({1})) : step(constant({1}));
    EXPECT_NEAR(table(0).item<double>(), 0.8329961, 1e-7);
  }
}

TEST(RowGradients, OfOneVariableTwiceAreTwoSteps) {
  for (const bool traced : {false, true}) {
    const Variable table(zeros({3, 1}, float64));
    const SGD sgd({.learning_rate = 1});
    const auto step = [&](const Tensor& ids) {
      GradientTape tape;
      const Tensor loss = reduce_sum(embedding_lookup(table, ids));
      const Tensor g = tape.gradient(loss, table);
      sgd.apply_gradients({g, g}, {table, table});
    };
    traced ? function(step)(constant({0, 2, 0})) : step(constant({0, 2, 0}));
    EXPECT_EQ(table.to_vector<double>(), (std::vector<double>{-4, 0, -2}));
  }
}

Tensor rows_of(const Tensor& ids, const Shape& shape) {
  return make_row_sparse(ids, ones({ids.size(), shape[1]}), shape);
}

TEST(RowGradients, WithARowThatDoesNotExistChangeNothing) {
  const Shape shape{5, 2};
  for (const int bad : {-1, 5}) {
    for (const auto& make : std::vector<MakeOptimizer>{
             [] { return SGD({.learning_rate = 1}); }, [] { return SGD({.momentum = 0.5}); }, [] { return Adam(); },
             [] { return Adam({.clipnorm = 1}); }, [] { return SGD({.gradient_accumulation_steps = 2}); }}) {
      for (const bool traced : {false, true}) {
        const Variable good(ones(shape)), table(ones(shape));
        const Optimizer optimizer = make();
        const auto step = [&](const Tensor& ids) {
          optimizer.apply_gradients({rows_of(constant({1, 1}), shape), rows_of(ids, shape)}, {good, table});
        };
        auto compiled = function(step);
        const auto run = [&](const Tensor& ids) { traced ? compiled(ids) : step(ids); };
        EXPECT_THROW(run(constant({0, bad})), IndexError);
        EXPECT_TRUE(same_bits(good.value(), ones(shape)));
        EXPECT_TRUE(same_bits(table.value(), ones(shape)));
        for (const Variable& slot : optimizer.variables()) EXPECT_TRUE(testing::all_zero(slot.value()));
        EXPECT_EQ(optimizer.iterations(), 0);
        run(constant({0, 4}));
      }
    }
  }
  const Variable table(ones(shape));
  const Tensor g = rows_of(constant({0, 5}), shape);
  const SGD sgd;
  EXPECT_EQ(message_of([&] { sgd.apply_gradients({g}, {table}); }),
            sgd.name() + ": index 5 is out of range for axis 0 of length 5");
}

// --- Memory ---

// The buffers that a second call of f takes: with no others kept, they are kept when it gives them back.
template <class F>
std::size_t extra_memory(const F& f) {
  f();
  trim_memory();
  const std::size_t before = memory_stats().in_use;
  f();
  const MemoryStats after = memory_stats();
  return after.cached + after.in_use - before;
}

TEST(RowGradients, NeedNoMemoryOfTheSizeOfTheTable) {
  if (CAPSTAN_SANITIZED) GTEST_SKIP() << "under sanitizers the allocator keeps no buffers that could be counted";
  constexpr std::int64_t kRows = 1'000'000, kWidth = 16, kPicked = 1000;
  const Variable table(zeros({kRows, kWidth}));
  const Tensor ids = random::uniform({kPicked}, 0, kRows, int64, 1);
  for (const auto& make : std::vector<MakeOptimizer>{
           [] { return SGD({.learning_rate = 0.1}); }, [] { return SGD({.learning_rate = 0.1, .momentum = 0.9}); },
           [] { return Adam({.amsgrad = true}); }, [] { return Adam({.global_clipnorm = 1}); }}) {
    for (const bool traced : {false, true}) {
      const Optimizer optimizer = make();
      const auto step = [&](const Tensor& picked) {
        GradientTape tape;
        const Tensor loss = reduce_sum(square(embedding_lookup(table, picked) - 1.0));
        optimizer.apply_gradients({tape.gradient(loss, table)}, {table});
        return loss;
      };
      auto compiled = function(step);
      EXPECT_LT(extra_memory([&] { traced ? compiled(ids) : step(ids); }), std::size_t{4'000'000}) << traced;
    }
  }
  // A dense gradient would be seen.
  const SGD sgd({.learning_rate = 0.1});
  EXPECT_GT(extra_memory([&] {
              GradientTape tape;
              const Tensor loss = reduce_sum(embedding_lookup(table, ids));
              sgd.apply_gradients({tape.gradient(loss, table).to_dense()}, {table});
            }),
            std::size_t{4 * kRows * kWidth - 1});
  // Two tables in one step, and the gradient of a call.
  const Variable other(zeros({kRows, kWidth}));
  const SGD of_both({.learning_rate = 0.1});
  auto both = function([&](const Tensor& picked) {
    GradientTape tape;
    const Tensor loss = reduce_sum(square(embedding_lookup(table, picked) - embedding_lookup(other, picked) - 1.0));
    of_both.apply_gradients(tape.gradient(loss, {table, other}), {table, other});
    return reduce_sum(gather(picked, constant({0, 1})));  // may fail, but runs before the update
  });
  EXPECT_LT(extra_memory([&] { both(ids); }), std::size_t{4'000'000});
  auto loss_of = function([&](const Tensor& picked) { return reduce_sum(square(embedding_lookup(table, picked))); });
  EXPECT_LT(extra_memory([&] {
              GradientTape tape;
              const Tensor loss = loss_of(ids);
              sgd.apply_gradients({tape.gradient(loss, table)}, {table});
            }),
            std::size_t{4'000'000});
}

}  // namespace
}  // namespace capstan
