// Programs: nested tapes and derivatives of any order.
#include <gtest/gtest.h>

#include "capstan/forward.h"
#include "capstan/ops/special.h"
#include "capstan/ops/activation.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "capstan/ops/reduce.h"
#include "tests/tape/tape_programs.h"

namespace capstan::testing {

namespace {

using Function = std::function<Tensor(const Tensor&)>;

// Derivatives 1 to n of the sum of f, each by a tape around the tapes of the lower ones.
std::vector<Tensor> derivatives(const Function& f, const Tensor& x, int n) {
  GradientTape t;
  t.watch(x);
  std::vector<Tensor> list;
  Tensor y;
  if (n == 1) {
    y = f(x);
  } else {
    list = derivatives(f, x, n - 1);
    y = list.back();
  }
  list.push_back(t.gradient(y, x));
  return list;
}

void second_order_nested(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape o;
  o.watch(x);
  GradientTape i;
  i.watch(x);
  const Tensor y = pow(x, 3);
  const Tensor dy = i.gradient(y, x);
  r.out("dy", dy);
  r.out("d2y", o.gradient(dy, x));
}

void mixed_partials(Recorder& r) {
  const Tensor x = r.x("x"), y = r.x("y");
  GradientTape o({.persistent = true});
  o.watch(std::vector{x, y});
  GradientTape i;
  i.watch(std::vector{x, y});
  const Tensor f = pow(x, 2) * pow(y, 3);
  const auto g = i.gradient(f, {x, y});
  o.stop();
  r.out("fx", g[0]);
  r.out("fy", g[1]);
  r.out("fxx", o.gradient(g[0], x));
  r.out("fxy", o.gradient(g[0], y));
  r.out("fyx", o.gradient(g[1], x));
  r.out("fyy", o.gradient(g[1], y));
}

void watching_is_local_to_a_tape(Recorder& r) {
  const Tensor a = r.x("a"), b = r.x("b");
  GradientTape o({.persistent = true});
  o.watch(std::vector{a, b});
  GradientTape i({.persistent = true});
  i.watch(a);
  const Tensor y = pow(a, 3), z = pow(b, 2);
  i.stop();
  const Tensor dy = i.gradient(y, a), dz = i.gradient(z, b);
  o.stop();
  r.out("dy", dy);
  r.out("dz", dz);
  r.out("d2y", o.gradient(dy, a));
}

void gradient_used_in_expression(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape o;
  o.watch(x);
  GradientTape i;
  i.watch(x);
  const Tensor y = pow(x, 2);
  const Tensor z = i.gradient(y, x) * x;
  r.out("z", z);
  r.out("dz", o.gradient(z, x));
}

void outer_paused_during_inner_gradient(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape o;
  o.watch(x);
  GradientTape i;
  i.watch(x);
  const Tensor y = pow(x, 3);
  Tensor dy;
  {
    const auto pause = o.stop_recording();
    dy = i.gradient(y, x);
  }
  r.out("dy", dy);
  r.out("d2y", o.gradient(dy, x));
}

void value_from_before_is_a_constant(Recorder& r) {
  const Tensor x = r.x("x");
  const Tensor y = pow(x, 2);
  GradientTape o;
  o.watch(x);
  GradientTape i;
  i.watch(x);
  const Tensor z = y * x;
  const Tensor dz = i.gradient(z, x);
  const Tensor w = dz * x;
  r.out("dz", dz);
  r.out("dw", o.gradient(w, x));
}

void hessian_vector_three_ways(Recorder& r) {
  const Tensor x = r.x("x"), v = r.x("v");
  GradientTape o({.persistent = true});
  o.watch(x);
  GradientTape i;
  i.watch(x);
  const Tensor y = reduce_sum(pow(x, 3)) + x(0) * x(1) * x(2);
  const Tensor g = i.gradient(y, x);
  const Tensor gv = reduce_sum(g * v);
  o.stop();
  r.out("gradient", g);
  r.out("a", o.gradient(g, x, {.output_gradients = {v}}));
  r.out("b", o.gradient(gv, x));
  const ForwardAccumulator accumulator(x, v);
  GradientTape t;
  t.watch(x);
  r.out("c", accumulator.jvp(t.gradient(reduce_sum(pow(x, 3)) + x(0) * x(1) * x(2), x)));
}

void second_order_of_one_class_softmax(Recorder& r) {
  const Tensor x = r.x("x"), labels = r.x("labels");
  GradientTape o;
  o.watch(x);
  GradientTape i;
  i.watch(x);
  const Tensor y = softmax_cross_entropy_with_logits(labels, x);
  const Tensor g = i.gradient(y, x);
  r.out("g", g);
  r.out("gg", o.gradient(g, x));
}

void persistent_in_persistent(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape o({.persistent = true});
  o.watch(x);
  GradientTape i({.persistent = true});
  i.watch(x);
  const Tensor y = pow(x, 2);
  const Tensor z = pow(y, 2);
  i.stop();
  const Tensor dy = i.gradient(y, x), dz = i.gradient(z, x);
  o.stop();
  r.out("dy", dy);
  r.out("dz", dz);
  r.out("d2y", o.gradient(dy, x));
  r.out("d2z", o.gradient(dz, x));
  r.out("outer_dy", o.gradient(y, x));
  r.out("outer_dz", o.gradient(z, x));
}

void two_tapes_side_by_side(Recorder& r) {
  const Tensor x = r.x("x");
  GradientTape a;
  GradientTape b;
  a.watch(x);
  b.watch(x);
  const Tensor y = cos(x), z = sigmoid(x);
  b.stop();
  a.stop();
  r.out("dy", a.gradient(y, x));
  r.out("dz", b.gradient(z, x));
}

}  // namespace

Programs higher_order_programs() {
  Programs list = {
      {"second_order_nested", second_order_nested},
      {"mixed_partials", mixed_partials},
      {"watching_is_local_to_a_tape", watching_is_local_to_a_tape},
      {"gradient_used_in_expression", gradient_used_in_expression},
      {"outer_paused_during_inner_gradient", outer_paused_during_inner_gradient},
      {"value_from_before_is_a_constant", value_from_before_is_a_constant},
      {"hessian_vector_three_ways", hessian_vector_three_ways},
      {"second_order_of_one_class_softmax", second_order_of_one_class_softmax},
      {"persistent_in_persistent", persistent_in_persistent},
      {"two_tapes_side_by_side", two_tapes_side_by_side},
  };
  const auto nth = [&](const std::string& name, int n, const Function& f) {
    list.emplace("derivatives_of_" + name, [f, n](Recorder& r) {
      const std::vector<Tensor> all = derivatives(f, r.x("x"), n);
      for (std::size_t k = 0; k < all.size(); ++k) r.out("d" + std::to_string(k + 1), all[k]);
    });
  };
  nth("sin", 5, [](const Tensor& x) { return sin(x); });
  nth("exp_of_square", 4, [](const Tensor& x) { return exp(-x * x); });
  nth("tanh", 4, [](const Tensor& x) { return tanh(x); });
  nth("reciprocal", 4, [](const Tensor& x) { return 1.0 / x; });
  nth("log", 4, [](const Tensor& x) { return log(x); });
  nth("power", 4, [](const Tensor& x) { return pow(x, 3.5); });
  nth("sigmoid", 4, [](const Tensor& x) { return sigmoid(x); });
  nth("sqrt", 4, [](const Tensor& x) { return sqrt(x); });
  nth("softplus", 4, [](const Tensor& x) { return softplus(x); });
  nth("atan", 4, [](const Tensor& x) { return atan(x); });
  nth("erf", 4, [](const Tensor& x) { return erf(x); });
  nth("sinh_times_cos", 4, [](const Tensor& x) { return sinh(x) * cos(x); });
  nth("polynomial", 5, [](const Tensor& x) { return pow(x, 4) - 2 * pow(x, 2) + x; });
  nth("rsqrt", 3, [](const Tensor& x) { return rsqrt(x); });
  nth("lgamma", 3, [](const Tensor& x) { return lgamma(x); });
  nth("elu", 3, [](const Tensor& x) { return elu(x); });
  nth("gelu", 3, [](const Tensor& x) { return gelu(x); });
  nth("silu", 3, [](const Tensor& x) { return silu(x); });
  nth("relu_cubed", 3, [](const Tensor& x) { return pow(relu(x), 3); });
  nth("asin", 3, [](const Tensor& x) { return asin(x); });
  nth("acosh", 3, [](const Tensor& x) { return acosh(x); });
  nth("log1p", 4, [](const Tensor& x) { return log1p(x); });
  return list;
}

}  // namespace capstan::testing
