// Functions that are run again for their gradients: what they keep, what the second run sees, every order and nesting.
#include <cmath>
#include <cstdio>

#include "capstan/recompute.h"

#include "tests/transforms/control_cases.h"

namespace capstan::testing {
namespace {

using Inputs = std::vector<Tensor>;

Tensor block_of(const Tensor& x, const Tensor& w) { return tanh(x * w + sin(x)) * x; }

TEST(RecomputeGrad, IsTheFunctionInEveryOrderAndPlace) {
  const Inputs in = {vector64({0.5, -1.25, 2.0}), vector64({1.5, 0.75, -0.5})};
  const auto plain = [](const Inputs& x) { return block_of(block_of(x[0], x[1]), x[1]); };
  const auto wrapped = recompute_grad(block_of);
  const auto recomputed = [wrapped](const Inputs& x) { return wrapped(wrapped(x[0], x[1]), x[1]); };
  expect_close(orders(recomputed, in), orders(plain, in), "recomputed");
  expect_same_everywhere(recomputed, in);
  const auto nested = recompute_grad([wrapped](const Tensor& x, const Tensor& w) { return wrapped(wrapped(x, w), w); });
  const auto deep = [nested](const Inputs& x) { return nested(x[0], x[1]); };
  expect_close(orders(deep, in), orders(plain, in), "nested");
  expect_same_everywhere(deep, in);
  // The same tensor twice.
  const auto twice = [wrapped](const Inputs& x) { return wrapped(x[0], x[0]); };
  expect_close(orders(twice, in), orders([](const Inputs& x) { return block_of(x[0], x[0]); }, in), "twice");
  expect_same_everywhere(twice, in);
}

TEST(RecomputeGrad, ThirdOrder) {
  const auto third = [](auto&& f, const Tensor& x) {
    GradientTape a, b, c;
    a.watch(x);
    b.watch(x);
    c.watch(x);
    return a.gradient(b.gradient(c.gradient(f(x), x), x), x);
  };
  const Tensor x = vector64({0.5, -1.0, 0.25});
  const auto plain = [](const Tensor& in) { return reduce_prod(square(tanh(in))); };
  const auto recomputed = recompute_grad(plain);
  const std::vector<double> want = numbers(third(plain, x));
  expect_close(numbers(third(recomputed, x)), want, "eager");
  auto inside = function([&](const Tensor& in) { return third(recomputed, in); });
  expect_close(numbers(inside(x)), want, "in a function");
}

TEST(RecomputeGrad, RunsOncePerDirection) {
  int runs = 0;
  const auto f = recompute_grad([&](const Tensor& x) {
    ++runs;
    return x * x;
  });
  const Tensor x = constant(3.0, float64);
  EXPECT_EQ(f(x).item<double>(), 9);
  EXPECT_EQ(runs, 1);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(tape.gradient(y, x).item<double>(), 6);
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(f.wrapped()(x).item<double>(), 9);
}

TEST(RecomputeGrad, StructuresPlainValuesAndIntegers) {
  struct Options {
    double scale;
  };
  const auto f = recompute_grad([](const std::vector<Tensor>& in, int power, const Options& options) {
    return std::pair(pow(in[0], power) * options.scale, cast(in[1], float64) * in[0]);
  });
  const Tensor x = vector64({1.0, 2.0}), n = constant({3, 4});
  GradientTape tape;
  tape.watch(x);
  const auto [a, b] = f(std::vector{x, n}, 3, Options{0.5});
  const auto [dx, dn] = tape.gradient({a, b}, std::pair(x, n));
  EXPECT_EQ(numbers(dx), (std::vector<double>{4.5, 10}));
  EXPECT_FALSE(dn.has_value());
}

TEST(RecomputeGrad, NothingToDifferentiate) {
  const auto f = recompute_grad([](const Tensor& x) { return std::vector{x * 2.0, argmax(x), x}; });
  const Tensor empty = zeros({0}, float64);
  const auto g = recompute_grad([](const Tensor& x) { return x * 3.0; });
  GradientTape tape({.persistent = true});
  tape.watch(empty);
  EXPECT_EQ(tape.gradient(g(empty), empty).shape(), Shape({0}));
  const Tensor x = vector64({1.0, 5.0});
  tape.watch(x);
  const Inputs all = f(x);
  EXPECT_EQ(numbers(tape.gradient(all[2], x)), (std::vector<double>{1, 1}));
  // One op gave them all, so the gradient of the others is zero.
  EXPECT_EQ(numbers(tape.gradient(all[1], x)), (std::vector<double>{0, 0}));
  const auto unused = recompute_grad([](const Tensor& a, const Tensor&) { return a * a; });
  const Tensor y = vector64({2.0, 2.0});
  tape.watch(y);
  EXPECT_FALSE(tape.gradient(unused(x, y), y).has_value());
}

TEST(RecomputeGrad, VariablesAndCapturedTensors) {
  const Variable w(constant({0.5, 1.5}, float64));
  const Variable frozen(constant(2.0, float64), {.trainable = false});
  const Tensor scale = vector64({3.0, -1.0});
  const auto plain = [&](const Tensor& x) { return sin(x * w) * scale * frozen; };
  const auto recomputed = recompute_grad(plain);
  const auto gradients = [&](auto&& f) {
    const Tensor x = vector64({0.25, 2.0});
    GradientTape outer;
    outer.watch(x);
    outer.watch(scale);
    GradientTape tape;
    tape.watch(x);
    tape.watch(scale);
    tape.watch(frozen);
    const Tensor doubled = scale * 2.0;
    const Tensor y = f(x) + recompute_grad([&](const Tensor& in) { return in * doubled; })(x);
    const auto [dx, dw, dscale, dfrozen] = tape.gradient(y, std::tuple(x, w, scale, frozen));
    std::vector<double> all = numbers(std::vector{dx, dw, dscale, dfrozen});
    const auto second = outer.gradient(reduce_sum(dx * dw) + reduce_sum(dscale * dscale), std::tuple(x, w, scale));
    for (const double number : numbers(std::vector{std::get<0>(second), std::get<1>(second), std::get<2>(second)}))
      all.push_back(number);
    return all;
  };
  expect_close(gradients(recomputed), gradients(plain), "eager");
}

TEST(RecomputeGrad, VariablesOfAFunction) {
  const Variable w(constant({0.5, 1.5}, float64));
  const auto recomputed = recompute_grad([&](const Tensor& x) { return sin(x * w); });
  auto f = function([&](const Tensor& x) { return recomputed(x) * 2.0; });
  const Tensor x = vector64({0.25, 2.0});
  for (int run = 0; run < 2; ++run) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    const auto [dx, dw] = tape.gradient(y, std::pair(x, w));
    expect_close(numbers(dx), numbers(2.0 * cos(x * w) * w), "x");
    expect_close(numbers(dw), numbers(2.0 * cos(x * w) * x), "w");
    w.assign_add(constant({0.5, 0.5}, float64));
  }
}

// A draw of the second run is that of the first; the streams go on as if there were none.
TEST(RecomputeGrad, DrawsTheSameAgain) {
  layers::Dropout seeded(0.5, {.seed = 7});
  layers::Dropout drawn(0.5);
  const auto f = recompute_grad([&](const Tensor& x) {
    const Tensor noise = random::normal({64}, 0, 1, float64);
    const Tensor mask = drawn(seeded(ones({64}), {.training = true}), {.training = true});
    return x * cast(mask, float64) * noise * random::uniform({64}, 0, 1, float64);
  });
  const Tensor x = ones({64}, float64);
  const auto run = [&](auto&& call) {
    GradientTape outer;
    outer.watch(x);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = call(x);  // linear in x = 1, so the gradient is y
    const Tensor g = tape.gradient(reduce_sum(y * y) / 2.0, x);
    expect_close(numbers(g), numbers(y * y), "first order");
    expect_close(numbers(outer.gradient(g, x)), numbers(y * y), "second order");
    return numbers(y);
  };
  const std::vector<double> first = run(f), second = run(f);
  EXPECT_NE(first, second);
  const auto nested = recompute_grad([&](const Tensor& in) { return f(in) + f(in); });
  run(nested);
  auto traced = function([&](const Tensor& in) { return f(in) * 1.0; });
  EXPECT_NE(run(traced), run(traced));
  auto inside = function([&](const Tensor& in) {
    GradientTape tape;
    tape.watch(in);
    const Tensor y = nested(in);
    return std::pair(y, tape.gradient(y, in));
  });
  const auto [y, g] = inside(x);
  expect_close(numbers(g), numbers(y), "inside");
  // With and without recomputation the same numbers are drawn.
  const auto third_draw = [&](bool recompute) {
    set_seed(5);
    const auto draw = [](const Tensor& in) { return in * random::normal({64}, 0, 1, float64); };
    GradientTape tape;
    tape.watch(x);
    const Tensor drawn_once = recompute ? recompute_grad(draw)(x) : draw(x);
    tape.gradient(drawn_once, x);
    return numbers(random::normal({64}, 0, 1, float64));
  };
  EXPECT_EQ(third_draw(true), third_draw(false));
}

TEST(RecomputeGrad, ChangesNoVariableInItsSecondRun) {
  const Variable count(constant(1.0, float64), {.trainable = false});
  const Variable w(constant(2.0, float64));
  const auto f = recompute_grad([&](const Tensor& x) {
    count.assign_add(1.0);
    const Tensor before = x * w * count;
    count.assign(count * 3.0);
    return before + count;
  });
  const Tensor x = constant(5.0, float64);
  const auto gradients = [&](auto&& call) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = call(x);
    w.assign(constant(7.0, float64));  // the second run sees what the first one saw
    const auto [dx, dw] = tape.gradient(y, std::pair(x, w));
    const std::vector<double> all = numbers(std::vector{y, dx, dw});
    EXPECT_EQ(count.value().item<double>(), 6);
    EXPECT_EQ(w.value().item<double>(), 7);
    count.assign(constant(1.0, float64));
    w.assign(constant(2.0, float64));
    return all;
  };
  const std::vector<double> want = {26, 4, 10};
  EXPECT_EQ(gradients(f), want);
  auto traced = function([&](const Tensor& in) { return f(in); });
  EXPECT_EQ(gradients(traced), want);
}

TEST(RecomputeGrad, AVariableThatIsWrittenWhatItHeld) {
  const Variable w(constant(2.0, float64)), v(constant(3.0, float64));
  const auto f = recompute_grad([&](const Tensor& x) {
    w.assign(w.value());
    v.assign(v + 1.0);
    return x * w * v;
  });
  auto traced = function([&](const Tensor& x) { return f(x) * 1.0; });
  EXPECT_EQ(traced(constant(5.0, float64)).item<double>(), 40);
  EXPECT_EQ(w.value().item<double>(), 2);
  EXPECT_EQ(v.value().item<double>(), 4);
}

TEST(RecomputeGrad, BatchNormalizationMovesOnce) {
  layers::BatchNormalization plain, recomputed;
  const Tensor x = constant({{1.0f, 2.0f}, {3.0f, -4.0f}});
  const auto f = recompute_grad([&](const Tensor& in) { return recomputed(in, {.training = true}); });
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor a = plain(x, {.training = true}) * x, b = f(x) * x;
  EXPECT_EQ(numbers(tape.gradient(a, x)), numbers(tape.gradient(b, x)));
  ASSERT_EQ(plain.weights().size(), recomputed.weights().size());
  for (std::size_t i = 0; i < plain.weights().size(); ++i) {
    EXPECT_EQ(numbers(plain.weights()[i].value()), numbers(recomputed.weights()[i].value())) << i;
  }
}

TEST(RecomputeGrad, Tangents) {
  const Tensor x = vector64({0.5, -1.25, 2.0}), w = vector64({1.5, 0.75, -0.5}), v = vector64({1.0, 2.0, -1.0});
  const auto wrapped = recompute_grad(block_of);
  const auto tangent = [&](auto&& f) {
    const ForwardAccumulator accumulator(x, v);
    return numbers(accumulator.jvp(f(x, w)));
  };
  const std::vector<double> want = tangent(block_of);
  expect_close(tangent(wrapped), want, "eager");
  auto around = function([&](const Tensor& a, const Tensor& b) { return wrapped(a, b) * 1.0; });
  expect_close(tangent(around), want, "around a function");
  auto inside = function([&](const Tensor& a) {
    const ForwardAccumulator accumulator(a, v);
    return accumulator.jvp(wrapped(a, w));
  });
  expect_close(numbers(inside(x)), want, "inside");
}

TEST(RecomputeGrad, InBranchesAndBodies) {
  const Inputs in = {vector64({0.5, -1.25, 2.0}), vector64({1.5, 0.75, -0.5})};
  const auto f = recompute_grad(block_of);
  expect_same_everywhere(
      [f](const Inputs& x) {
        const auto step = [&](const Tensor& sum, const Tensor& row) { return f(sum, row); };
        return foldl(step, stack({x[1], x[0]}), x[0]);
      },
      in);
  const auto choice = recompute_grad([f](const Tensor& x, const Tensor& w) {
    return cond(
        reduce_sum(x) > 0.0, [&] { return f(x, w); }, [&] { return x * 1.0; });
  });
  expect_same_everywhere([choice](const Inputs& x) { return choice(x[0], x[1]); }, in);
  // A function that is called within.
  auto called = function([](const Tensor& x) { return sin(x) * x; });
  const auto outer = recompute_grad([&](const Tensor& x) { return called(x) * called(x * 2.0); });
  expect_same_everywhere([outer](const Inputs& x) { return outer(x[0]); }, in);
}

TEST(RecomputeGrad, ServesOtherLengths) {
  const Variable w(constant(0.5, float64));
  const auto recomputed = recompute_grad([&](const Tensor& x) { return concat({sin(x * w), x}, 0); });
  auto around =
      function([&](const Tensor& x) { return recomputed(x) * 2.0; }, {.input_signature = {TensorSpec({-1}, float64)}});
  auto inside = function(
      [&](const Tensor& x) {
        GradientTape tape;
        tape.watch(x);
        const Tensor y = recomputed(x) * 2.0;
        return tape.gradient(y, x);
      },
      {.input_signature = {TensorSpec({-1}, float64)}});
  for (const int n : {2, 5, 9}) {
    const Tensor x = ones({n}, float64);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = around(x);
    EXPECT_EQ(y.shape(), Shape({2 * n}));
    const std::vector<double> want = numbers(2.0 * cos(x * w) * w + 2.0);
    expect_close(numbers(tape.gradient(y, x)), want, "around");
    expect_close(numbers(inside(x)), want, "inside");
  }
  EXPECT_EQ(tracing_count(around), 1);
  EXPECT_EQ(tracing_count(inside), 1);
}

TEST(RecomputeGrad, ServesLengthsThatItWasNotTracedFor) {
  const auto recomputed = recompute_grad([](const Tensor& x) { return concat({sin(x), x}, 0); });
  auto f =
      function([&](const Tensor& x) { return recomputed(x) * 2.0; }, {.input_signature = {TensorSpec({-1}, float64)}});
  for (const int n : {2, 5, 8, 11}) {
    const Tensor x = cast(range(n), float64);
    expect_close(numbers(f(x)), numbers(concat({sin(x), x}, 0) * 2.0), "without a tape");
  }
}

TEST(RecomputeGrad, CapturedTensorsInsideOfTracesAndResultsThatAreNoOps) {
  const Tensor a = constant(3.0, float64), x = vector64({1.0, 2.0});
  const auto gradient = [&](const auto& f) {
    GradientTape tape;
    tape.watch(a);
    const Tensor y = f();
    const Tensor found = tape.gradient(y, a);
    return found.has_value() ? found.item<double>() : NAN;
  };
  const auto times_a = recompute_grad([a](const Tensor& z) { return z * a; });
  EXPECT_EQ(gradient([&] { return vectorized_map([&](const Tensor& z) { return times_a(z); }, x); }), 3);
  EXPECT_EQ(gradient([&] { return recompute_grad([a](const Tensor&) { return a; })(x); }), 1);
  EXPECT_EQ(gradient([&] { return times_a(a); }), 6);
  auto inside = function([&](const Tensor& z) {
    GradientTape tape;
    tape.watch(a);
    const Tensor y = times_a(z);
    return tape.gradient(y, a, {.unconnected_gradients = UnconnectedGradients::kZero});
  });
  EXPECT_EQ(inside(x).item<double>(), 3);
}

TEST(RecomputeGrad, Errors) {
  int runs = 0;
  const auto drifting = recompute_grad([&](const Tensor& x) {
    ++runs;
    Tensor y = x * 2.0;
    for (int i = 0; i < runs; ++i) y = y * random::normal({}, 0, 1, float64);
    return y;
  });
  const Tensor x = constant(1.0, float64);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = drifting(x);
  EXPECT_NE(message_of([&] { tape.gradient(y, x); }).find("more random numbers in its second run"), std::string::npos);
  const auto empty = recompute_grad([](const Tensor&) { return Tensor(); });
  EXPECT_NE(message_of([&] { empty(x); }).find("result 0 is an empty tensor"), std::string::npos);
  // Nothing is left of a run that throws.
  const Variable w(constant(2.0, float64));
  const auto throws = recompute_grad([&](const Tensor& in) -> Tensor {
    w.assign_add(1.0);
    if (w.value().item<double>() > 2.5 && runs > 100) throw ValueError("stop");
    return in * w;
  });
  const Tensor z = throws(x);
  runs = 101;
  EXPECT_EQ(message_of([&] { tape.gradient(z, x); }), "stop");
  EXPECT_EQ(w.value().item<double>(), 3);
  EXPECT_EQ(tape.gradient(x * x, x).item<double>(), 2);
}

// 64 layers in blocks of eight.
TEST(RecomputeGrad, NeedsLessThanAThirdOfTheMemory) {
  const Tensor x = random::normal({64, 1024}, 0, 1, float32, 1);
  const Variable w(random::normal({1024, 64}, 0, 0.03, float32, 2)), v(random::normal({64, 1024}, 0, 0.1, float32, 3));
  const auto block = [&](Tensor h) {
    for (int i = 0; i < 8; ++i) h = h + tanh(matmul(matmul(h, w), v));
    return h;
  };
  // The peak is that of the process: from here on it rises with what is held.
  const MemoryStats so_far = memory_stats();
  const Tensor ballast = zeros({static_cast<std::int64_t>((so_far.peak - so_far.in_use) / 4)});
  const auto peak_of = [&](auto&& f) {
    const std::size_t before = memory_stats().in_use;
    GradientTape tape;
    Tensor h = x;
    for (int i = 0; i < 8; ++i) h = f(h);
    const Tensor loss = reduce_mean(h * h);
    h = Tensor();
    const auto [dw, dv] = tape.gradient(loss, std::pair(w, v));
    return std::pair(memory_stats().peak - before, std::pair(dw, dv));
  };
  // So the smaller one comes first.
  const auto [recomputed, g] = peak_of(recompute_grad(block));
  const auto [plain, h] = peak_of(block);
  // They are summed in another order.
  const auto distance = [](const Tensor& a, const Tensor& b) {
    return (reduce_max(abs(a - b)) / reduce_max(abs(b))).item<double>();
  };
  EXPECT_LT(distance(g.first, h.first), 1e-5);
  EXPECT_LT(distance(g.second, h.second), 1e-5);
  std::printf("peak of 64 layers: %zu bytes recomputed, %zu plain\n", recomputed, plain);
  EXPECT_LT(static_cast<double>(recomputed), 0.3 * static_cast<double>(plain));
}

// In a function the second runs are part of the program, so all blocks share its memory.
TEST(RecomputeGrad, NeedsLessThanAThirdOfTheMemoryOfAFunction) {
  const Tensor x = random::normal({256, 64}, 0, 1, float32, 1);
  std::vector<Variable> weights;
  for (int i = 0; i < 64; ++i) {
    weights.emplace_back(random::normal({64, 64}, 0, 0.1, float32, static_cast<std::uint64_t>(i) + 2));
  }
  const auto block = [&](Tensor h, int first) {
    for (int i = first; i < first + 8; ++i) h = h + tanh(matmul(h, weights[static_cast<std::size_t>(i)]));
    return h;
  };
  const auto measure = [&](auto&& f) {
    auto step = function([&](const Tensor& input) {
      GradientTape tape;
      Tensor h = input;
      for (int b = 0; b < 64; b += 8) h = f(h, b);
      const Tensor loss = reduce_mean(h * h);
      h = Tensor();
      return tape.gradient(loss, weights);
    });
    Inputs gradients = step(x);
    return std::pair(std::stoul(memory_use(step).substr(6)), gradients);  // "keeps ... bytes"
  };
  const auto [plain, want] = measure(block);
  const auto [recomputed, got] = measure(recompute_grad(block));
  std::printf("64 layers in a function: %lu bytes recomputed, %lu plain\n", recomputed, plain);
  EXPECT_LT(static_cast<double>(recomputed), 0.3 * static_cast<double>(plain));
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_LT(reduce_max(abs(got[i] - want[i])).item<double>(), 1e-6) << i;
  }
}

// Draws of a function that is run again, in a program: second order, and one within another.
TEST(RecomputeGrad, DrawsTheSameAgainInAProgram) {
  const Tensor x = ones({64}, float64);
  layers::Dropout dropout(0.5);
  const auto f = recompute_grad([&](const Tensor& in) {
    return in * random::uniform({64}, 1, 2, float64) * cast(dropout(ones({64}), {.training = true}), float64);
  });
  const auto outer = recompute_grad([&](const Tensor& in) { return f(in) * random::normal({64}, 0, 1, float64); });
  const auto check = [&](auto&& call) {
    auto step = function([&](const Tensor& in) {
      GradientTape second;
      second.watch(in);
      GradientTape tape;
      tape.watch(in);
      const Tensor y = call(in);  // linear in ones
      const Tensor g = tape.gradient(reduce_sum(y * y) / 2.0, in);
      return std::tuple(y, g, second.gradient(g, in));
    });
    std::vector<double> last;
    for (int run = 0; run < 3; ++run) {
      const auto [y, g, h] = step(x);
      expect_close(numbers(g), numbers(y * y), "first order");
      expect_close(numbers(h), numbers(y * y), "second order");
      EXPECT_NE(numbers(y), last);
      last = numbers(y);
    }
  };
  check(f);
  check(outer);
}

// The rows of a jacobian are computed by a trace, which the second run is no part of.
TEST(RecomputeGrad, DrawsTheSameAgainInAJacobian) {
  const Tensor x = ones({6}, float64);
  const Variable scale(2.0, {.dtype = float64});
  const auto check = [&](auto&& body, const char* what) {
    const auto f = recompute_grad(body);
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = f(x);  // linear in ones
    const Tensor squares = y * y;
    expect_close(numbers(tape.gradient(y, x)), numbers(y), what);
    expect_close(numbers(reduce_sum(tape.jacobian(y, x), 0)), numbers(y), what);
    expect_close(numbers(reduce_sum(tape.jacobian(squares, x), 0)), numbers(2.0 * squares), what);
  };
  const auto draws = [](const Tensor& in) { return in * random::uniform({6}, 1, 2, float64); };
  check(draws, "draws");
  check([&](const Tensor& in) { return draws(in) * scale; }, "draws and a variable");
  check(recompute_grad(draws), "draws, two deep");
}

}  // namespace
}  // namespace capstan::testing
