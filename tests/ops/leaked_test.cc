// Tensors that leaked from a trace, as operands of every op; tests/transforms/leaked_test.cc has everything else.
#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <vector>

#include "capstan/error.h"
#include "capstan/function.h"
#include "capstan/ops/math.h"
#include "src/ops/registry.h"
#include "tests/ops/op_samples.h"

namespace capstan::testing {
namespace {

class Leaked : public ::testing::TestWithParam<const OpDef*> {};

std::vector<const OpDef*> tested_ops() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : all_ops()) {
    if (testing::test_of(*op) != nullptr) ops.push_back(op);
  }
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops, Leaked, ::testing::ValuesIn(tested_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

// Of the first sample with operands.
Sample a_sample(const OpDef& op) {
  for (const DType dtype : dtypes_of(op)) {
    for (const Sample& sample : samples_of(op, dtype)) {
      if (!sample.inputs.empty()) return sample;
    }
  }
  return {};
}

Tensor leak(const Tensor& like) {
  Tensor leaked;
  function(
      [&](const Tensor& x) {
        leaked = identity(x);
        return x;
      },
      {.name = "step"})(like);
  return leaked;
}

void expect_refused(const OpDef& op, const Sample& sample, const char* where) {
  try {
    run(op, sample);
  } catch (const TraceError& error) {
    EXPECT_NE(std::string(error.what()).find("is a value of the traced function \"step\", whose trace has ended"),
              std::string::npos)
        << sample.text << where << " says: " << error.what();
    return;
  } catch (const std::exception& error) {
    ADD_FAILURE() << sample.text << where << " throws: " << error.what();
    return;
  }
  ADD_FAILURE() << sample.text << where << " accepts it";
}

TEST_P(Leaked, IsRefusedAsAnyOperand) {
  const OpDef& op = *GetParam();
  const Sample good = a_sample(op);
  for (std::size_t i = 0; i < good.inputs.size(); ++i) {
    Sample sample = good;
    sample.inputs[i] = leak(good.inputs[i]);
    expect_refused(op, sample, "");
    function([&](const Tensor& x) {
      expect_refused(op, sample, " in another function");
      return x;
    })(constant(1.0));
  }
}

}  // namespace
}  // namespace capstan::testing
