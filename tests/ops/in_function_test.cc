// Every op in a traced function: the outputs of its samples and their gradients are in every bit those of the call
// without one.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capstan/error.h"
#include "capstan/function.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "capstan/registry.h"
#include "capstan/tape.h"
#include "src/ops/registry.h"
#include "tests/ops/op_samples.h"

namespace capstan::testing {
namespace {

// Ops whose result has a shape that depends on elements, or that read elements to choose what to do.
const std::set<std::string> kNeedElements = {
    "bincount",    "boolean_mask",  "confusion_matrix", "dynamic_partition",  "dynamic_stitch", "image_crop_and_resize",
    "percentile",  "range_of",      "segment_max",      "segment_mean",       "segment_min",    "segment_prod",
    "segment_sum", "sequence_mask", "unique",           "unique_with_counts", "where_indices"};

std::vector<const OpDef*> tested_ops() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : all_ops()) {
    if (testing::test_of(*op) != nullptr) ops.push_back(op);
  }
  return ops;
}

class InFunction : public ::testing::TestWithParam<const OpDef*> {};

INSTANTIATE_TEST_SUITE_P(Ops, InFunction, ::testing::ValuesIn(tested_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST_P(InFunction, IsWhatItIsOutside) {
  const OpDef& op = *GetParam();
  const bool needs_elements = kNeedElements.contains(std::string(op.name));
  for (const DType dtype : dtypes_of(op)) {
    for (const Sample& sample : samples_of(op, dtype)) {
      SCOPED_TRACE(sample.text);
      set_seed(5);
      const Results expected = run_and_differentiate(op, sample, sample.inputs);
      auto traced =
          function([&](const std::vector<Tensor>& inputs) { return run_and_differentiate(op, sample, inputs); });
      set_seed(5);
      Results actual;
      try {
        actual = traced(sample.inputs);
      } catch (const TraceError& error) {
        EXPECT_TRUE(needs_elements) << error.what();
        continue;
      }
      ASSERT_EQ(actual.outputs.size(), expected.outputs.size());
      ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
      const bool draws = has_flag(op, kStateful);
      for (std::size_t i = 0; i < actual.outputs.size(); ++i) {
        const Tensor& output = actual.outputs[i];
        EXPECT_TRUE(draws ? output.shape() == expected.outputs[i].shape() : same_bits(output, expected.outputs[i]))
            << output.to_string() << "\ninstead of " << expected.outputs[i].to_string();
      }
      for (std::size_t i = 0; i < actual.gradients.size() && !draws; ++i) {
        ASSERT_EQ(actual.gradients[i].has_value(), expected.gradients[i].has_value());
        if (!expected.gradients[i].has_value()) continue;
        EXPECT_TRUE(same_bits(actual.gradients[i], expected.gradients[i]))
            << actual.gradients[i].to_string() << "\ninstead of " << expected.gradients[i].to_string();
      }
    }
  }
}

}  // namespace
}  // namespace capstan::testing
