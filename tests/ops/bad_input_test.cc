// Calls that make no sense. Whatever is given to an op, it either works or throws one of the
// library's errors: it never aborts, hangs or reads what is not there (the address sanitizer
// watches over the last).
//
// Each op gets a few hundred calls, made from its samples by changing dtypes, shapes, elements, attributes and the
// number of inputs at random; those that work are differentiated, some of them twice. No call may take long, nor more
// memory than a process with little of it has.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/reduce.h"
#include "capstan/registry.h"
#include "capstan/tape.h"
#include "src/core/apply.h"
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

// Bytes beyond what the process has when a test begins.
constexpr std::size_t kMemory = std::size_t{256} << 20;
// Seconds of all threads together.
constexpr double kSlow = CAPSTAN_SANITIZED ? 30 : 3;

double cpu_seconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// A request for more memory than there is must fail instead of being granted and never filled. Sanitizers need the
// address space for themselves, and have a limit of their own: see below.
class MemoryLimit {
 public:
  MemoryLimit() {
    if (CAPSTAN_SANITIZED) return;
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &before_);
    rlimit limit = before_;
    limit.rlim_cur = pages * 4096 + kMemory;
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

template <class T>
const T& pick(const std::vector<T>& list, Random& random) {
  return list[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(list.size()) - 1))];
}

std::int64_t strange_integer(Random& random) {
  static const std::vector<std::int64_t> integers = {
      -9, -3, -2, -1, 0, 1, 2, 3, 7, 9, 64, 65, 100, INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1,
      std::int64_t{1} << 62, std::int64_t{1} << 31, (std::int64_t{1} << 31) - 1, std::int64_t{1} << 32,
      -(std::int64_t{1} << 31), std::int64_t{1} << 40,
      // Its square is 1 in 64 bits, and that of the next is 0.
      (std::int64_t{1} << 63) + 1, std::int64_t{1} << 33};
  return pick(integers, random);
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
      const double numbers[] = {0, -1, 2147483647, -2147483648.0, 1000, 9.2e18, -9.2e18};
      value = numbers[random.integer(0, 6)];
    }
  }
  Tensor tensor = make_tensor(dtype, shape, values);
  // Gradients of this form may be given to any op.
  if (is_floating(dtype) && shape.rank() > 0 && shape[0] > 0 && random.integer(0, 9) == 0) {
    Shape row = shape;
    row.set(0, 1);
    const Tensor index = constant({static_cast<std::int64_t>(random.integer(0, shape[0] - 1))});
    return make_row_sparse(index, zeros(row, dtype), shape);
  }
  return tensor;
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
    if (tensor.has_value() && is_floating(tensor.dtype())) result.push_back(tensor);
  }
  return result;
}

// Runs the call and its gradients; returns false if it threw one of the errors that it may throw.
bool survives(const OpDef& op, const Sample& sample, bool twice = false) {
  const double begin = cpu_seconds();
  bool works = false;
  try {
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
    works = true;
  } catch (const Error& error) {
    EXPECT_FALSE(std::string(error.what()).empty());
  } catch (const std::exception& error) {
    ADD_FAILURE() << describe(op, sample) << " threw " << error.what();
  }
  const double seconds = cpu_seconds() - begin;
  EXPECT_LT(seconds, kSlow) << describe(op, sample);
  return works;
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
    survives(op, sample, i % 4 == 0);
  }
  // The samples still work.
  for (const Sample& sample : samples) EXPECT_TRUE(survives(op, sample)) << sample.text;
}

}  // namespace
}  // namespace capstan::testing

#if CAPSTAN_SANITIZED
// Read by the sanitizers before main.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1:max_allocation_size_mb=256"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1:max_allocation_size_mb=256"; }
#endif
