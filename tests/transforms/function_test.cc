#include "capstan/function.h"

#include <gtest/gtest.h>

#include <atomic>
#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

std::vector<double> values(const Tensor& x) { return x.to_vector<double>(); }

TEST(Function, RunsItsBodyOncePerSignature) {
  int runs = 0;
  auto twice = function([&](const Tensor& x) {
    ++runs;
    return x + x;
  });
  EXPECT_EQ(values(twice(constant({1.0, 2.0}))), (std::vector<double>{2, 4}));
  EXPECT_EQ(values(twice(constant({3.0, 4.0}))), (std::vector<double>{6, 8}));
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(values(twice(constant({3.0}))), (std::vector<double>{6}));
  EXPECT_EQ(retrace_reason(twice), "argument 0 is float32[1], not float32[2] as before");
  twice(constant({1, 2}));
  EXPECT_EQ(retrace_reason(twice), "argument 0 is int32[2], not float32[1] as before");
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(tracing_count(twice), 3);
  twice(constant({5.0, 6.0}));
  EXPECT_EQ(runs, 3);
}

TEST(Function, PlainArgumentsJoinTheSignature) {
  int runs = 0;
  auto power = function([&](const Tensor& x, int n, const std::string& name) {
    ++runs;
    Tensor y = x;
    for (int i = 1; i < n; ++i) y = y * x;
    return name == "negative" ? -y : y;
  });
  EXPECT_EQ(power(constant(2.0), 3, "positive").item<double>(), 8);
  EXPECT_EQ(power(constant(3.0), 3, "positive").item<double>(), 27);
  EXPECT_EQ(power(constant(2.0), 4, "positive").item<double>(), 16);
  EXPECT_EQ(power(constant(2.0), 4, "negative").item<double>(), -16);
  EXPECT_EQ(runs, 3);
}

TEST(Function, TakesAndReturnsStructures) {
  using Named = std::map<std::string, Tensor>;
  auto f = function([](const std::vector<Tensor>& list, const Named& named) {
    return std::pair(Named{{"sum", list[0] + list[1]}}, std::vector<Tensor>{named.at("a") * 2, list[0]});
  });
  const auto [sums, rest] = f(std::vector<Tensor>{constant(1.0), constant(2.0)}, Named{{"a", constant(3.0)}});
  EXPECT_EQ(sums.at("sum").item<double>(), 3);
  EXPECT_EQ(rest[0].item<double>(), 6);
  EXPECT_EQ(rest[1].item<double>(), 1);
  const auto [other, _] = f(std::vector<Tensor>{constant(5.0), constant(2.0)}, Named{{"a", constant(3.0)}});
  EXPECT_EQ(other.at("sum").item<double>(), 7);
  EXPECT_EQ(tracing_count(f), 1);
}

TEST(Function, VariablesAreCapturedByReference) {
  const Variable w(2.0f);
  auto f = function([&](const Tensor& x) { return w * x; });
  EXPECT_EQ(f(constant(3.0)).item<double>(), 6);
  w.assign(5.0);
  EXPECT_EQ(f(constant(3.0)).item<double>(), 15);
  EXPECT_EQ(tracing_count(f), 1);
}

TEST(Function, ReadsSeeTheWritesBeforeThem) {
  const Variable v(1.0f);
  auto f = function([&](const Tensor& x) {
    const Tensor before = v.value();
    v.assign_add(x);
    const Tensor between = v.value();
    v.assign(between * 10);
    return std::vector<Tensor>{before, between, v.value()};
  });
  for (const double start : {1.0, 2.0}) {
    v.assign(start);
    const std::vector<Tensor> seen = f(constant(3.0));
    EXPECT_EQ(seen[0].item<double>(), start);
    EXPECT_EQ(seen[1].item<double>(), start + 3);
    EXPECT_EQ(seen[2].item<double>(), 10 * (start + 3));
    EXPECT_EQ(v.item<double>(), 10 * (start + 3));
  }
}

TEST(Function, AVariableArgumentIsWhicheverIsGiven) {
  const Variable a(1.0f), b(2.0f);
  int runs = 0;
  auto f = function([&](const Variable& x, const Variable& y) {
    ++runs;
    x.assign_add(1.0);
    return x + y;
  });
  EXPECT_EQ(f(a, b).item<double>(), 4);
  EXPECT_EQ(f(b, a).item<double>(), 5);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(f(a, a).item<double>(), 6);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(a.item<double>(), 3);
  EXPECT_EQ(b.item<double>(), 3);
}

TEST(Function, AFailureChangesNoVariable) {
  const Variable v(1.0f);
  auto f = function([&](const Tensor& x, const Tensor& index) {
    v.assign_add(x);
    return gather(x, index);
  });
  const Tensor x = constant({1.0, 2.0});
  const Variable pair({1.0f, 2.0f});
  auto g = function([&](const Tensor& index) {
    pair.assign_add(x);
    return gather(pair.value(), index);
  });
  EXPECT_EQ(values(g(constant({1}))), (std::vector<double>{4}));
  EXPECT_THROW(g(constant({7})), IndexError);
  EXPECT_EQ(pair.to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ(values(g(constant({0}))), (std::vector<double>{3}));
  EXPECT_THROW(f(x, constant({0})), ShapeError);  // while it is traced
  EXPECT_EQ(v.item<double>(), 1);
  EXPECT_FALSE(inside_function());
}

TEST(Function, GradientsInside) {
  auto slope = function([](const Tensor& x) {
    GradientTape outer;
    outer.watch(x);
    Tensor first;
    {
      GradientTape inner;
      inner.watch(x);
      first = inner.gradient(x * x * x, x);
    }
    return std::pair(first, outer.gradient(first, x));
  });
  const auto [first, second] = slope(constant({2.0, 3.0}));
  EXPECT_EQ(values(first), (std::vector<double>{12, 27}));
  EXPECT_EQ(values(second), (std::vector<double>{12, 18}));
}

TEST(Function, GradientsOfAFunction) {
  const Variable w(4.0f);
  auto f = function([&](const Tensor& x, const Tensor& unused) { return w * x * x + stop_gradient(unused); });
  const Tensor x = constant(3.0);
  const Tensor unused = constant(1.0);
  for (int i = 0; i < 2; ++i) {
    GradientTape outer;
    outer.watch(x);
    GradientTape tape;
    tape.watch(x);
    tape.watch(unused);
    const Tensor y = f(x, unused);
    EXPECT_EQ(y.item<double>(), 37);
    const auto [dx, dw, none] = tape.gradient(y, std::tuple(x, w, unused));
    EXPECT_EQ(dx.item<double>(), 24);
    EXPECT_EQ(dw.item<double>(), 9);
    EXPECT_FALSE(none.has_value());
    const auto [dxx, dxw] = outer.gradient(dx, std::tuple(x, w));
    EXPECT_EQ(dxx.item<double>(), 8);
    EXPECT_EQ(dxw.item<double>(), 6);
  }
  EXPECT_EQ(tracing_count(f), 1);
}

TEST(Function, OneTensorAsTwoArgumentsHasTheSumOfTheirGradients) {
  auto f = function([](const Tensor& a, const Tensor& b) { return a * a * b; });
  const Tensor x = constant(3.0);
  const Variable v(3.0f);
  GradientTape outer;
  outer.watch(x);
  GradientTape tape;
  tape.watch(x);
  const Tensor slope = tape.gradient(f(x, x), x);
  EXPECT_EQ(slope.item<double>(), 27);
  EXPECT_EQ(outer.gradient(slope, x).item<double>(), 18);
  GradientTape another;
  EXPECT_EQ(another.gradient(f(v, v), v).item<double>(), 27);
}

TEST(Function, DerivativesInsideHaveDerivativesOutside) {
  // The first derivative is a node of the trace, the second a rule of that node.
  auto slope = function([](const Tensor& x, const Tensor& y) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(tanh(x) * y + pow(x, y) + leaky_relu(x - y, 0.3), x);
  });
  const Tensor x = constant({0.5, 1.5}, float64);
  const Tensor y = constant({2.0, 3.0}, float64);
  const auto second = [&](const auto& first) {
    GradientTape tape;
    tape.watch(std::pair(x, y));
    const auto [dx, dy] = tape.gradient(first(), std::pair(x, y));
    std::vector<double> all = values(dx);
    for (const double value : values(dy)) all.push_back(value);
    return all;
  };
  const std::vector<double> traced = second([&] { return slope(x, y); });
  const std::vector<double> eager = second([&] {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(tanh(x) * y + pow(x, y) + leaky_relu(x - y, 0.3), x);
  });
  EXPECT_NE(graph_text(slope).find("derivative("), std::string::npos);
  ASSERT_EQ(traced.size(), eager.size());
  for (std::size_t i = 0; i < traced.size(); ++i) EXPECT_NEAR(traced[i], eager[i], 1e-12);
}

TEST(Function, OnlyOneOfTwoResultsCanHaveAGradient) {
  auto f = function([](const Tensor& a, const Tensor& b) { return std::pair(a * 2, b * 3); });
  const Tensor a = constant(1.0), b = constant(1.0);
  GradientTape tape;
  tape.watch(std::pair(a, b));
  const auto [first, second] = f(a, b);
  const auto [da, db] = tape.gradient(first, std::pair(a, b));
  EXPECT_EQ(da.item<double>(), 2);
  EXPECT_EQ(db.item<double>(), 0);  // zero, as the second result got no gradient
}

TEST(Function, DrawsAreFreshAtEveryCallAndTheSameForItsGradient) {
  auto f = function([](const Tensor& x) { return x * random::normal({4}); });
  const Tensor x = ones({4});
  const std::vector<double> first = values(f(x));
  EXPECT_NE(first, values(f(x)));
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  EXPECT_EQ(values(tape.gradient(y, x)), values(y));
  auto drop = function([](const Tensor& t) { return dropout(t, 0.5); });
  const Tensor many = ones({1000});
  const std::vector<double> once = values(drop(many));
  EXPECT_NE(once, values(drop(many)));
  EXPECT_NEAR(static_cast<double>(std::count(once.begin(), once.end(), 2.0)), 500, 100);
}

TEST(Function, SameSeedSameDraws) {
  auto f = function([] { return random::uniform({3}); });
  f();
  set_seed(7);
  const std::vector<double> first = values(f());
  set_seed(7);
  EXPECT_EQ(values(f()), first);
}

TEST(Function, HostValuesAreAskedForAtEveryCall) {
  double number = 1;
  auto f = function([&](const Tensor& x) { return x * host_value([&] { return number++; }); });
  EXPECT_EQ(f(constant(10.0)).item<double>(), 10);
  EXPECT_EQ(f(constant(10.0)).item<double>(), 20);
  EXPECT_EQ(number, 3);
}

TEST(Function, FunctionsCallFunctions) {
  const Variable count(0.0f);
  auto inner = function([&](const Tensor& x) {
    count.assign_add(1.0);
    return x * x;
  });
  auto outer = function([&](const Tensor& x) { return inner(x) + inner(x + 1); });
  EXPECT_EQ(outer(constant(2.0)).item<double>(), 13);
  EXPECT_EQ(outer(constant(3.0)).item<double>(), 25);
  EXPECT_EQ(count.item<double>(), 4);
  EXPECT_EQ(tracing_count(inner), 1);
}

TEST(Function, HostValuesOfAnInnerFunctionAreAskedForAtEveryCallOfTheOuter) {
  double number = 1;
  const Variable w(1.0f);
  const optimizers::SGD optimizer({.learning_rate = schedules::InverseTimeDecay(1.0, 1, 1.0)});
  auto inner = function([&](const Tensor& x) {
    GradientTape tape;
    const Tensor y = w * x;
    optimizer.apply_gradients(std::vector<Tensor>{tape.gradient(y, w)}, std::vector<Variable>{w});
    return x * host_value([&] { return number++; });
  });
  auto outer = function([&](const Tensor& x) { return inner(x) + 1; });
  EXPECT_EQ(outer(constant(10.0)).item<double>(), 11);
  EXPECT_EQ(outer(constant(10.0)).item<double>(), 21);
  EXPECT_EQ(inner(constant(10.0)).item<double>(), 30);
  EXPECT_EQ(optimizer.iterations(), 3);
  EXPECT_NEAR(w.item<double>(), 1 - 10 * (1 + 1 / 2.0 + 1 / 3.0), 1e-5);
}

// A call with one pair and a call with two tensors have results of different types.
struct SumOrBoth {
  Tensor operator()(const std::pair<Tensor, Tensor>& pair) const { return pair.first + pair.second; }
  std::pair<Tensor, Tensor> operator()(const Tensor& a, const Tensor& b) const { return {a, b}; }
};

TEST(Function, TellsTypesOfArgumentsApart) {
  auto scale = function([](const Tensor& x, auto factor) { return x * factor; });
  EXPECT_EQ(scale(constant(2.0), 1.0f).item<double>(), 2);
  EXPECT_EQ(scale(constant(2.0), 0x3f800000).item<double>(), 2.0 * 0x3f800000);  // an integer with the bits of 1.0f
  EXPECT_EQ(retrace_reason(scale), "the arguments have other types than before");
  auto f = function(SumOrBoth());
  const Tensor a = constant(1.0), b = constant(2.0);
  EXPECT_EQ(f(std::pair(a, b)).item<double>(), 3);
  EXPECT_EQ(f(a, b).second.item<double>(), 2);
}

TEST(Function, CallsItselfWithOtherNumbers) {
  std::function<Tensor(const Tensor&, int)> call;
  auto factorial =
      function([&](const Tensor& x, int n) -> Tensor { return n == 0 ? ones({}) : x * call(x - 1, n - 1); });
  call = [&](const Tensor& x, int n) { return factorial(x, n); };
  EXPECT_EQ(factorial(constant(5.0), 5).item<double>(), 120);
}

TEST(Function, WhatNobodyUsesIsRemovedAndWhatIsEqualIsMerged) {
  auto f = function([](const Tensor& x) {
    exp(x);  // unused
    return (x + 1) * (x + 1);
  });
  f(constant({1.0, 2.0}));
  EXPECT_EQ(graph_text(f),
            "%0 = argument float32[2]\n"
            "%3 = add(%0, 1:float32) float32[2]\n"
            "%6 = multiply(%3, %3) float32[2]\n"
            "return %6\n");
  EXPECT_NE(graph_dot(f).find("multiply"), std::string::npos);
}

TEST(Function, WhatItCannotDoIsSaidAndLeavesItUsable) {
  auto reads = function([](const Tensor& x) { return x.item<float>() > 0 ? x : -x; });
  EXPECT_NE(testing::message_of([&] {
              reads(constant(1.0));
            }).find("item: float32[] stands for a value of the traced function"),
            std::string::npos);
  Tensor leaked;
  auto leaks = function([&](const Tensor& x) {
    leaked = x * 2;
    return x;
  });
  leaks(constant(1.0));
  EXPECT_NE(testing::message_of([&] { leaked + 1; }).find("is a value of the traced function"), std::string::npos);
  EXPECT_NE(testing::message_of([&] { leaked.to_vector<float>(); }).find("to_vector: float32[]"), std::string::npos);
  auto other = function([&](const Tensor& x) { return x + leaked; });
  EXPECT_NE(testing::message_of([&] { other(constant(1.0)); }).find("whose trace has ended"), std::string::npos);
  std::vector<Variable> kept;
  auto makes = function([&](const Tensor& x, int) { return kept.emplace_back(1.0f) * x; });
  makes(constant(1.0), 1);
  EXPECT_NE(testing::message_of([&] { makes(constant(1.0), 2); }).find("variables can be made in the first trace only"),
            std::string::npos);
  EXPECT_EQ(makes(constant(3.0), 1).item<double>(), 3);
  // Outside of a function every call would make another one.
  auto drops = function([](const Tensor& x) { return Variable(1.0f, {.name = "local"}) * x; });
  EXPECT_NE(testing::message_of([&] { drops(constant(1.0)); }).find("the variable \"local\" was made here and is gone"),
            std::string::npos);
  EXPECT_THROW(reads(Tensor()), ValueError);
  EXPECT_THROW(graph_text(reads), ValueError);
  auto keys = function([](const Tensor& x) { return x * static_cast<double>(next_seed()); });
  EXPECT_THROW(keys(constant(1.0)), TraceError);
}

TEST(Function, CanRunEagerly) {
  int runs = 0;
  auto f = function([&](const Tensor& x) {
    ++runs;
    return x;
  });
  run_functions_eagerly(true);
  f(constant(1.0));
  f(constant(1.0));
  run_functions_eagerly(false);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(tracing_count(f), 0);
}

TEST(Function, ThreadsShareItsTraces) {
  const Variable w(3.0f);
  std::atomic<int> runs{0};
  auto f = function([&](const Tensor& x) {
    ++runs;
    return w * x;
  });
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) right += f(constant(t + 0.5)).item<double>() == 3 * (t + 0.5);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 200);
  EXPECT_EQ(runs, 1);
}

// The same training in a function and without: equal losses and weights, in every bit.
template <class Make>
void expect_equal_training(const Make& make_optimizer) {
  const auto train = [&](bool traced) {
    set_seed(3);
    Sequential model({layers::Dense(8, {.activation = "relu"}), layers::BatchNormalization(), layers::Dense(3)});
    auto optimizer = make_optimizer();
    metrics::Mean mean;
    const auto step = [&](const Tensor& x, const Tensor& y) {
      GradientTape tape;
      const Tensor loss =
          reduce_mean(losses::sparse_categorical_crossentropy(y, model(x, {.training = true}), {.from_logits = true}));
      const std::vector<Variable> variables = model.trainable_variables();
      optimizer.apply_gradients(tape.gradient(loss, variables), variables);
      mean.update_state(loss);
      return loss;
    };
    auto compiled = function(step);
    std::vector<double> seen;
    for (int i = 0; i < 5; ++i) {
      const Tensor x = random::normal({6, 4}, 0, 1, float32, static_cast<std::uint64_t>(i));
      const Tensor y = constant({0, 1, 2, 0, 1, 2});
      seen.push_back((traced ? compiled(x, y) : step(x, y)).template item<double>());
    }
    for (const Variable& variable : model.weights()) {
      for (const double value : variable.to_vector<double>()) seen.push_back(value);
    }
    seen.push_back(mean.result().template item<double>());
    EXPECT_EQ(optimizer.iterations(), 5);
    if (traced) {
      EXPECT_EQ(tracing_count(compiled), 1);
    }
    return seen;
  };
  EXPECT_EQ(train(true), train(false));
}

// The gradient of a call is a program that is made once.
TEST(Function, GradientsOfACallAreThoseOfItsBody) {
  const Variable w(constant({{0.5, -1.0}, {2.0, 0.25}}));
  const auto f = [&](const Tensor& x) { return tanh(matmul(x, w)) + x; };
  auto traced = function(f);
  for (const double scale : {1.0, -0.5, 3.0}) {
    const Tensor x = constant({{0.1, 0.2}, {0.3, -0.4}}) * scale;
    const auto gradients = [&](auto& g) -> std::vector<Tensor> {
      GradientTape tape({.persistent = true});
      tape.watch(x);
      const Tensor z = g(x);
      const Tensor y = z * z;
      return {tape.gradient(y, x), tape.gradient(y, w)};
    };
    const std::vector<Tensor> actual = gradients(traced);
    const std::vector<Tensor> expected = gradients(f);
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(testing::same_bits(actual[static_cast<std::size_t>(i)], expected[static_cast<std::size_t>(i)]));
    }
    w.assign_sub(constant({{0.1, 0.1}, {0.1, 0.1}}));
  }
  EXPECT_EQ(tracing_count(traced), 1);
}

TEST(Function, GradientsOfACallKeepFewRows) {
  const Variable table(constant({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}));
  auto traced = function([&](const Tensor& rows) { return gather(table, rows) * 2.0; });
  GradientTape tape;
  const Tensor y = traced(constant({2, 0, 2}));
  const Tensor gradient = tape.gradient(y, table);
  EXPECT_TRUE(gradient.is_row_sparse());
  EXPECT_EQ(gradient.to_dense().to_vector<double>(), (std::vector<double>{2, 2, 0, 0, 4, 4}));
}

TEST(Function, TrainsAsWithoutIt) {
  expect_equal_training([] { return optimizers::SGD({.learning_rate = 0.1}); });
  expect_equal_training([] { return optimizers::SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}); });
  expect_equal_training([] { return optimizers::Adam({.learning_rate = 0.1}); });
  expect_equal_training([] { return optimizers::Adam({.learning_rate = 0.1, .amsgrad = true}); });
  expect_equal_training([] { return optimizers::AdamW({.learning_rate = 0.1}); });
  expect_equal_training([] { return optimizers::Adam({.learning_rate = 0.1, .clipnorm = 0.5}); });
  expect_equal_training([] { return optimizers::Adam({.learning_rate = schedules::InverseTimeDecay(0.1, 1, 0.5)}); });
}

}  // namespace
}  // namespace capstan
