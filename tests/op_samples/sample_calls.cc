#include "tests/op_samples/sample_calls.h"

#include <cmath>
#include <optional>
#include <random>

#include "capstan/error.h"
#include "src/core/op_def.h"
#include "tests/op_samples/op_test.h"
#include "src/ops/registry.h"
#include "tests/support/make_tensor.h"

namespace capstan::testing {

namespace {

Tensor drawn(const SampleInput& input, DType dtype, std::mt19937& random) {
  std::vector<double> numbers = input.values;
  std::uniform_real_distribution<double> draw(input.domain.low, input.domain.high);
  while (static_cast<std::int64_t>(numbers.size()) < input.shape.size()) {
    const double number = draw(random);
    numbers.push_back(is_floating(dtype) ? number : std::round(number));
  }
  return make_tensor(dtype, input.shape, numbers);
}

std::vector<OpSample> samples_of(const OpDef& op) {
  if (test_of(op) == nullptr) return {};
  if (test_of(op)->samples != nullptr) return test_of(op)->samples();
  OpSample sample{.inputs = {}, .attributes = test_of(op)->attributes};
  for (int i = 0; i < op.inputs.count; ++i) {
    const bool is_condition = i == 0 && has_flag(op, kConditionFirst);
    sample.inputs.push_back(
        is_condition
            ? SampleInput{.shape = {2, 3}, .values = {0, 1, 1, 0, 0, 1}, .dtype = DType::kBool, .differentiable = false}
            : SampleInput{.shape = {2, 3}, .domain = test_of(op)->domain});
  }
  return {sample};
}

}  // namespace

std::vector<SampleCall> sample_calls(std::string_view name) {
  std::vector<SampleCall> calls;
  for (const OpDef* op : all_ops()) {
    if (op->name != name) continue;
    int number = 0;
    for (const OpSample& sample : samples_of(*op)) {
      ++number;
      if (!sample.error.empty()) continue;
      for (const DType dtype : {DType::kFloat32, DType::kInt32, DType::kInt64, DType::kBool}) {
        std::mt19937 random(7);
        SampleCall one{.op = std::string(name),
                       .name = std::string(name) + "_" + std::to_string(number),
                       .inputs = {},
                       .attributes = sample.attributes};
        for (const SampleInput& input : sample.inputs) {
          one.inputs.push_back(drawn(input, input.differentiable ? dtype : input.dtype, random));
        }
        try {
          one.run(one.inputs);
        } catch (const Error&) {
          continue;
        }
        calls.push_back(std::move(one));
        break;
      }
    }
  }
  return calls;
}

}  // namespace capstan::testing
