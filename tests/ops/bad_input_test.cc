// Calls that make no sense. Whatever is given to an op, it either works or throws one of the
// library's errors: it never aborts, hangs or reads what is not there (the address sanitizer
// watches over the last).
//
// Each op gets a few hundred calls, made from its samples by changing dtypes, shapes, elements, attributes and the
// number of inputs at random; those that work are differentiated, some of them twice. No call may take long, nor more
// memory than a process with little of it has.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "capstan/registry.h"
#include "capstan/tape.h"
#include "src/ops/registry.h"
#include "tests/ops/op_samples.h"
#include "tests/ops/random_calls.h"
#include "tests/support/limits.h"

namespace capstan::testing {
namespace {

// Calls per op; more of them with CAPSTAN_CALLS in the environment.
int calls() {
  const char* asked = std::getenv("CAPSTAN_CALLS");
  return asked != nullptr ? std::atoi(asked) : CAPSTAN_SANITIZED ? 100 : 300;
}

class BadInput : public ::testing::TestWithParam<const OpDef*> {};

INSTANTIATE_TEST_SUITE_P(Ops, BadInput, ::testing::ValuesIn(ops_with_samples()),
                         [](const auto& info) { return std::string(info.param->name); });

std::vector<Tensor> floating(std::span<const Tensor> tensors) {
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) {
    if (tensor.has_value() && is_differentiable(tensor.dtype())) result.push_back(tensor);
  }
  return result;
}

// Runs the call and its gradients.
void differentiate(const OpDef& op, const Sample& sample, bool twice) {
  const std::vector<Tensor> sources = floating(sample.inputs);
  GradientTape outer;
  outer.watch(sources);
  if (!twice) outer.stop();
  std::vector<Tensor> gradients;
  {
    GradientTape tape;
    tape.watch(sources);
    const std::vector<Tensor> targets = floating(run(op, sample));
    if (!targets.empty() && !sources.empty()) gradients = floating(tape.gradient(targets, sources));
  }
  if (twice && !gradients.empty()) outer.gradient(gradients, sources);
}

bool survives(const OpDef& op, const Sample& sample, bool twice = false) {
  return testing::survives([&] { differentiate(op, sample, twice); }, [&] { return describe(op, sample); });
}

TEST_P(BadInput, IsAnErrorAndNothingElse) {
  const OpDef& op = *GetParam();
  Random random(std::string("bad input of ") + std::string(op.name));
  std::vector<Sample> samples;
  for (const DType dtype : dtypes_of(op)) {
    for (Sample& sample : samples_of(op, dtype)) samples.push_back(std::move(sample));
  }
  ASSERT_FALSE(samples.empty());
  // What a library below needs once, such as the buffers of LAPACK, does not count.
  for (const Sample& sample : samples) EXPECT_TRUE(survives(op, sample)) << sample.text;
  const MemoryLimit limit;
  for (int i = 0; i < calls(); ++i) {
    const auto number = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(samples.size()) - 1));
    const Sample sample = disturbed(op, samples[number], random);
    // To find the call that crashes.
    if (std::getenv("CAPSTAN_SHOW_CALLS") != nullptr) std::fprintf(stderr, "%s\n", describe(op, sample).c_str());
    survives(op, sample, i % 4 == 0);
  }
  // The samples still work.
  for (const Sample& sample : samples) EXPECT_TRUE(survives(op, sample)) << sample.text;
}

}  // namespace
}  // namespace capstan::testing
