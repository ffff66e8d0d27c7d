// Programs: forward mode.
#include <gtest/gtest.h>

#include "capstan/control_flow.h"
#include "capstan/forward.h"
#include "capstan/function.h"
#include "capstan/ops/activation.h"
#include "capstan/ops/array.h"
#include "capstan/ops/decompositions.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "tests/tape/tape_programs.h"

namespace capstan::testing {

namespace {

void jvp_of_two_inputs(Recorder& r) {
  const Tensor x = r.x("x"), w = r.x("w"), dx = r.x("dx"), dw = r.x("dw");
  const ForwardAccumulator accumulator({x, w}, {dx, dw});
  const Tensor y = x * w + sin(w);
  r.out("jvp", accumulator.jvp(y));
  r.out("several", accumulator.jvp(std::vector{y, x, w}));
}

void jvp_unconnected(Recorder& r) {
  const Tensor x = r.x("x"), w = r.x("w");
  const Variable v = r.v("v");
  {
    const ForwardAccumulator accumulator(x, 1.0);
    const Tensor z = pow(w, 2);
    const Tensor y = v * x;
    r.out("none", accumulator.jvp(z));
    r.out("zero", accumulator.jvp(z, UnconnectedGradients::kZero));
    r.out("through_variable", accumulator.jvp(y));
    r.out("variable_none", accumulator.jvp(v));
  }
  const ForwardAccumulator accumulator(v, 0.5);
  const Tensor y = pow(v, 2);
  r.out("variable", accumulator.jvp(y));
  r.out("variable_itself", accumulator.jvp(v));
}

void nested_accumulators(Recorder& r) {
  const Tensor x = r.x("x");
  ForwardAccumulator outer(x, 1.0);
  ForwardAccumulator inner(x, 1.0);
  const Tensor y = pow(x, 3.5);
  inner.stop();
  outer.stop();
  const Tensor a = inner.jvp(y);
  const Tensor c = outer.jvp(y);
  r.out("a", a);
  r.out("b", outer.jvp(a));
  r.out("c", c);
  r.out("d", inner.jvp(c));
}

void both_orders(Recorder& r) {
  const Variable v = r.v("v");
  {
    const ForwardAccumulator accumulator(v, r.x("direction"));
    GradientTape tape;
    const Tensor y = reduce_sum(pow(v, 3));
    const Tensor g = tape.gradient(y, v);
    r.out("gradient", g);
    r.out("jvp", accumulator.jvp(g));
  }
  const Tensor x = r.x("x");
  GradientTape tape;
  tape.watch(x);
  ForwardAccumulator accumulator(x, 0.1);
  const Tensor y = sin(x);
  accumulator.stop();
  const Tensor forward = accumulator.jvp(y);
  r.out("forward", forward);
  r.out("reverse_of_forward", tape.gradient(forward, x));
}

void accumulator_entered_again(Recorder& r) {
  const Tensor x = r.x("x");
  ForwardAccumulator accumulator(x, 1.5);
  const Tensor y = 4.0 * x;
  accumulator.stop();
  const Tensor z = 4.0 * x;
  accumulator.start();
  const Tensor w = pow(y, 2);
  accumulator.stop();
  r.out("y", accumulator.jvp(y));
  r.out("z", accumulator.jvp(z));
  r.out("w", accumulator.jvp(w));
}

void jvp_of_small_network(Recorder& r) {
  std::vector<Variable> p;
  std::vector<Tensor> tangents;
  for (const char* name : {"w1", "b1", "w2", "b2"}) {
    p.push_back(r.v(name));
    tangents.push_back(r.x(std::string("v_") + name));
  }
  const ForwardAccumulator accumulator(p, tangents);
  const Tensor predicted = matmul(tanh(matmul(r.x("x"), p[0]) + p[1]), p[2]) + p[3];
  const Tensor loss = reduce_mean(pow(predicted - r.x("y"), 2));
  r.out("loss", loss);
  r.out("jvp_of_loss", accumulator.jvp(loss));
  r.out("jvp_of_pred", accumulator.jvp(predicted));
}

void forward_mode_errors_and_custom(Recorder& r) {
  const Tensor x = r.x("x");
  r.error("twice", [&] { const ForwardAccumulator accumulator({x, x}, {1.0, 1.0}); });
  r.error("structure", [&] { const ForwardAccumulator accumulator({x}, {1.0, 1.0}); });
  r.error("enter twice", [&] { ForwardAccumulator(x, 1.0).start(); });
  const auto custom = [](bool stopped) {
    return [stopped](std::span<const Tensor> in) -> CustomGradientResult {
      const Tensor y = in[0] * in[0];
      return {{stopped ? stop_gradient(y) : y},
              [](std::span<const Tensor> d) -> std::vector<Tensor> { return {10.0 * d[0]}; }};
    };
  };
  const ForwardAccumulator accumulator(x, 1.0);
  const Tensor y = custom_gradient(custom(false), {x})[0];
  EXPECT_EQ(accumulator.jvp(y).item<double>(), 10);
  r.leave_out("custom", "the ops inside decide in the original; here it is the declared gradient, as in the next line");
  r.out("custom_stopped", accumulator.jvp(custom_gradient(custom(true), {x})[0]));
  auto traced = function([&](const Tensor& in) { return custom_gradient(custom(false), {in})[0]; });
  r.out("custom_traced", accumulator.jvp(traced(x)));
  const Tensor s = std::get<1>(while_loop([](const Tensor& i, const Tensor&) { return i < 3; },
                                          [&](const Tensor& i, const Tensor& a) { return std::tuple(i + 1, a * x); },
                                          std::tuple(constant(0), x)));
  r.out("loop", accumulator.jvp(s));
}

}  // namespace

Programs forward_programs() {
  Programs list = {
      {"jvp_of_two_inputs", jvp_of_two_inputs},
      {"jvp_unconnected", jvp_unconnected},
      {"nested_accumulators", nested_accumulators},
      {"both_orders", both_orders},
      {"accumulator_entered_again", accumulator_entered_again},
      {"jvp_of_small_network", jvp_of_small_network},
      {"forward_mode_errors_and_custom", forward_mode_errors_and_custom},
  };
  const auto of = [&](const std::string& name, const std::function<Tensor(const Tensor&)>& f) {
    list.emplace("jvp_of_" + name, [f](Recorder& r) {
      const Tensor x = r.x("x");
      const ForwardAccumulator accumulator(x, r.x("tangent"));
      const Tensor y = f(x);
      r.out("y", y);
      r.out("jvp", accumulator.jvp(y));
      r.out("of_source", accumulator.jvp(x));
    });
  };
  of("square", [](const Tensor& x) { return x * x; });
  of("sin_exp", [](const Tensor& x) { return sin(exp(x)); });
  of("matmul", [](const Tensor& x) { return matmul(x, transpose(x)); });
  of("softmax", [](const Tensor& x) { return softmax(x); });
  of("reduce_max", [](const Tensor& x) { return reduce_max(x); });
  of("reduce_max_tie", [](const Tensor& x) { return reduce_max(x); });
  of("gather", [](const Tensor& x) { return gather(x, constant({2, 0})); });
  of("cumprod", [](const Tensor& x) { return cumprod(x); });
  of("solve", [](const Tensor& x) { return solve(constant({{2.0, 1.0}, {0.5, 3.0}}, float64), x); });
  of("inverse", [](const Tensor& x) { return inv(x); });
  of("relu", [](const Tensor& x) { return relu(x); });
  of("abs", [](const Tensor& x) { return abs(x); });
  of("logsumexp", [](const Tensor& x) { return reduce_logsumexp(x); });
  of("conv", [](const Tensor& x) {
    return conv2d(reshape(x, {1, 3, 3, 1}), ones({2, 2, 1, 1}, float64), {1, 1}, "VALID");
  });
  of("concat", [](const Tensor& x) { return concat({x, 2.0 * x}, 0); });
  of("division", [](const Tensor& x) { return 1.0 / (1.0 + pow(x, 2)); });
  of("not_differentiable", [](const Tensor& x) { return zeros_like(x); });
  of("floor", [](const Tensor& x) { return floor(x); });
  of("sign", [](const Tensor& x) { return sign(x); });
  of("stop_gradient", [](const Tensor& x) { return stop_gradient(x); });
  return list;
}

}  // namespace capstan::testing
