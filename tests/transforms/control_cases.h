// Functions of tensors with control flow, run in every way in which it can be run.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"

namespace capstan::testing {

inline std::vector<double> numbers(const Tensor& x) {
  return x.has_value() ? x.to_vector<double>() : std::vector<double>();
}

// Value, first and second order of sum(f(x) * weights), where the second order is that of the sum of the squares of the
// first. Gradients that are missing are zeros.
template <class F>
std::vector<Tensor> tensors_of_orders(F&& f, const std::vector<Tensor>& inputs) {
  GradientTape outer;
  outer.watch(inputs);
  std::vector<Tensor> first;
  Tensor value;
  {
    GradientTape inner;
    inner.watch(inputs);
    value = f(inputs);
    first = inner.gradient(reduce_sum(sin(value)), inputs, {.unconnected_gradients = UnconnectedGradients::kZero});
  }
  Tensor sum = constant(0.0, float64);
  for (const Tensor& g : first) sum = sum + reduce_sum(g * g);
  std::vector<Tensor> all = {value};
  all.insert(all.end(), first.begin(), first.end());
  for (const Tensor& g : outer.gradient(sum, inputs, {.unconnected_gradients = UnconnectedGradients::kZero})) {
    all.push_back(g);
  }
  return all;
}

inline std::vector<double> numbers(const std::vector<Tensor>& tensors) {
  std::vector<double> all;
  for (const Tensor& tensor : tensors) {
    for (const double number : numbers(tensor)) all.push_back(number);
  }
  return all;
}

template <class F>
std::vector<double> orders(F&& f, const std::vector<Tensor>& inputs) {
  return numbers(tensors_of_orders(f, inputs));
}

// The same computed inside of a function.
template <class F>
std::vector<double> traced_orders(F&& f, const std::vector<Tensor>& inputs) {
  auto compiled = function([&f](const std::vector<Tensor>& in) { return tensors_of_orders(f, in); });
  std::vector<double> seen;
  for (int run = 0; run < 2; ++run) {
    const std::vector<double> all = numbers(compiled(inputs));
    if (run == 1) {
      EXPECT_EQ(all, seen) << "the second run differs from the first";
    }
    seen = all;
  }
  EXPECT_EQ(tracing_count(compiled), 1);
  return seen;
}

inline void expect_close(const std::vector<double>& a, const std::vector<double>& b, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], b[i], 1e-10 * (1 + std::fabs(b[i]))) << what << ", number " << i;
  }
}

// Compares value, first and second order of f outside of a function, in one, and of a function, with finite differences
// once.
template <class F>
void expect_same_everywhere(const F& f, const std::vector<Tensor>& inputs) {
  const std::vector<double> eager = orders(f, inputs);
  auto compiled = function([&f](const std::vector<Tensor>& in) { return f(in); });
  expect_close(orders(compiled, inputs), eager, "a tape around a function");
  expect_close(traced_orders(f, inputs), eager, "tapes inside of a function");
  auto within = function([&compiled](const std::vector<Tensor>& in) { return compiled(in) * 1.0; });
  expect_close(orders(within, inputs), eager, "a function in a function");
  EXPECT_EQ(tracing_count(compiled), 1);
}

inline Tensor vector64(std::initializer_list<Literal> list) { return constant(Literal(list), float64); }

}  // namespace capstan::testing
