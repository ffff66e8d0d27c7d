#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "src/core/thread_pool.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

// Steps with a function and without: equal weights, slots, accumulators and averages after each, in every bit.
template <class Make>
void expect_equal_steps(const Make& make_optimizer) {
  const auto train = [&](bool traced) {
    const Variable w({{0.5f, -1.0f}, {2.0f, 0.25f}});
    const Variable b({0.1f, -0.1f}, {.name = "bias"});
    const Variable wide(constant({3.0, 4.0}, float64));
    auto optimizer = make_optimizer();
    const std::vector<Variable> variables{w, b, wide};
    const auto step = [&](const Tensor& x) {
      GradientTape tape;
      const Tensor loss = reduce_sum(square(matmul(x, w) + b)) + cast(reduce_sum(square(wide)), float32);
      optimizer.apply_gradients(tape.gradient(loss, variables), variables);
      return loss;
    };
    auto compiled = function(step);
    std::vector<double> seen;
    const auto note = [&](const Variable& variable) {
      for (const double value : variable.to_vector<double>()) seen.push_back(value);
    };
    for (int i = 0; i < 7; ++i) {
      const Tensor x = random::normal({3, 2}, 0, 1, float32, static_cast<std::uint64_t>(i));
      seen.push_back((traced ? compiled(x) : step(x)).template item<double>());
      for (const Variable& variable : variables) note(variable);
      for (const Variable& variable : optimizer.variables()) note(variable);
      seen.push_back(static_cast<double>(optimizer.iterations()));
    }
    if (traced) {
      EXPECT_EQ(tracing_count(compiled), 1);
    }
    optimizer.finalize_variable_values();
    for (const Variable& variable : variables) note(variable);
    return seen;
  };
  EXPECT_EQ(train(true), train(false));
}

TEST(OptimizerInFunction, AccumulatesGradients) {
  expect_equal_steps([] { return optimizers::SGD({.learning_rate = 0.01, .gradient_accumulation_steps = 2}); });
  expect_equal_steps(
      [] { return optimizers::SGD({.learning_rate = 0.01, .momentum = 0.9, .gradient_accumulation_steps = 3}); });
  expect_equal_steps([] { return optimizers::Adam({.learning_rate = 0.1, .gradient_accumulation_steps = 3}); });
  expect_equal_steps([] {
    return optimizers::AdamW(
        {.learning_rate = schedules::InverseTimeDecay(0.1, 1, 0.5), .clipnorm = 0.5, .gradient_accumulation_steps = 2});
  });
}

// One node for all of a dtype, whose tasks run over the borders of variables: none, small and large ones.
TEST(OptimizerInFunction, AdamIsOneNodeOverManyVariables) {
  for (const bool amsgrad : {false, true}) {
    const auto train = [&](bool traced) {
      std::vector<Variable> weights;
      for (const std::int64_t n : {3, 0, 40000, 1, 70000, 500}) {
        weights.emplace_back(random::normal({n}, 0, 1, n == 500 ? float64 : float32, static_cast<std::uint64_t>(n)));
      }
      optimizers::Adam optimizer({.learning_rate = 0.1, .amsgrad = amsgrad});
      const auto step = [&](const Tensor& x) {
        GradientTape tape;
        Tensor loss = constant(0.0);
        for (const Variable& w : weights) loss = loss + cast(reduce_sum(sin(w * cast(x, w.dtype()))), float32);
        optimizer.apply_gradients(tape.gradient(loss, weights), weights);
      };
      auto compiled = function(step);
      for (int i = 0; i < 3; ++i) traced ? compiled(constant(1.5f)) : step(constant(1.5f));
      if (traced) {
        const std::string text = graph_text(compiled);
        std::size_t nodes = 0;
        for (std::size_t at = text.find("optimizer_step"); at != text.npos; at = text.find("optimizer_step", at + 1))
          ++nodes;
        EXPECT_EQ(nodes, 2u) << text;
      }
      std::vector<std::vector<double>> all;
      for (const Variable& w : weights) all.push_back(w.to_vector<double>());
      for (const Variable& w : optimizer.variables()) all.push_back(w.to_vector<double>());
      return all;
    };
    const auto expected = train(false);
    for (const int threads : {1, 3}) {
      const int before = thread_count();
      set_thread_count(threads);
      EXPECT_EQ(train(true), expected);
      set_thread_count(before);
    }
  }
}

TEST(OptimizerInFunction, KeepsAverages) {
  expect_equal_steps([] { return optimizers::SGD({.learning_rate = 0.01, .use_ema = true}); });
  expect_equal_steps([] {
    return optimizers::Adam({.learning_rate = 0.1, .use_ema = true, .ema_momentum = 0.7, .ema_overwrite_frequency = 3});
  });
  expect_equal_steps([] {
    return optimizers::Adam({.learning_rate = 0.1,
                             .use_ema = true,
                             .ema_momentum = 0.7,
                             .ema_overwrite_frequency = 2,
                             .loss_scale_factor = 8,
                             .gradient_accumulation_steps = 2});
  });
}

TEST(OptimizerInFunction, ConstraintsHoldInEveryStep) {
  const auto train = [&](bool traced) {
    set_seed(5);
    Sequential model({layers::Dense(2, {.kernel_constraint = constraints::NonNeg()})});
    optimizers::SGD optimizer({.learning_rate = 0.5, .gradient_accumulation_steps = 2});
    const auto step = [&](const Tensor& x) {
      GradientTape tape;
      const Tensor loss = reduce_sum(model(x));
      const std::vector<Variable> variables = model.trainable_variables();
      optimizer.apply_gradients(tape.gradient(loss, variables), variables);
    };
    auto compiled = function(step);
    for (int i = 0; i < 4; ++i) traced ? compiled(ones({2, 3})) : step(ones({2, 3}));
    return model.trainable_variables()[0].to_vector<float>();
  };
  EXPECT_EQ(train(true), train(false));
}

}  // namespace
}  // namespace capstan
