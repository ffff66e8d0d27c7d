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
#include "tests/support/limits.h"
#include "tests/support/strange.h"

namespace capstan::testing {
namespace {

// Calls per op; more of them with CAPSTAN_CALLS in the environment.
int calls() {
  const char* asked = std::getenv("CAPSTAN_CALLS");
  return asked != nullptr ? std::atoi(asked) : CAPSTAN_SANITIZED ? 100 : 300;
}

class BadInput : public ::testing::TestWithParam<const OpDef*> {};

std::vector<const OpDef*> tested_ops() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : all_ops()) {
    if (op->test != nullptr) ops.push_back(op);
  }
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops, BadInput, ::testing::ValuesIn(tested_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

AttributeValue strange_attribute(Random& random, int depth = 0) {
  switch (random.integer(0, depth < 2 ? 6 : 4)) {
    case 0:
      return {};
    case 1:
      return random.integer(0, 1) == 1;
    case 2:
      return strange_number(random);
    case 3: {
      static const std::vector<std::string> texts = {
          "",        "SAME", "VALID",        "float32", "int32", "bool",    "ij,jk->ik", "...,->",
          "REFLECT", "inf",  "no such text", "fro",     "i->ii", "a,a,a->", "%s%n",      std::string(5000, 'a')};
      return AttributeValue(pick(texts, random));
    }
    case 4:
      return strange_integer(random);
    default: {
      std::vector<AttributeValue> list;
      const std::int64_t size = random.integer(0, 19) == 0 ? 300 : random.integer(0, 9);
      const bool integers = random.integer(0, 3) > 0;
      // Lengths that each make sense and have a product that does not.
      const bool same = random.integer(0, 3) == 0;
      for (std::int64_t i = 0; i < size; ++i) {
        if (same && i > 0) {
          list.push_back(list.back());
        } else {
          list.push_back(integers ? AttributeValue(strange_integer(random)) : strange_attribute(random, depth + 1));
        }
      }
      return list;
    }
  }
}

// The same kind of value with other numbers in it, which gets further into an op than a value of
// another kind.
void disturb(AttributeValue& value, Random& random) {
  switch (value.kind) {
    case AttributeValue::Kind::kInt:
      value = strange_integer(random);
      break;
    case AttributeValue::Kind::kList:
      if (!value.list.empty() && random.integer(0, 7) == 0) {
        for (AttributeValue& item : value.list) disturb(item, random);
      } else if (!value.list.empty() && random.integer(0, 3) > 0) {
        disturb(
            value.list[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(value.list.size()) - 1))],
            random);
      } else if (random.integer(0, 1) == 0 && !value.list.empty()) {
        value.list.pop_back();
      } else {
        value.list.push_back(value.list.empty() ? AttributeValue(1) : value.list.back());
      }
      break;
    default:
      value = strange_attribute(random);
  }
}

Sample disturbed(const OpDef& op, Sample sample, Random& random) {
  for (Tensor& input : sample.inputs) {
    if (random.integer(0, 2) == 0) input = strange_tensor(random, input);
  }
  for (auto& [name, value] : sample.attributes) {
    if (random.integer(0, 2) == 0) disturb(value, random);
  }
  for (int i = 0; op.attributes != nullptr && i < op.attributes->field_count; ++i) {
    if (random.integer(0, 3) == 0)
      sample.attributes[std::string(op.attributes->fields[i].name)] = strange_attribute(random);
  }
  switch (sample.inputs.empty() ? 9 : random.integer(0, 20)) {
    case 0:
      sample.inputs.pop_back();
      break;
    case 1:
      sample.inputs.push_back(sample.inputs[0]);
      break;
    case 2:
      sample.inputs.back() = Tensor();
      break;
    case 3:
      if (random.integer(0, 3) == 0) sample.inputs.assign(100, sample.inputs[0]);
      break;
    case 4:
      if (random.integer(0, 1) == 0) sample.inputs.clear();
      break;
    default:
      break;
  }
  return sample;
}

std::string describe(const OpDef& op, const Sample& sample) {
  std::string text = std::string(op.name) + "(";
  for (const Tensor& input : sample.inputs) {
    text += (text.back() == '(' ? "" : ", ") +
            (input.has_value() ? std::string(name_of(input.dtype())) + input.shape().to_string() : "empty");
  }
  for (const auto& [name, value] : sample.attributes) text += ", " + name + "=" + value.to_string();
  return text + ")";
}

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
