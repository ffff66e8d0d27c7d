#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::contains;
using testing::message_of;

std::vector<double> values(const Tensor& x) { return x.to_vector<double>(); }

TEST(TensorSpec, SaysWhatIsOpen) {
  EXPECT_EQ(TensorSpec({-1, 28}, float32, "images").to_string(), "float32[?, 28] images");
  EXPECT_EQ(TensorSpec({std::nullopt, 28}, int32).to_string(), "int32[?, 28]");
  EXPECT_EQ(TensorSpec(std::nullopt).to_string(), "float32[...]");
  EXPECT_EQ(TensorSpec({}).to_string(), "float32[]");
  EXPECT_TRUE(TensorSpec({-1, 28}).fits(float32, {5, 28}));
  EXPECT_FALSE(TensorSpec({-1, 28}).fits(float32, {5, 27}));
  EXPECT_FALSE(TensorSpec({-1, 28}).fits(float32, {28}));
  EXPECT_FALSE(TensorSpec({-1, 28}).fits(float64, {5, 28}));
  EXPECT_TRUE(TensorSpec(std::nullopt).fits(float32, {5, 27}));
  EXPECT_THROW(TensorSpec({-2}), ShapeError);
}

TEST(InputSignature, OneTraceServesEveryLength) {
  int runs = 0;
  auto f = function(
      [&](const Tensor& x) {
        ++runs;
        return reduce_mean(x * 2 + 1);
      },
      {.input_signature = {TensorSpec({-1, 2})}});
  for (std::int64_t n = 2; n < 40; ++n) {
    const Tensor x = reshape(range(2 * n), {n, 2});
    EXPECT_EQ(f(cast(x, float32)).item<double>(), static_cast<double>(2 * n)) << n;
  }
  EXPECT_EQ(tracing_count(f), 1);
  EXPECT_EQ(runs, 3);  // the second length, and one far away, show that the trace does not depend on it
}

TEST(InputSignature, ALengthThatNeverVariesIsTracedOnce) {
  int runs = 0;
  auto f = function(
      [&](const Tensor& x) {
        ++runs;
        return x + 1;
      },
      {.input_signature = {TensorSpec({-1})}});
  for (int i = 0; i < 3; ++i) f(ones({4}));
  EXPECT_EQ(runs, 1);
}

TEST(InputSignature, LengthsOfOneAndZeroHaveTracesOfTheirOwn) {
  auto f = function(
      [](const Tensor& x, const Tensor& y) {
        GradientTape tape;
        tape.watch(x);
        return tape.gradient(reduce_sum(x * y), x);
      },
      {.input_signature = {TensorSpec({-1}), TensorSpec({3})}});
  const Tensor y = constant({1.0, 2.0, 3.0});
  EXPECT_EQ(values(f(constant({5.0}), y)), (std::vector<double>{6}));
  EXPECT_EQ(values(f(constant({5.0, 6.0, 7.0}), y)), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(values(f(constant({5.0}), y)), (std::vector<double>{6}));
  EXPECT_EQ(tracing_count(f), 2);
  auto sum = function([](const Tensor& x) { return reduce_sum(x); }, {.input_signature = {TensorSpec({-1})}});
  EXPECT_EQ(sum(zeros({0})).item<double>(), 0);
  EXPECT_EQ(sum(ones({7})).item<double>(), 7);
}

TEST(InputSignature, TellsWhatDoesNotFit) {
  auto f = function([](const Tensor& x, const Tensor& y) { return x + y; },
                    {.name = "add", .input_signature = {TensorSpec({-1, 2}, float32, "x"), TensorSpec({2})}});
  const Tensor x = ones({3, 2}), y = ones({2});
  EXPECT_EQ(message_of([&] {
              f(ones({3, 4}), y);
            }),
            "add: tensor 0 is float32[3, 4], but its input_signature says float32[?, 2] x");
  EXPECT_EQ(message_of([&] { f(x, ones({2}, int32)); }),
            "add: tensor 1 is int32[2], but its input_signature says float32[2]\n"
            "  help: convert it with cast(x, dtype)");
  EXPECT_THROW(f(ones({2}), y), ShapeError);
  auto one = function([](const std::vector<Tensor>& list) { return list[0]; }, {.input_signature = {TensorSpec({-1})}});
  EXPECT_TRUE(contains(message_of([&] {
                         one(std::vector<Tensor>{y, y});
                       }),
                       "called with 2 tensors, but its input_signature has 1"));
  EXPECT_EQ(values(f(x, y)), std::vector<double>(6, 2));
}

TEST(InputSignature, FindsNumbersThatCppComputedFromALength) {
  auto scaled = function([](const Tensor& x) { return x / static_cast<double>(x.dim(0)); },
                         {.name = "scaled", .input_signature = {TensorSpec({-1})}});
  EXPECT_EQ(values(scaled(ones({4}))), std::vector<double>(4, 0.25));
  const std::string text = message_of([&] { scaled(ones({5})); });
  EXPECT_TRUE(contains(text,
                       "scaled: its trace depends on a length that its input_signature leaves open; op 0, "
                       "divide(float32[4], float32[]): operand 1 is the constant 4 and 5"))
      << text;
  EXPECT_TRUE(contains(text, "input_signature: float32[?]"));
  EXPECT_TRUE(contains(text, "help: take lengths from tensors"));
  EXPECT_THROW(scaled(ones({6})), TraceError);
  EXPECT_EQ(values(scaled(ones({4}))), std::vector<double>(4, 0.25));  // what was right stays usable

  auto shaped = function(
      [](const Tensor& x) {
        return reshape(x, {2, x.dim(0) / 2});
      },
      {.input_signature = {TensorSpec({-1})}});
  shaped(ones({4}));
  EXPECT_TRUE(contains(message_of([&] { shaped(ones({6})); }), "shape is [-1, 2] and [-1, 3]"));

  auto branches =
      function([](const Tensor& x) { return x.dim(0) > 4 ? exp(x) : log(x); }, {.input_signature = {TensorSpec({-1})}});
  branches(ones({4}));
  EXPECT_TRUE(contains(message_of([&] { branches(ones({5})); }), "op 0 is log(float32[4]) and exp(float32[5])"));

  auto counts =
      function([](const Tensor& x) { return std::pair(x + 1, x.dim(0)); }, {.input_signature = {TensorSpec({-1})}});
  EXPECT_EQ(counts(ones({4})).second, 4);
  EXPECT_TRUE(contains(message_of([&] { counts(ones({5})); }), "a number or text in its result"));

  auto open = function(
      [](const Tensor& x) {
        return x / cast(size(x), float32) + reshape(x, {-1, 1});
      },
      {.input_signature = {TensorSpec({-1})}});
  for (int n : {4, 5, 6}) EXPECT_EQ(open(ones({n})).shape(), (Shape{n, n}));
}

TEST(InputSignature, WhatTwoLengthsHaveInCommonByChanceIsFound) {
  const std::vector<TensorSpec> any{TensorSpec({-1})};
  auto half = function([](const Tensor& x) { return x * static_cast<double>(x.dim(0) / 2); }, {.input_signature = any});
  half(ones({4}));
  EXPECT_THROW(half(ones({5})), TraceError);
  auto limit = function([](const Tensor& x) { return x.dim(0) > 1000 ? exp(x) : x; }, {.input_signature = any});
  limit(ones({4}));
  EXPECT_THROW(limit(ones({5})), TraceError);
  auto parity = function([](const Tensor& x) { return x.dim(0) % 2 == 0 ? exp(x) : x; }, {.input_signature = any});
  for (int n : {4, 6, 8}) EXPECT_GT(values(parity(ones({n})))[0], 2);
  EXPECT_THROW(parity(ones({7})), TraceError);
  auto blocks = function([](const Tensor& x) { return reshape(x, {-1, 8}); }, {.input_signature = any});
  for (int n : {16, 32, 24, 80}) EXPECT_EQ(blocks(ones({n})).shape(), (Shape{n / 8, 8}));
}

TEST(InputSignature, WhatDependsOnTheRatioOfTwoLengthsIsFound) {
  auto f = function([](const Tensor& x) { return x * (static_cast<double>(x.dim(0)) / static_cast<double>(x.dim(1))); },
                    {.input_signature = {TensorSpec({-1, -1})}});
  EXPECT_EQ(values(f(ones({2, 4})))[0], 0.5);
  EXPECT_EQ(values(f(ones({4, 8})))[0], 0.5);
  EXPECT_EQ(values(f(ones({8, 16})))[0], 0.5);  // right, and so it is allowed
  EXPECT_THROW(f(ones({4, 4})), TraceError);
}

TEST(InputSignature, IndependentLengthsAreTriedOneByOne) {
  int runs = 0;
  auto f = function(
      [&](const Tensor& x, const Tensor& y) {
        ++runs;
        return matmul(x, y);
      },
      {.input_signature = {TensorSpec({-1, -1}), TensorSpec({-1, 3})}});
  for (const auto& [n, k] : std::vector<std::pair<int, int>>{{2, 3}, {4, 3}, {5, 3}, {5, 6}, {9, 8}, {3, 2}, {7, 7}}) {
    EXPECT_EQ(values(f(ones({n, k}), ones({k, 3}))), std::vector<double>(static_cast<std::size_t>(3 * n), k));
  }
  const int tried = runs;
  for (int n = 2; n < 12; ++n) EXPECT_EQ(f(ones({n, n + 1}), ones({n + 1, 3})).shape(), (Shape{n, 3}));
  EXPECT_LE(runs, tried + 1);
  EXPECT_LT(runs, 10);
  EXPECT_EQ(tracing_count(f), 1);
  // What is wrong with the arguments is said by the ops.
  EXPECT_TRUE(contains(message_of([&] { f(ones({4, 5}), ones({6, 3})); }), "inner dimensions differ, 5 and 6"));
}

TEST(InputSignature, ManyShapesKeepWorkingWhenOldProgramsAreDropped) {
  auto f = function([](const Tensor& x) { return reduce_sum(x); }, {.input_signature = {TensorSpec({-1})}});
  for (int round = 0; round < 2; ++round) {
    for (int n = 2; n < 150; ++n) EXPECT_EQ(f(ones({n})).item<double>(), n);
  }
  EXPECT_EQ(tracing_count(f), 1);
}

TEST(InputSignature, AnOpenRankHasATraceForEach) {
  auto f = function([](const Tensor& x) { return reduce_mean(x); }, {.input_signature = {TensorSpec(std::nullopt)}});
  for (int n : {2, 3, 4}) {
    EXPECT_EQ(f(ones({n})).item<double>(), 1);
    EXPECT_EQ(f(ones({n, n})).item<double>(), 1);
  }
  EXPECT_EQ(tracing_count(f), 2);
}

TEST(InputSignature, HoldsInCallsOfOtherFunctions) {
  int runs = 0;
  auto inner = function([&](const Tensor& x) {
    ++runs;
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(reduce_mean(square(x)), x);
  });
  auto outer = function([&](const Tensor& x) { return inner(x) * 2; }, {.input_signature = {TensorSpec({-1})}});
  for (int n : {4, 5, 8, 16}) EXPECT_EQ(values(outer(ones({n})))[0], 4.0f / static_cast<float>(n));
  EXPECT_EQ(tracing_count(outer), 1);
  EXPECT_LT(runs, 5);
}

TEST(InputSignature, ProgramsHoldNumbersWhereTheTraceHoldsCounts) {
  auto f = function(
      [](const Tensor& x) {
        GradientTape tape;
        tape.watch(x);
        return tape.gradient(reduce_mean(exp(x)), x);
      },
      {.input_signature = {TensorSpec({-1})}});
  for (int n : {4, 5, 16}) f(ones({n}));
  const std::string text = graph_text(f);
  EXPECT_TRUE(contains(text, "broadcast_like(0.0625:float32")) << text;
  EXPECT_FALSE(contains(text, "count_along")) << text;
  // Of the mean's operand only the shape is needed, so nothing computes it.
  EXPECT_FALSE(contains(text, "reduce_mean")) << text;
}

TEST(InputSignature, GradientsOfACallAreThoseOfItsShape) {
  auto f = function([](const Tensor& x) { return reduce_mean(square(x)); }, {.input_signature = {TensorSpec({-1})}});
  for (int n : {4, 5, 8}) {
    const Tensor x = ones({n});
    GradientTape tape;
    tape.watch(x);
    EXPECT_EQ(values(tape.gradient(f(x), x))[0], 2.0f / static_cast<float>(n));
  }
}

// Steps on batches of other lengths: equal losses and weights, in every bit.
template <class MakeLayers>
void expect_equal_training(const MakeLayers& make_layers, const Shape& features, const FunctionOptions& options,
                           int traces) {
  const auto train = [&](bool traced) {
    set_seed(3);
    Sequential model(make_layers());
    optimizers::Adam optimizer({.learning_rate = 0.1, .clipnorm = 1.0});
    metrics::Mean mean;
    metrics::SparseCategoricalAccuracy accuracy;
    const losses::SparseCategoricalCrossentropy loss_of({.from_logits = true});
    const auto step = [&](const Tensor& x, const Tensor& y) {
      GradientTape tape;
      const Tensor logits = model(x, {.training = true});
      const Tensor loss = loss_of(y, logits);
      const std::vector<Variable> variables = model.trainable_variables();
      optimizer.apply_gradients(tape.gradient(loss, variables), variables);
      mean.update_state(loss);
      accuracy.update_state(y, logits);
      return loss;
    };
    auto compiled = function(step, options);
    std::vector<double> seen;
    for (const std::int64_t n : {6, 6, 4, 7, 6, 3, 16}) {
      Shape shape{n};
      for (const std::int64_t length : features) shape.push_back(length);
      const Tensor x = random::normal(shape, 0, 1, float32, static_cast<std::uint64_t>(n));
      const Tensor y = cast(range(n) % 3, int32);
      seen.push_back((traced ? compiled(x, y) : step(x, y)).template item<double>());
    }
    for (const Variable& variable : model.weights()) {
      for (const double value : variable.template to_vector<double>()) seen.push_back(value);
    }
    seen.push_back(mean.result().template item<double>());
    seen.push_back(accuracy.result().template item<double>());
    if (traced) {
      EXPECT_EQ(tracing_count(compiled), traces);
    }
    return seen;
  };
  EXPECT_EQ(train(true), train(false));
}

std::vector<Layer> perceptron() {
  return {layers::Flatten(), layers::Dense(8, {.activation = "relu"}), layers::BatchNormalization(), layers::Dense(3)};
}
std::vector<Layer> convolutions() {
  return {layers::Conv2D(4, {3, 3}, {.padding = "same"}),
          layers::Activation("relu"),
          layers::BatchNormalization(),
          layers::MaxPooling2D({2, 2}),
          layers::Flatten(),
          layers::Dense(3)};
}

TEST(InputSignature, TrainsAsWithoutIt) {
  expect_equal_training(perceptron, {2, 2}, {.input_signature = {TensorSpec({-1, 2, 2}), TensorSpec({-1}, int32)}}, 1);
  expect_equal_training(convolutions, {4, 4, 1},
                        {.input_signature = {TensorSpec({-1, 4, 4, 1}), TensorSpec({-1}, int32)}}, 1);
}

// Probabilities that remember their logits, which the loss takes instead.
TEST(Function, TrainsModelsThatEndInProbabilities) {
  const auto train = [](bool traced, const char* activation) {
    set_seed(4);
    Sequential model(
        {layers::Dense(6, {.activation = "tanh"}), layers::Dropout(0.3), layers::Dense(3, {.activation = activation})});
    optimizers::Adam optimizer({.learning_rate = 0.1});
    metrics::CategoricalAccuracy accuracy;
    const auto step = [&](const Tensor& x, const Tensor& y) {
      GradientTape tape;
      const Tensor predictions = model(x, {.training = true});
      const Tensor loss = std::string(activation) == "softmax" ? losses::categorical_crossentropy(y, predictions)
                                                               : losses::binary_crossentropy(y, predictions);
      const std::vector<Variable> variables = model.trainable_variables();
      optimizer.apply_gradients(tape.gradient(loss, variables), variables);
      accuracy.update_state(y, predictions);
      return std::pair(loss, predictions);
    };
    auto compiled = function(step, {.input_signature = {TensorSpec({-1, 4}), TensorSpec({-1, 3})}});
    std::vector<double> seen;
    for (const std::int64_t n : {6, 4, 7, 5}) {
      const Tensor x = random::normal({n, 4}, 0, 1, float32, static_cast<std::uint64_t>(n));
      const Tensor y = one_hot(range(n) % 3, 3);
      const auto [loss, predictions] = traced ? compiled(x, y) : step(x, y);
      for (const double value : values(loss)) seen.push_back(value);
      for (const double value : values(predictions)) seen.push_back(value);
    }
    seen.push_back(accuracy.result().item<double>());
    return seen;
  };
  for (const char* activation : {"softmax", "sigmoid"}) EXPECT_EQ(train(true, activation), train(false, activation));
}

TEST(ReduceRetracing, TracesTwiceForManyLengths) {
  int runs = 0;
  auto f = function(
      [&](const Tensor& x) {
        ++runs;
        return reduce_sum(x * x);
      },
      {.reduce_retracing = true});
  for (int n : {3, 5, 7, 9}) EXPECT_EQ(f(ones({n})).item<double>(), n);
  EXPECT_EQ(tracing_count(f), 2);
  EXPECT_LE(runs, 3);
  EXPECT_EQ(retrace_reason(f), "argument 0 is float32[5], not float32[3] as before");
  for (int n : {2, 4}) EXPECT_EQ(f(ones({n, 3})).item<double>(), 3 * n);
  EXPECT_EQ(tracing_count(f), 4);
  // 6, 4, and 7, which is not as far from 6 as a multiple of 2.
  expect_equal_training(perceptron, {2, 2}, {.reduce_retracing = true}, 3);
}

TEST(ReduceRetracing, WhatDependsOnItsLengthHasATraceForEach) {
  auto f = function([](const Tensor& x) { return x / static_cast<double>(x.dim(0)); }, {.reduce_retracing = true});
  for (int n : {4, 5, 8}) EXPECT_EQ(values(f(ones({n})))[0], static_cast<float>(1.0 / n));
  for (int n : {4, 5, 8}) EXPECT_EQ(values(f(ones({n})))[0], static_cast<float>(1.0 / n));
  EXPECT_EQ(tracing_count(f), 3);
  EXPECT_TRUE(contains(retrace_reason(f), "each shape needs a trace of its own: op 0, divide")) << retrace_reason(f);
}

TEST(ConcreteFunction, IsOneTraceThatCanBeCalled) {
  int runs = 0;
  auto power = function(
      [&](const Tensor& x, int n) {
        ++runs;
        Tensor y = x;
        for (int i = 1; i < n; ++i) y = y * x;
        return std::pair(y, reduce_sum(y));
      },
      {.name = "power"});
  auto cube = power.get_concrete(TensorSpec({2}, float32, "x"), 3);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(values(cube(constant({2.0, 3.0}), 3).first), (std::vector<double>{8, 27}));
  EXPECT_EQ(values(power(constant({2.0, 3.0}), 3).first), (std::vector<double>{8, 27}));
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(tracing_count(power), 1);
  EXPECT_TRUE(contains(cube.graph_text(), "multiply"));
  EXPECT_TRUE(contains(cube.graph_dot(), "digraph"));
  EXPECT_TRUE(contains(cube.signature(), "power(float32[2] x, 3)")) << cube.signature();
  EXPECT_TRUE(contains(cube.signature(), "-> (float32[2], float32[])")) << cube.signature();
  EXPECT_EQ(message_of([&] {
              cube(constant({1.0, 2.0, 3.0}), 3);
            }),
            "power: argument 0 is float32[3], but this concrete function was made for float32[2]\n"
            "  help: call the function itself, or get_concrete() for these arguments");
  EXPECT_THROW(cube(constant({1, 2}), 3), ValueError);
  EXPECT_THROW(cube(constant({1.0, 2.0}), 4), ValueError);
  EXPECT_EQ(runs, 1);
}

TEST(ConcreteFunction, CanHaveOpenLengths) {
  const Variable w({{1.0f, 2.0f}, {3.0f, 4.0f}});
  auto f = function([&](const Tensor& x, const Variable& v) { return matmul(x, v); });
  auto open = f.get_concrete(TensorSpec({-1, 2}, float32, "rows"), w);
  EXPECT_EQ(open.signature(), "function(float32[?, 2] rows, variable 0 float32[2, 2]) -> (float32[?, 2])");
  for (int n : {1, 2, 3, 4}) EXPECT_EQ(open(ones({n, 2}), w).shape(), (Shape{n, 2}));
  EXPECT_THROW(open(ones({4, 3}), w), ValueError);
  EXPECT_THROW(f.get_concrete(TensorSpec(std::nullopt), w), ValueError);
  auto declared = function([](const Tensor& x) { return x + 1; },
                           {.name = "next", .input_signature = {TensorSpec({-1}, float32, "x")}});
  EXPECT_EQ(declared.get_concrete(ones({3})).signature(), "next(float32[?] x) -> (float32[?])");
}

TEST(Signature, ShowsNumbersAsTheyAreWritten) {
  auto f = function([](const Tensor& x, auto number) { return x * static_cast<double>(number); });
  const Tensor x = ones({2});
  f(x, 1.5);
  f(x, 2.5);
  EXPECT_EQ(retrace_reason(f), "argument 1 is 2.5, not 1.5 as before");
  f(x, 3.0);
  EXPECT_EQ(retrace_reason(f), "argument 1 is 3.0, not 2.5 as before");
  EXPECT_EQ(f.get_concrete(x, 3).signature(), "function(float32[2], 3) -> (float32[2])");
  EXPECT_EQ(f.get_concrete(x, -3).signature(), "function(float32[2], -3) -> (float32[2])");
  EXPECT_EQ(f.get_concrete(x, 0.1f).signature(), "function(float32[2], 0.1) -> (float32[2])");
  EXPECT_EQ(f.get_concrete(x, 1e300).signature(), "function(float32[2], 1e+300) -> (float32[2])");
  EXPECT_EQ(f.get_concrete(x, true).signature(), "function(float32[2], true) -> (float32[2])");
  EXPECT_EQ(f.get_concrete(x, std::uint8_t{200}).signature(), "function(float32[2], 200) -> (float32[2])");
  EXPECT_EQ(f.get_concrete(x, ~std::uint64_t{0}).signature(),
            "function(float32[2], 18446744073709551615) -> (float32[2])");
}

// No bit of a number is left out of what a call is traced for.
TEST(Signature, TellsLongDoublesApart) {
  auto f = function([](const Tensor& x, long double number) { return x * static_cast<double>(number); });
  EXPECT_EQ(f(constant(1.0), 1.0L).item<double>(), 1);
  EXPECT_EQ(f(constant(1.0), 2.0L).item<double>(), 2);
  EXPECT_EQ(f(constant(1.0), 4.0L).item<double>(), 4);
  EXPECT_EQ(tracing_count(f), 3);
}

}  // namespace
}  // namespace capstan
