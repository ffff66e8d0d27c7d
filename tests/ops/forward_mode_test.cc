// Every op in forward mode. No op has a rule for it: tangents follow from its formula, its rule for gradients, or its
// being linear. So they are compared with gradients, by <u, J v> = <J^T u, v>, in first and second order; those of
// formulas with differences as well, and those of a traced function with those outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capstan/error.h"
#include "capstan/forward.h"
#include "capstan/function.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"
#include "src/ops/registry.h"
#include "tests/ops/op_samples.h"
#include "tests/support/make_tensor.h"
#include "tests/support/random.h"

namespace capstan::testing {
namespace {

using Tensors = std::vector<Tensor>;

Tensor random_like(const Tensor& like, Random& random) {
  std::vector<double> numbers;
  const std::int64_t count = is_complex(like.dtype()) ? 2 * like.size() : like.size();
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(random.uniform(-1, 1));
  return make_tensor(like.dtype(), like.shape(), numbers);
}
Tensors random_like(const Tensors& like, Random& random) {
  Tensors list;
  for (const Tensor& tensor : like) list.push_back(random_like(tensor, random));
  return list;
}

// The real inner product of two lists, a missing tensor being zero; `size` is that of its terms.
Tensor product_of(const Tensors& a, const Tensors& b, double* size = nullptr) {
  Tensor sum = constant(0.0, float64);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].has_value() || !b[i].has_value()) continue;
    const Tensor x = a[i].to_dense();
    const Tensor y = b[i].to_dense();
    sum = sum + real(reduce_sum(x * conj(y)));
    if (size != nullptr) *size += reduce_sum(abs(x) * abs(y)).item<double>();
  }
  return sum;
}

// An op as a function of its differentiable inputs, for one sample.
struct Case {
  const OpDef& op;
  Sample sample;
  Tensors inputs;

  Tensors run(const Tensors& x) const {
    Sample changed = sample;
    std::size_t k = 0;
    for (std::size_t i = 0; i < changed.inputs.size(); ++i) {
      if (changed.differentiable[i]) changed.inputs[i] = x[k++];
    }
    Tensors floating;
    for (Tensor& output : testing::run(op, changed)) {
      if (output.dtype() == float64 || output.dtype() == complex128) floating.push_back(std::move(output));
    }
    return floating;
  }
};

std::vector<Case> cases_of(const OpDef& op) {
  std::vector<Case> cases;
  for (const DType dtype : dtypes_of(op)) {
    if (dtype != float64 && dtype != complex128) continue;
    for (Sample& sample : samples_of(op, dtype)) {
      Case c{op, sample, {}};
      for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
        if (sample.differentiable[i]) c.inputs.push_back(sample.inputs[i]);
      }
      if (!c.inputs.empty()) cases.push_back(std::move(c));
    }
  }
  return cases;
}

void expect_equal(double a, double b, double size, double tolerance, const char* what) {
  if (std::isnan(a) && std::isnan(b)) return;
  EXPECT_LE(std::abs(a - b), tolerance * std::max(size, 1e-3)) << what << ": " << a << " and " << b;
}

class ForwardMode : public ::testing::TestWithParam<const OpDef*> {};

std::vector<const OpDef*> tested_ops() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : all_ops()) {
    if (testing::test_of(*op) != nullptr) ops.push_back(op);
  }
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops, ForwardMode, ::testing::ValuesIn(tested_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST_P(ForwardMode, IsTheTransposeOfReverseMode) {
  for (const Case& c : cases_of(*GetParam())) {
    SCOPED_TRACE(c.sample.text);
    Random random(c.sample.text);
    const Tensors v = random_like(c.inputs, random);
    ForwardAccumulator accumulator(c.inputs, v);
    GradientTape tape;
    tape.watch(c.inputs);
    const Tensors outputs = c.run(c.inputs);
    accumulator.stop();
    const Tensors u = random_like(outputs, random);
    double size = 0;
    const double forward = product_of(u, accumulator.jvp(outputs), &size).item<double>();
    const Tensors gradients =
        outputs.empty() ? Tensors(c.inputs.size()) : tape.gradient(outputs, c.inputs, {.output_gradients = u});
    const double reverse = product_of(gradients, v, &size).item<double>();
    expect_equal(forward, reverse, size, 1e-10, "forward and reverse mode");
  }
}

TEST_P(ForwardMode, OfFormulasIsTheDifference) {
  const OpDef& op = *GetParam();
  if (op.kind != OpKind::kElementwise || has_flag(op, kNotDifferentiable) || has_flag(op, kBooleanResult))
    GTEST_SKIP() << "no formula with a derivative";
  // By convention they have no gradient by their first inputs.
  static const std::set<std::string_view> kParameters = {"zeta",    "betainc",       "igamma",
                                                         "igammac", "igamma_grad_a", "polygamma"};
  if (kParameters.contains(op.name)) GTEST_SKIP() << "not differentiable by its parameters";
  for (const Case& c : cases_of(op)) {
    SCOPED_TRACE(c.sample.text);
    Random random(c.sample.text);
    const Tensors v = random_like(c.inputs, random);
    ForwardAccumulator accumulator(c.inputs, v);
    const Tensors outputs = c.run(c.inputs);
    accumulator.stop();
    const Tensor jvp = accumulator.jvp(outputs, UnconnectedGradients::kZero)[0];
    const auto at = [&](double step) {
      Tensors moved;
      for (std::size_t i = 0; i < v.size(); ++i) moved.push_back(c.inputs[i] + v[i] * step);
      return c.run(moved)[0];
    };
    double best = HUGE_VAL;
    for (const double h : {1e-3, 1e-4, 1e-5, 1e-2}) {
      const Tensor difference = ((at(h) - at(-h)) * 8.0 - (at(2 * h) - at(-2 * h))) / (12 * h);
      const Tensor error = abs(jvp - difference) / (abs(jvp) + 1.0);
      best = std::min(best, error.size() == 0 ? 0 : reduce_max(error).item<double>());
    }
    EXPECT_LE(best, std::max(test_of(op)->first_order, 1e-6));
  }
}

// The second derivative along two directions, weighted: three ways.
TEST_P(ForwardMode, NestsInAnyOrder) {
  for (const Case& c : cases_of(*GetParam())) {
    SCOPED_TRACE(c.sample.text);
    if (test_of(c.op)->random || has_flag(c.op, kStateful)) continue;  // a run draws anew
    Random random(c.sample.text);
    const Tensors v = random_like(c.inputs, random);
    const Tensors w = random_like(c.inputs, random);
    Tensors u;
    double size = 0;
    double forward = 0;
    {
      const ForwardAccumulator outer(c.inputs, w);
      const ForwardAccumulator inner(c.inputs, v);
      const Tensors outputs = c.run(c.inputs);
      if (outputs.empty()) continue;
      u = random_like(outputs, random);
      Tensors second;
      for (const Tensor& tangent : inner.jvp(outputs))
        second.push_back(tangent.has_value() ? outer.jvp(tangent) : tangent);
      forward = product_of(u, second, &size).item<double>();
    }
    {
      ForwardAccumulator outer(c.inputs, w);
      GradientTape tape;
      tape.watch(c.inputs);
      const Tensors outputs = c.run(c.inputs);
      const Tensors gradients = tape.gradient(outputs, c.inputs, {.output_gradients = u});
      outer.stop();
      Tensors second;
      for (const Tensor& gradient : gradients) second.push_back(gradient.has_value() ? outer.jvp(gradient) : gradient);
      const double over_reverse = product_of(v, second, &size).item<double>();
      expect_equal(forward, over_reverse, size, 1e-10, "forward over forward, forward over reverse");
    }
    {
      GradientTape tape;
      tape.watch(c.inputs);
      ForwardAccumulator inner(c.inputs, v);
      const Tensor first = product_of(inner.jvp(c.run(c.inputs)), u);
      inner.stop();
      const double over_forward = product_of(tape.gradient(first, c.inputs), w, &size).item<double>();
      expect_equal(forward, over_forward, size, 1e-10, "forward over forward, reverse over forward");
    }
  }
}

TEST_P(ForwardMode, IsTheSameInATrace) {
  for (const Case& c : cases_of(*GetParam())) {
    SCOPED_TRACE(c.sample.text);
    if (test_of(c.op)->random || has_flag(c.op, kStateful)) continue;
    Random random(c.sample.text);
    const Tensors v = random_like(c.inputs, random);
    const auto compute = [&](const Tensors& x, const Tensors& tangents) {
      const ForwardAccumulator accumulator(x, tangents);
      return accumulator.jvp(c.run(x));
    };
    auto traced_function = function(compute);
    Tensors traced;
    try {
      traced = traced_function(c.inputs, v);
    } catch (const TraceError&) {
      continue;  // the op reads elements to choose what to do: see in_function_test.cc
    }
    const Tensors eager = compute(c.inputs, v);
    ASSERT_EQ(eager.size(), traced.size());
    for (std::size_t i = 0; i < eager.size(); ++i) {
      ASSERT_EQ(eager[i].has_value(), traced[i].has_value()) << "tangent " << i;
      if (!eager[i].has_value()) continue;
      EXPECT_EQ(difference(traced[i], eager[i], {.relative = 1e-11, .floor = 1e-12}), "") << "tangent " << i;
    }
  }
}

// What is linear goes through the op itself, which costs less than a transposed rule. An op whose rule reads nothing
// has a constant Jacobian; is nothing added, it is linear.
TEST(LinearOps, SaySo) {
  const std::set<std::string_view> kFillWithANumber = {"diag", "diag_part", "pad"};
  for (const OpDef* op : all_ops()) {
    if (op->kind != OpKind::kStructured || op->vjp == nullptr || has_flag(*op, kNotDifferentiable)) continue;
    const bool reads = op->saves.inputs != 0 || op->saves.outputs != 0 || (op->reads[0] | op->reads[1]) != 0;
    const bool is_linear = has_flag(*op, kLinear);
    EXPECT_TRUE(is_linear || reads || kFillWithANumber.contains(op->name)) << op->name;
    EXPECT_FALSE(is_linear && (has_flag(*op, kStateful) || op->saves.outputs != 0)) << op->name;
  }
}

}  // namespace
}  // namespace capstan::testing
