// Errors name the function that the program called, not an op that it is made of.
//
// Each op gets the bad arguments that it brings and those that any op can get: nothing, another dtype, another shape.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "src/ops/registry.h"
#include "tests/ops/op_samples.h"
#include "tests/support/function_name.h"
#include "tests/support/message_of.h"

namespace capstan::testing {
namespace {

class ErrorNamesOfOps : public ::testing::TestWithParam<const OpDef*> {};

std::vector<const OpDef*> tested_ops() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : all_ops()) {
    if (testing::test_of(*op) != nullptr) ops.push_back(op);
  }
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops, ErrorNamesOfOps, ::testing::ValuesIn(tested_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

std::vector<Sample> bad_samples(const OpDef& op) {
  std::vector<Sample> samples;
  for (ErrorSample& wrong : error_samples_of(op)) samples.push_back(std::move(wrong.sample));
  const std::vector<Sample> good = samples_of(op, dtypes_of(op).front());
  if (good.empty()) return samples;
  const Sample& first = good.front();
  for (std::size_t i = 0; i < first.inputs.size(); ++i) {
    std::vector<Tensor> others = {Tensor(), zeros({}), zeros({7, 5, 3}), zeros({1, 2, 3, 4, 5, 6}), zeros({0})};
    for (const DType dtype : {float64, bfloat16, int32, int64, uint8, bool_, complex64}) {
      others.push_back(zeros(first.inputs[i].shape(), dtype));
    }
    for (Tensor& other : others) {
      samples.push_back(first);
      samples.back().inputs[i] = std::move(other);
    }
  }
  return samples;
}

// The function that shows the errors of an op that no program calls by itself.
std::string function_around(std::string_view op) {
  static const std::map<std::string_view, std::string> functions = {
      {"ctc_loss_and_gradient", "ctc_loss"},
      {"ctc_loss_curvature", "ctc_loss"},
      {"getitem_adjoint", "getitem"},
      {"softmax_cross_entropy", "softmax_cross_entropy_with_logits"},
      {"sparse_softmax_cross_entropy", "sparse_softmax_cross_entropy_with_logits"},
      // Of arguments that are made before the call.
      {"normalize", "norm"},
      {"ones", "shape"},
      {"zeros", "shape"},
  };
  const auto found = functions.find(op);
  return found == functions.end() ? std::string(op) : found->second;
}

TEST_P(ErrorNamesOfOps, AreThoseOfTheFunction) {
  const OpDef& op = *GetParam();
  for (const Sample& sample : bad_samples(op)) {
    try {
      run(op, sample);
    } catch (const Error& error) {
      const std::string text = error.what();
      const std::string name = text.substr(0, text.find(": "));
      // A call by name may fail before the function is called.
      EXPECT_TRUE(name == function_name(op.name) || name == op.name || name == function_around(op.name)) << text;
    }
  }
}

TEST(ErrorNames, AreThoseOfFunctionsThatAreMadeOfOthers) {
  const auto expect = [](const std::string& name, const std::function<void()>& call) {
    EXPECT_TRUE(message_of(call).starts_with(name + ": ")) << message_of(call);
  };
  const Tensor x = ones({2, 2});
  const Variable v(x);
  expect("dropout", [&] { dropout(x, 1.5); });
  expect("dropout", [&] { dropout(x, 1.5, 7); });
  expect("keyed_dropout", [&] { keyed_dropout(x, 1.5, 7); });
  expect("image::resize", [&] { image::resize(x, {3, 3}); });
  expect("random::uniform", [&] { random::uniform({2}, 3, 1, int32); });
  expect("random::uniform", [&] { random::uniform({-2}); });
  expect("random::normal", [&] { random::normal({2}, 0, 1, int32, 7); });
  expect("random::shuffle", [&] { random::shuffle(constant(1.0)); });
  expect("random::categorical", [&] { random::categorical(ones({2}), 3); });
  expect("logdet", [&] { logdet(ones({2, 3})); });
  expect("clip_by_norm", [&] { clip_by_norm(x, constant(1.0, float64)); });
  const Tensor rows = constant({0, 5});
  expect("scatter_add", [&] { v.scatter_add(rows, x); });
  expect("scatter_update", [&] { v.scatter_update(rows, x); });
  expect("scatter_max", [&] { v.scatter_max(rows, ones({2, 7})); });
  expect("scatter_nd_sub", [&] { v.scatter_nd_sub(rows, x); });
  expect("root", [&] { root([](const Tensor& y) { return reduce_sum(y) * ones({2}) + 1.0; }, ones({2})); });
  // What fails in a function of the program has its own name.
  expect("matmul", [&] { root([](const Tensor& y) { return matmul(y, y); }, ones({2})); });
}

}  // namespace
}  // namespace capstan::testing
