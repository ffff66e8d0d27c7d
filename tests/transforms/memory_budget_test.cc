// FunctionOptions::memory_budget: training steps that keep less, with the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <chrono>
#include <cstdlib>
#include <string>

#include "capstan/capstan.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::contains;

// The number behind "keeps ".
template <class F>
std::size_t bytes_of(const F& f) {
  return std::strtoull(memory_use(f).c_str() + 6, nullptr, 10);
}

// Losses and weights of three steps of a model that `make` makes anew, with a budget of a share of what is kept
// without one. Returns the share that it keeps.
template <class Make>
double expect_same_training(double share, const Make& make, const Tensor& x, const Tensor& y) {
  std::vector<Tensor> want;
  std::size_t plain = 0;
  std::size_t kept = 0;
  for (const bool within : {false, true}) {
    set_seed(11);
    Sequential model = make();
    optimizers::Adam optimizer({.learning_rate = 0.01});
    auto step = function(
        [&](const Tensor& inputs, const Tensor& labels) {
          GradientTape tape;
          const Tensor loss = losses::categorical_crossentropy(labels, model(inputs, {.training = true}));
          optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
          return reduce_mean(loss);
        },
        {.memory_budget = static_cast<std::size_t>(within ? share * static_cast<double>(plain) : 0)});
    std::vector<Tensor> got;
    for (int i = 0; i < 3; ++i) got.push_back(step(x, y));
    EXPECT_EQ(tracing_count(step), 1);
    for (const Variable& weight : model.weights()) got.push_back(weight.value());
    (within ? kept : plain) = bytes_of(step);
    if (!within) want = got;
    EXPECT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(testing::same_bits(got[i], want[i])) << i;
  }
  return static_cast<double>(kept) / static_cast<double>(plain);
}

Tensor labels(std::int64_t count) { return one_hot(random::uniform({count}, 0, 5, int32, 2), 5); }

TEST(MemoryBudget, ANetworkOfManyLayers) {
  const auto make = [] {
    Sequential model;
    for (int i = 0; i < 32; ++i) model.add(layers::Dense(32, {.activation = i % 2 == 0 ? "gelu" : "tanh"}));
    model.add(layers::Dense(5, {.activation = "softmax"}));
    return model;
  };
  EXPECT_LE(expect_same_training(0.4, make, random::normal({128, 32}, 0, 1, float32, 1), labels(128)), 0.4);
}

// Masks are drawn once and kept, the moving averages move once.
TEST(MemoryBudget, DropoutAndBatchNormalization) {
  const auto make = [] {
    Sequential model;
    for (int i = 0; i < 8; ++i) {
      model.add(layers::Dense(32, {.use_bias = false}));
      model.add(layers::BatchNormalization());
      model.add(layers::Activation("relu"));
      model.add(layers::Dropout(0.25));
    }
    model.add(layers::Dense(5, {.activation = "softmax"}));
    return model;
  };
  EXPECT_LE(expect_same_training(0.6, make, random::normal({128, 32}, 0, 1, float32, 1), labels(128)), 0.6);
}

TEST(MemoryBudget, Convolutions) {
  const auto make = [] {
    Sequential model;
    for (int i = 0; i < 6; ++i) {
      model.add(layers::Conv2D(8, {3, 3}, {.padding = "same", .use_bias = false}));
      model.add(layers::BatchNormalization());
      model.add(layers::Activation("relu"));
    }
    model.add(layers::MaxPooling2D({2, 2}));
    model.add(layers::Flatten());
    model.add(layers::Dropout(0.5));
    model.add(layers::Dense(5, {.activation = "softmax"}));
    return model;
  };
  EXPECT_LE(expect_same_training(0.5, make, random::normal({8, 12, 12, 3}, 0, 1, float32, 1), labels(8)), 0.5);
}

// A step of 48 layers, and how long its shortest run takes.
struct Steps {
  std::vector<Variable> weights;
  Steps() {
    for (int i = 0; i < 48; ++i) {
      weights.emplace_back(random::normal({64, 64}, 0, 0.1, float32, static_cast<std::uint64_t>(i + 1)));
    }
  }
  auto make(std::size_t budget) const {
    return function(
        [this](const Tensor& x) {
          GradientTape tape;
          Tensor h = x;
          for (const Variable& w : weights) h = h + tanh(matmul(h, w));
          const Tensor loss = reduce_mean(h * h);
          h = Tensor();
          return tape.gradient(loss, weights);
        },
        {.name = "step", .memory_budget = budget});
  }
};

TEST(MemoryBudget, CostsLittleTime) {
  const Steps steps;
  const Tensor x = random::normal({512, 64}, 0, 1, float32, 99);
  auto plain = steps.make(0);
  const std::vector<Tensor> want = plain(x);
  auto within = steps.make(bytes_of(plain) * 4 / 10);
  const std::vector<Tensor> got = within(x);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(testing::same_bits(got[i], want[i])) << i;
  EXPECT_LE(bytes_of(within), bytes_of(plain) * 4 / 10);
  const auto seconds = [&](auto& f) {
    const auto start = std::chrono::steady_clock::now();
    f(x);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  // In turns, so that what else the machine does hits both, and until both have had a quiet moment.
  double shortest[2] = {1e9, 1e9};
  for (int i = 0; i < 30 || (i < 300 && shortest[1] > 1.4 * shortest[0]); ++i) {
    shortest[0] = std::min(shortest[0], seconds(plain));
    shortest[1] = std::min(shortest[1], seconds(within));
  }
  std::printf("48 layers in %zu of %zu bytes: %.2f of the time\n", bytes_of(within), bytes_of(plain),
              shortest[1] / shortest[0]);
  EXPECT_LT(shortest[1], 1.4 * shortest[0]);
}

TEST(MemoryBudget, SaysWhatItDoes) {
  const Steps steps;
  const Tensor x = ones({64, 64});
  auto plain = steps.make(0);
  EXPECT_EQ(testing::message_of([&] { memory_use(plain); }),
            "step: there is no trace yet\n  help: call the function first");
  plain(x);
  const std::string all = std::to_string(bytes_of(plain));
  EXPECT_EQ(memory_use(plain), "keeps " + all + " bytes at once, there is no budget");
  auto ample = steps.make(std::size_t{1} << 40);
  ample(x);
  EXPECT_EQ(memory_use(ample), "keeps " + all + " bytes at once, its budget is 1099511627776");
  auto half = steps.make(bytes_of(plain) / 2);
  half(x);
  EXPECT_LE(bytes_of(half), bytes_of(plain) / 2);
  EXPECT_TRUE(contains(memory_use(half), ("; " + all + " without computing again: ").c_str())) << memory_use(half);
  EXPECT_TRUE(contains(memory_use(half), "tanh (")) << memory_use(half);
  auto tiny = steps.make(1);
  tiny(x);
  EXPECT_LT(bytes_of(tiny), bytes_of(plain) / 3);
  EXPECT_TRUE(
      contains(memory_use(tiny), ", more than its budget of 1, and nothing is left that it could compute again"))
      << memory_use(tiny);
}

// The gradient of a call under a tape is a program of its own, which has the same budget.
TEST(MemoryBudget, HoldsForGradientsOfCalls) {
  const Variable w(random::normal({32, 32}, 0, 0.2, float32, 1));
  const Tensor x = random::normal({256, 32}, 0, 1, float32, 2);
  const auto gradient_within = [&](std::size_t budget, std::size_t& held) {
    auto f = function(
        [&](Tensor h) {
          for (int i = 0; i < 32; ++i) h = tanh(matmul(h, w));
          return h;
        },
        {.memory_budget = budget});
    const std::size_t before = memory_stats().in_use;
    GradientTape tape;
    const Tensor y = f(x);
    const Tensor gradient = tape.gradient(y, w);
    held = memory_stats().in_use - before;
    return gradient;
  };
  std::size_t plain = 0;
  std::size_t within = 0;
  const Tensor want = gradient_within(0, plain);
  const Tensor got = gradient_within(std::size_t{12} * 256 * 32 * 4, within);
  EXPECT_TRUE(testing::same_bits(got, want));
  EXPECT_LT(within, plain * 6 / 10) << plain;
}

// With lengths that are open, each program has the budget.
TEST(MemoryBudget, ForEveryShape) {
  const Steps steps;
  auto f = function(
      [&](const Tensor& x) {
        GradientTape tape;
        tape.watch(x);
        Tensor h = x;
        for (const Variable& w : steps.weights) h = tanh(matmul(h, w));
        return tape.gradient(h, x);
      },
      {.input_signature = {TensorSpec({-1, 64})}, .memory_budget = 500000});
  for (const int rows : {64, 128, 96}) {
    f(ones({rows, 64}));
    EXPECT_LE(bytes_of(f), 500000u) << rows;
  }
  EXPECT_EQ(tracing_count(f), 1);
}

}  // namespace
}  // namespace capstan
