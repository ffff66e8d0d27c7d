// Calls that make no sense. Whatever is given to an op, it either works or throws one of the
// library's errors: it never aborts, hangs or reads what is not there (the address sanitizer
// watches over the last).
//
// Each op gets a few hundred calls, made from its samples by changing dtypes, shapes, elements and
// attributes at random.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "capstan/error.h"
#include "capstan/registry.h"
#include "capstan/tape.h"
#include "src/ops/registry.h"
#include "tests/ops/op_samples.h"
#include "tests/support/make_tensor.h"
#include "tests/support/random.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAPSTAN_SANITIZED 1
#else
#define CAPSTAN_SANITIZED 0
#endif

namespace capstan::testing {
namespace {

// Calls per op; more of them with CAPSTAN_CALLS in the environment.
int calls() {
  const char* asked = std::getenv("CAPSTAN_CALLS");
  return asked != nullptr ? std::atoi(asked) : CAPSTAN_SANITIZED ? 100 : 300;
}

// A request for more memory than there is must fail instead of being granted and never filled.
// Sanitizers need the address space for themselves.
class MemoryLimit {
 public:
  MemoryLimit() {
    if (CAPSTAN_SANITIZED) return;
    getrlimit(RLIMIT_AS, &before_);
    rlimit limit = before_;
    limit.rlim_cur = rlim_t{1} << 30;
    setrlimit(RLIMIT_AS, &limit);
  }
  ~MemoryLimit() {
    if (!CAPSTAN_SANITIZED) setrlimit(RLIMIT_AS, &before_);
  }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_ = {};
};

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

std::int64_t strange_integer(Random& random) {
  static const std::vector<std::int64_t> always = {
      -9, -3, -2, -1, 0, 1, 2, 3, 7, 9, 64, 65, 100, INT64_MIN, INT64_MAX, INT64_MAX - 1, std::int64_t{1} << 62};
  static const std::vector<std::int64_t> with_limit = {std::int64_t{1} << 31, (std::int64_t{1} << 31) - 1,
                                                       std::int64_t{1} << 32, -(std::int64_t{1} << 31),
                                                       std::int64_t{1} << 40};
  const auto pick = [&](const std::vector<std::int64_t>& list) {
    return list[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(list.size()) - 1))];
  };
  return !CAPSTAN_SANITIZED && random.integer(0, 3) == 0 ? pick(with_limit) : pick(always);
}

AttributeValue strange_attribute(Random& random, int depth = 0) {
  switch (random.integer(0, depth < 2 ? 6 : 4)) {
    case 0:
      return {};
    case 1:
      return random.integer(0, 1) == 1;
    case 2: {
      const double numbers[] = {
          0.0, -1.0, 0.5, 1e300, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
      return numbers[random.integer(0, 5)];
    }
    case 3: {
      const char* texts[] = {"", "SAME", "VALID", "float32", "int32", "ij,jk->ik", "...,->", "REFLECT", "inf"};
      return texts[random.integer(0, 8)];
    }
    case 4:
      return strange_integer(random);
    default: {
      std::vector<AttributeValue> list;
      const std::int64_t size = random.integer(0, 9);
      const bool integers = random.integer(0, 3) > 0;
      for (std::int64_t i = 0; i < size; ++i) {
        list.push_back(integers ? AttributeValue(strange_integer(random)) : strange_attribute(random, depth + 1));
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
      if (!value.list.empty() && random.integer(0, 3) > 0) {
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

Tensor strange_tensor(Random& random, const Tensor& sample) {
  DType dtype = sample.dtype();
  if (random.integer(0, 3) == 0) dtype = static_cast<DType>(random.integer(0, kDTypes - 1));
  const Shape given = sample.shape();
  std::vector<std::int64_t> lengths(given.begin(), given.end());
  switch (random.integer(0, 4)) {
    case 0:
      lengths.assign(static_cast<std::size_t>(random.integer(0, 8)), 1);
      for (std::int64_t& length : lengths) length = random.integer(0, 3);
      break;
    case 1:
      if (!lengths.empty()) {
        lengths[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(lengths.size()) - 1))] =
            random.integer(0, 5);
      }
      break;
    case 2:
      if (!lengths.empty()) lengths.pop_back();
      break;
    case 3:
      if (lengths.size() < 8) lengths.push_back(random.integer(0, 3));
      break;
    default:
      break;
  }
  const Shape shape{std::span<const std::int64_t>(lengths)};
  std::vector<double> values(static_cast<std::size_t>(shape.size()));
  const bool strange = random.integer(0, 2) == 0;
  for (double& value : values) {
    value = random.uniform(-3, 3);
    if (!strange) continue;
    if (is_floating(dtype)) {
      const double numbers[] = {0, 1e300, -1e300, std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN()};
      value = numbers[random.integer(0, 4)];
    } else {
      const double numbers[] = {0, -1, 2147483647, -2147483648.0, 1000};
      value = numbers[random.integer(0, 4)];
    }
  }
  return make_tensor(dtype, shape, values);
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

// Runs the call and its gradients; returns false if it threw one of the errors that it may throw.
bool survives(const OpDef& op, const Sample& sample) {
  try {
    GradientTape tape;
    std::vector<Tensor> sources;
    for (const Tensor& input : sample.inputs) {
      if (input.has_value() && is_floating(input.dtype())) sources.push_back(input);
    }
    tape.watch(sources);
    std::vector<Tensor> targets;
    for (Tensor& output : run(op, sample)) {
      if (is_floating(output.dtype())) targets.push_back(std::move(output));
    }
    if (!targets.empty() && !sources.empty()) tape.gradient(targets, sources);
    return true;
  } catch (const Error& error) {
    EXPECT_FALSE(std::string(error.what()).empty());
  } catch (const std::bad_alloc&) {
    // More memory than there is.
  } catch (const std::exception& error) {
    ADD_FAILURE() << describe(op, sample) << " threw " << error.what();
  }
  return false;
}

TEST_P(BadInput, IsAnErrorAndNothingElse) {
  const OpDef& op = *GetParam();
  const MemoryLimit limit;
  Random random(std::string("bad input of ") + std::string(op.name));
  std::vector<Sample> samples;
  for (const DType dtype : dtypes_of(op)) {
    for (Sample& sample : samples_of(op, dtype)) samples.push_back(std::move(sample));
  }
  ASSERT_FALSE(samples.empty());
  for (int i = 0; i < calls(); ++i) {
    const auto number = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(samples.size()) - 1));
    const Sample sample = disturbed(op, samples[number], random);
    // To find the call that crashes.
    if (std::getenv("CAPSTAN_SHOW_CALLS") != nullptr) std::fprintf(stderr, "%s\n", describe(op, sample).c_str());
    survives(op, sample);
  }
  // The samples still work.
  for (const Sample& sample : samples) EXPECT_TRUE(survives(op, sample)) << sample.text;
}

}  // namespace
}  // namespace capstan::testing
