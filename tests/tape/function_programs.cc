// Programs: functions that are traced, with tapes around and inside.
#include <gtest/gtest.h>

#include "capstan/capstan.h"
#include "tests/tape/tape_programs.h"

namespace capstan::testing {

namespace {

void function_siblings(Recorder& r) {
  const Tensor a = r.x("a"), b = r.x("b");
  auto plain = [](const Tensor& p, const Tensor& q) { return std::tuple(2 * p, 3 * q); };
  auto traced = function(plain);
  const auto gradients = [&](auto& f) {
    GradientTape t;
    t.watch(std::tie(a, b));
    const Tensor first = std::get<0>(f(a, b));
    return t.gradient(first, {a, b});
  };
  r.out("plain", gradients(plain));
  r.out("traced", gradients(traced));
}

void function_unconnected_arguments(Recorder& r) {
  const std::vector<Tensor> x = {r.x("a"), r.x("unused"), r.x("stopped"), r.x("integer")};
  auto f = function([](const Tensor& a, const Tensor&, const Tensor& stopped, const Tensor& integer) {
    return a * a * stop_gradient(stopped) * cast(cast(integer, int32), float64);
  });
  GradientTape t;
  t.watch(x);
  const Tensor y = f(x[0], x[1], x[2], x[3]);
  r.out("g", t.gradient(y, x));
}

void function_of_variable(Recorder& r) {
  const Tensor x = r.x("x");
  Variable v = r.v("v");
  auto f = function([&](const Tensor& in) { return v * pow(in, 2); });
  GradientTape o;
  o.watch(x);
  GradientTape i;
  i.watch(x);
  const Tensor y = f(x) + f(x * 2.0);
  const std::vector<Tensor> g = i.gradient(y, {x, v});
  r.out("y", y);
  r.out("g", g);
  r.out("second", o.gradient(g[0], {x, v}));
  v.assign(number(5));
  GradientTape t;
  t.watch(x);
  const Tensor after = f(x);
  r.out("after_assign", t.gradient(after, {x, v}));
}

void tape_inside_function(Recorder& r) {
  const Tensor w = r.x("w"), x = r.x("x");
  auto step = function([&](const Tensor& in) {
    GradientTape t;
    t.watch(in);
    const Tensor loss = reduce_sum(pow(in * x - 1.0, 2));
    return t.gradient(loss, in);
  });
  GradientTape t;
  t.watch(w);
  const Tensor g = step(w);
  const Tensor s = reduce_sum(pow(g, 2));
  r.out("g", g);
  r.out("outer", t.gradient(s, w));
}

void sparse_gradient_out_of_function(Recorder& r) {
  const Variable v = r.v("v");
  auto f = function([&] { return gather(v, constant({2, 0, 2})); });
  GradientTape t;
  const Tensor y = f();
  r.out("g", t.gradient(y, v));
}

}  // namespace

Programs function_programs() {
  return {
      {"function_siblings", function_siblings},
      {"function_unconnected_arguments", function_unconnected_arguments},
      {"function_of_variable", function_of_variable},
      {"tape_inside_function", tape_inside_function},
      {"sparse_gradient_out_of_function", sparse_gradient_out_of_function},
  };
}

}  // namespace capstan::testing
