#include "tests/transforms/control_cases.h"

#include <cmath>

namespace capstan::testing {

std::vector<double> numbers(const Tensor& x) { return x.has_value() ? x.to_vector<double>() : std::vector<double>(); }

std::vector<double> numbers(const std::vector<Tensor>& tensors) {
  std::vector<double> all;
  for (const Tensor& tensor : tensors) {
    for (const double number : numbers(tensor)) all.push_back(number);
  }
  return all;
}

std::vector<Tensor> tensors_of_orders(const ListToTensor& f, const std::vector<Tensor>& inputs) {
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

std::vector<Tensor> tangents_of_orders(const ListToTensor& f, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> primals;
  std::vector<Tensor> direction;
  for (const Tensor& input : inputs) {
    if (!is_differentiable(input.dtype())) continue;
    direction.push_back(cos(ones_like(input) * static_cast<double>(primals.size() + 1)) + input * 0.25);
    primals.push_back(input);
  }
  constexpr auto kZero = UnconnectedGradients::kZero;
  ForwardAccumulator outer(primals, direction);
  ForwardAccumulator inner(primals, direction);
  const Tensor value = f(inputs);
  const Tensor first = inner.jvp(value, kZero);
  inner.stop();
  std::vector<Tensor> all = {value, first, outer.jvp(first, kZero)};
  GradientTape tape;
  tape.watch(primals);
  const Tensor sum = reduce_sum(sin(f(inputs)));
  for (const Tensor& g : outer.jvp(tape.gradient(sum, primals, {.unconnected_gradients = kZero}), kZero)) {
    all.push_back(g);
  }
  // How they hang together with each other and with reverse mode: 0 = 0.
  GradientTape plain;
  plain.watch(primals);
  const auto gradients = plain.gradient(reduce_sum(sin(f(inputs))), primals, {.unconnected_gradients = kZero});
  Tensor first_order = -reduce_sum(cos(value) * first);
  Tensor second_order = reduce_sum(sin(value) * square(first) - cos(value) * all[2]);
  for (std::size_t i = 0; i < primals.size(); ++i) {
    first_order = first_order + reduce_sum(gradients[i] * direction[i]);
    second_order = second_order + reduce_sum(all[3 + i] * direction[i]);
  }
  all.push_back(first_order);
  all.push_back(second_order);
  return all;
}

std::vector<double> orders(const ListToTensor& f, const std::vector<Tensor>& inputs) {
  return numbers(tensors_of_orders(f, inputs));
}

std::vector<double> traced_orders(const ListToTensor& f, const std::vector<Tensor>& inputs,
                                  std::vector<Tensor> (*compute)(const ListToTensor&, const std::vector<Tensor>&)) {
  auto compiled = function([&f, compute](const std::vector<Tensor>& in) { return compute(f, in); });
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

void expect_close(const std::vector<double>& a, const std::vector<double>& b, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], b[i], 1e-10 * (1 + std::fabs(b[i]))) << what << ", number " << i;
  }
}

void expect_same_everywhere(const ListToTensor& f, const std::vector<Tensor>& inputs) {
  const std::vector<double> eager = orders(f, inputs);
  auto compiled = function([&f](const std::vector<Tensor>& in) { return f(in); });
  expect_close(orders(compiled, inputs), eager, "a tape around a function");
  expect_close(traced_orders(f, inputs), eager, "tapes inside of a function");
  auto within = function([&compiled](const std::vector<Tensor>& in) { return compiled(in) * 1.0; });
  expect_close(orders(within, inputs), eager, "a function in a function");
  const std::vector<double> forward = numbers(tangents_of_orders(f, inputs));
  expect_close({forward.end() - 2, forward.end()}, {0, 0}, "forward mode and reverse mode");
  expect_close(numbers(tangents_of_orders(compiled, inputs)), forward, "accumulators around a function");
  expect_close(traced_orders(f, inputs, tangents_of_orders), forward, "accumulators inside of a function");
  expect_close(numbers(tangents_of_orders(within, inputs)), forward, "accumulators around functions");
  EXPECT_EQ(tracing_count(compiled), 1);
}

}  // namespace capstan::testing
