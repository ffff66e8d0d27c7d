// Every op with arguments that are given up, as in `op(x * 1.0)`: the result is that of arguments that are lent. A body
// that read such an argument twice would find it empty, or overwritten.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "capstan/debugging.h"
#include "capstan/error.h"
#include "capstan/function.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "capstan/ops/special.h"
#include "capstan/tape.h"
#include "src/core/apply.h"
#include "src/ops/registry.h"
#include "tests/ops/op_samples.h"
#include "tests/support/make_tensor.h"

namespace capstan::testing {
namespace {

// How the inputs of a call are passed: those with a bit in `given` are given up, one may be a number, all others are
// lent.
struct Passing {
  unsigned given = 0;
  int number = -1;
};

// Calls the public function of an op, or apply where it does no more.
std::vector<Tensor> call_passing(const OpDef& op, const Sample& sample, std::vector<Tensor> inputs, Passing passing) {
  const AttributeStorage storage(op, sample.attributes);
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (static_cast<int>(i) == passing.number) {
      operands.emplace_back(inputs[i].to_vector<double>()[0]);
    } else if ((passing.given >> std::min<std::size_t>(i, 31) & 1) != 0) {
      operands.emplace_back(std::move(inputs[i]));
    } else {
      operands.emplace_back(std::as_const(inputs[i]));
    }
  }
  set_seed(5);
  if (op.compose == nullptr) return apply_all(op, operands, storage.get());
  std::vector<Tensor> outputs;
  op.compose(operands, storage.get(), outputs);
  return outputs;
}

std::vector<Tensor> copies(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> list;
  for (const Tensor& input : inputs) list.push_back(copy(input));
  return list;
}

void expect_same(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_TRUE(is_close(actual[i], expected[i])) << "output " << i;
}

std::vector<const OpDef*> tested_ops() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : all_ops()) {
    if (testing::test_of(*op) != nullptr) ops.push_back(op);
  }
  return ops;
}

class GivenOperands : public ::testing::TestWithParam<const OpDef*> {};

INSTANTIATE_TEST_SUITE_P(Ops, GivenOperands, ::testing::ValuesIn(tested_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST_P(GivenOperands, GiveWhatLentOnesGive) {
  const OpDef& op = *GetParam();
  for (const DType dtype : dtypes_of(op)) {
    for (const Sample& sample : samples_of(op, dtype)) {
      SCOPED_TRACE(sample.text);
      const std::vector<Tensor> expected = call_passing(op, sample, sample.inputs, {});
      const std::size_t count = std::min<std::size_t>(sample.inputs.size(), 4);
      for (unsigned given = 1; given < 1u << count; ++given) {
        // All but one are lent, or all are given up.
        if ((given & (given - 1)) != 0 && given != (1u << count) - 1) continue;
        SCOPED_TRACE(given);
        expect_same(call_passing(op, sample, copies(sample.inputs), {.given = given}), expected);
        {
          GradientTape tape;
          const std::vector<Tensor> inputs = copies(sample.inputs);
          for (const Tensor& input : inputs) {
            if (is_differentiable(input.dtype())) tape.watch(input);
          }
          expect_same(call_passing(op, sample, inputs, {.given = given}), expected);
        }
      }
      auto traced =
          function([&](const std::vector<Tensor>& inputs) { return call_passing(op, sample, inputs, {.given = ~0u}); });
      try {
        const std::vector<Tensor> actual = traced(sample.inputs);
        ASSERT_EQ(actual.size(), expected.size());
      } catch (const TraceError&) {  // an op that needs elements
      }
    }
  }
}

// A public function may convert a number by the tensor beside it.
TEST_P(GivenOperands, AreReadBesideANumber) {
  const OpDef& op = *GetParam();
  for (const Sample& sample : samples_of(op, dtypes_of(op).front())) {
    for (std::size_t i = 0; i < sample.inputs.size() && sample.inputs.size() > 1; ++i) {
      if (sample.inputs[i].size() == 0 || !is_floating(sample.inputs[i].dtype())) continue;
      SCOPED_TRACE(sample.text);
      const int number = static_cast<int>(i);
      std::vector<Tensor> expected;
      try {
        expected = call_passing(op, sample, sample.inputs, {.number = number});
      } catch (const Error&) {
        continue;  // an argument that cannot be a number
      }
      expect_same(call_passing(op, sample, copies(sample.inputs), {.given = ~0u, .number = number}), expected);
    }
  }
}

// What the registry does not call.
TEST(GivenUpOperands, OfChecksAreReadMoreThanOnce) {
  const Tensor x = constant({1.0, 2.0});
  debugging::assert_near(x * 1.0, x);
  debugging::assert_near(x, x * 1.0);
  debugging::assert_near(x * 1.0, x * 1.0);
  debugging::assert_equal(x * 1.0, x * 1.0);
  debugging::assert_less(x * 1.0, x * 2.0);
  debugging::assert_positive(x * 1.0);
  debugging::assert_all_finite(x * 1.0);
  EXPECT_THROW(debugging::assert_near(x * 2.0, x), Error);
  auto checked = function([](const Tensor& t) {
    debugging::assert_near(t * 1.0, t);
    return t * 2.0;
  });
  EXPECT_EQ(checked(x).to_vector<float>(), (std::vector<float>{2, 4}));
}

TEST(GivenUpOperands, BesideNumbersAreRead) {
  const Tensor x = constant({1.0, 2.0});
  EXPECT_TRUE(is_close(polygamma(1.0, x * 1.0), polygamma(1.0, x)));
  EXPECT_TRUE(is_close(zeta(2.0, x * 1.0), zeta(2.0, x)));
  EXPECT_TRUE(is_close(betainc(1.0, 2.0, x * 0.25), betainc(1.0, 2.0, Tensor(x * 0.25))));
  EXPECT_TRUE(is_close(igamma_grad_a(1.5, x * 1.0), igamma_grad_a(1.5, x)));
}

TEST(GivenUpOperands, AreTakenOverByAssign) {
  Variable v({1.0, 2.0});
  Tensor value = constant({3.0, 4.0});
  const void* const buffer = value.block()->data;
  v.assign(std::move(value));
  EXPECT_EQ(v.value().block()->data, buffer) << "without a copy";
}

}  // namespace
}  // namespace capstan::testing
