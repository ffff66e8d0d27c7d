// Every op writes all elements of its results: values, gradients and second runs do not depend on what fresh memory
// holds.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/error.h"
#include "capstan/function.h"
#include "capstan/ops/random.h"
#include "src/core/thread_pool.h"
#include "tests/ops/op_samples.h"
#include "tests/ops/random_calls.h"
#include "tests/support/fresh_memory.h"

namespace capstan::testing {
namespace {

class FreshMemory : public ::testing::TestWithParam<const OpDef*> {
 public:
  void SetUp() override { set_thread_count(1); }  // the memory that is filled is this thread's
  void TearDown() override { set_thread_count(0); }
};

INSTANTIATE_TEST_SUITE_P(Ops, FreshMemory, ::testing::ValuesIn(ops_with_samples()),
                         [](const auto& info) { return std::string(info.param->name); });

Results over(int byte, const OpDef& op, const Sample& sample, bool traced) {
  fill_free_memory(byte);
  set_seed(5);
  const auto body = [&](const std::vector<Tensor>& inputs) { return run_and_differentiate(op, sample, inputs); };
  return traced ? function(body)(sample.inputs) : body(sample.inputs);
}

void expect_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].has_value(), b[i].has_value());
    EXPECT_TRUE(!a[i].has_value() || same_bits(a[i], b[i])) << a[i].to_string() << "\nand\n" << b[i].to_string();
  }
}

TEST_P(FreshMemory, DoesNotShowInResults) {
  const OpDef& op = *GetParam();
  for (const DType dtype : dtypes_of(op)) {
    for (const Sample& sample : samples_of(op, dtype)) {
      for (const bool traced : {false, true}) {
        SCOPED_TRACE(sample.text + (traced ? " in a function" : ""));
        try {
          const Results a = over(0xff, op, sample, traced);
          const Results b = over(0x5a, op, sample, traced);
          expect_same(a.outputs, b.outputs);
          expect_same(a.gradients, b.gradients);
        } catch (const TraceError&) {
          EXPECT_TRUE(traced);  // it reads elements: see in_function_test
        }
      }
    }
  }
}

}  // namespace
}  // namespace capstan::testing
