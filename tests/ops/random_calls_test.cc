// Random calls of every op by name, each made in four ways: plainly, in a traced function, for several items at once by
// vectorized_map, and differentiated, plainly and traced.
//
// What must agree: whether there is an error, and its type; the results of a function with those of the plain call, in
// every bit (a NaN is a NaN); those of a map with those of a loop over the items, but for rounding; and nothing may
// depend on what fresh memory holds. What exists has a derivative unless the op has none.
//
// CAPSTAN_RANDOM_CALLS says how many calls each op gets; CAPSTAN_RANDOM_CALL=log/17 makes one of them alone. Every
// failure names its call so.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capstan/error.h"
#include "capstan/function.h"
#include "capstan/ops/array.h"
#include "capstan/ops/random.h"
#include "capstan/vectorized_map.h"
#include "src/core/backend.h"
#include "src/core/thread_pool.h"
#include "tests/ops/op_samples.h"
#include "tests/ops/random_calls.h"
#include "tests/support/fresh_memory.h"
#include "tests/support/limits.h"

namespace capstan::testing {
namespace {

constexpr int kItems = 2;

int calls_per_op() {
  const char* asked = std::getenv("CAPSTAN_RANDOM_CALLS");
  return asked != nullptr ? std::atoi(asked) : CAPSTAN_SANITIZED ? 5 : 20;
}

struct Counts {
  std::int64_t calls = 0, errors = 0, without_memory = 0, traced = 0, mapped = 0, differentiated = 0, compared = 0;
  std::map<std::string, int> disagreements;  // by op
};
Counts counts;

// What came of a call: tensors, or an error.
struct Outcome {
  Results results;
  std::string error;  // the type; empty if there is none
  std::string text;

  bool works() const { return error.empty(); }
};

template <class Body>
Outcome outcome_of(const Body& body) {
  const auto failed = [](const char* type, const std::exception& error) { return Outcome{{}, type, error.what()}; };
  try {
    return {body(), {}, {}};
  } catch (const ShapeError& error) {
    return failed("ShapeError", error);
  } catch (const DTypeError& error) {
    return failed("DTypeError", error);
  } catch (const IndexError& error) {
    return failed("IndexError", error);
  } catch (const ValueError& error) {
    return failed("ValueError", error);
  } catch (const TraceError& error) {
    return failed("TraceError", error);
  } catch (const GradientError& error) {
    return failed("GradientError", error);
  } catch (const Error& error) {
    return failed("Error", error);
  } catch (const std::exception& error) {
    return failed("std::exception", error);
  }
}

// How much memory there is depends on what came before.
bool has_no_memory(const Outcome& outcome) { return outcome.text.find("no memory") != std::string::npos; }

// Whether the bits agree, but for those of a NaN.
template <class T>
bool same_numbers(const Tensor& a, const Tensor& b, std::int64_t count) {
  const Tensor own_a = copy_to_host(a), own_b = copy_to_host(b);
  const auto* x = static_cast<const T*>(own_a.raw_data());
  const auto* y = static_cast<const T*>(own_b.raw_data());
  for (std::int64_t i = 0; i < count; ++i) {
    const bool same = x[i] == y[i] && std::signbit(x[i]) == std::signbit(y[i]);
    if (!same && !(std::isnan(x[i]) && std::isnan(y[i]))) return false;
  }
  return true;
}

bool agree(const Tensor& a, const Tensor& b) {
  if (a.has_value() != b.has_value()) return false;
  if (!a.has_value() || same_bits(a, b)) return true;
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  switch (a.dtype()) {
    case DType::kFloat32:
      return same_numbers<float>(a, b, a.size());
    case DType::kFloat64:
      return same_numbers<double>(a, b, a.size());
    case DType::kBFloat16:
      return same_numbers<BFloat16>(a, b, a.size());
    case DType::kComplex64:
      return same_numbers<float>(a, b, 2 * a.size());
    case DType::kComplex128:
      return same_numbers<double>(a, b, 2 * a.size());
    default:
      return false;
  }
}

// The difference of two lists; empty if there is none.
template <class Same>
std::string difference(const std::vector<Tensor>& got, const std::vector<Tensor>& want, const Same& same) {
  counts.compared += static_cast<std::int64_t>(want.size());
  if (got.size() != want.size())
    return std::to_string(got.size()) + " results instead of " + std::to_string(want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (same(got[i], want[i])) continue;
    std::ostringstream text;
    text << "result " << i << ": " << got[i].to_string() << "\ninstead of " << want[i].to_string();
    return text.str();
  }
  return {};
}

class RandomCalls : public ::testing::TestWithParam<const OpDef*> {
 public:
  void SetUp() override { set_thread_count(1); }
  void TearDown() override { set_thread_count(0); }
  static void TearDownTestSuite() {
    std::cout << "random calls: " << counts.calls << ", of which errors " << counts.errors << " ("
              << counts.without_memory << " for want of memory), traced " << counts.traced << ", mapped "
              << counts.mapped << ", differentiated " << counts.differentiated << "; results compared "
              << counts.compared;
    for (const auto& [name, number] : counts.disagreements) std::cout << "\n  " << name << " disagrees " << number;
    std::cout << std::endl;
  }
};

INSTANTIATE_TEST_SUITE_P(Ops, RandomCalls, ::testing::ValuesIn(ops_with_samples()),
                         [](const auto& info) { return std::string(info.param->name); });

class Call {
 public:
  Call(const OpDef& op, Sample sample, int number) : op_(op), sample_(std::move(sample)), number_(number) {}

  void check() {
    ++counts.calls;
    const Outcome plain = over(0xff, [&] { return run_plainly(sample_.inputs); });
    counts.errors += plain.works() ? 0 : 1;
    if (has_no_memory(plain)) {
      ++counts.without_memory;
      return;
    }
    if (plain.error == "std::exception") return disagree("plainly", plain.text);
    if (plain.works()) {
      compare("over other memory", over(0x5a, [&] { return run_plainly(sample_.inputs); }), plain, agree);
    }
    check_function(plain);
    if (plain.works()) check_gradients(plain);
    if (!sample_.inputs.empty() && !has_flag(op_, kStateful)) check_map();
  }

 private:
  Results run_plainly(const std::vector<Tensor>& inputs) const {
    Sample sample = sample_;
    sample.inputs = inputs;
    return {run(op_, sample), {}};
  }

  template <class Body>
  static Outcome over(int byte, const Body& body) {
    fill_free_memory(byte);
    set_seed(5);
    return outcome_of(body);
  }

  void check_function(const Outcome& plain) {
    ++counts.traced;
    auto traced = function([&](const std::vector<Tensor>& inputs) { return run_plainly(inputs); });
    compare("in a function", over(0x5a, [&] { return traced(sample_.inputs); }), plain, agree);
  }

  void check_gradients(const Outcome& plain) {
    bool any = false;
    for (const bool differentiable : sample_.differentiable) any |= differentiable;
    if (!any) return;
    ++counts.differentiated;
    const auto body = [&](const std::vector<Tensor>& inputs) { return run_and_differentiate(op_, sample_, inputs); };
    const Outcome gradients = over(0xff, [&] { return body(sample_.inputs); });
    if (has_no_memory(gradients)) return;
    if (!gradients.works()) {
      return disagree("differentiated", gradients.error + ": " + gradients.text);
    }
    compare("recorded", Outcome{{gradients.results.outputs, {}}, {}, {}}, plain, agree);
    compare("differentiated over other memory", over(0x5a, [&] { return body(sample_.inputs); }), gradients, agree);
    auto traced = function(body);
    compare("differentiated in a function", over(0x5a, [&] { return traced(sample_.inputs); }), gradients, agree);
  }

  // The items are the inputs as they are and with their elements in another order.
  void check_map() {
    std::vector<std::vector<Tensor>> items(kItems);
    std::vector<Tensor> rows;
    for (std::size_t i = 0; i < sample_.inputs.size(); ++i) {
      const Tensor& x = sample_.inputs[i];
      if (x.rank() == kMaxRank) return;
      items[0].push_back(x);
      items[1].push_back(x.size() == 0 ? x : reshape(roll(reshape(x, {-1}), 1, 0), x.shape()));
      rows.push_back(stack({items[0].back(), items[1].back()}));
    }
    ++counts.mapped;
    std::vector<Outcome> each;
    const Outcome* failed = nullptr;
    for (const std::vector<Tensor>& inputs : items) each.push_back(outcome_of([&] { return run_plainly(inputs); }));
    for (const Outcome& one : each) failed = one.works() || failed != nullptr ? failed : &one;
    const Outcome mapped = outcome_of(
        [&] { return vectorized_map([&](const std::vector<Tensor>& row) { return run_plainly(row); }, rows); });
    if (failed != nullptr) return compare("mapped", mapped, *failed, agree);
    if (mapped.works() && may_overflow()) return;
    Outcome stacked;
    for (std::size_t k = 0; k < each[0].results.outputs.size(); ++k) {
      const Tensor& first = each[0].results.outputs[k];
      const Tensor& second = each[1].results.outputs[k];
      if (first.rank() == kMaxRank) return;
      // Results of different shapes have no rows.
      if (!first.has_value() || !second.has_value() || first.shape() != second.shape()) return;
      stacked.results.outputs.push_back(stack({first, second}));
    }
    compare("mapped", mapped, stacked, [](const Tensor& a, const Tensor& b) { return is_close(a, b); });
  }

  // Where sums and products overflow depends on their order, which a rule for many items may change.
  bool may_overflow() const {
    constexpr double kHuge = 1e15;
    for (const Tensor& input : sample_.inputs) {
      if (!is_floating(input.dtype())) continue;
      for (const double x : input.to_vector<double>()) {
        if (std::abs(x) > kHuge && std::isfinite(x)) return true;
      }
    }
    return false;
  }

  template <class Same>
  void compare(const char* how, const Outcome& got, const Outcome& want, const Same& same) {
    // It reads elements, which only plain calls can.
    if (got.error == "TraceError" || has_no_memory(got) || has_no_memory(want)) return;
    if (got.text.find("exceeds the largest rank") != std::string::npos && want.works()) return;
    if (got.error != want.error) {
      const auto shown = [](const Outcome& one) {
        return one.works() ? "a result" : one.error + " (" + one.text + ")";
      };
      return disagree(how, shown(got) + " instead of " + shown(want));
    }
    for (const auto part : {&Results::outputs, &Results::gradients}) {
      const std::string text = difference(got.results.*part, want.results.*part, same);
      if (!text.empty()) return disagree(how, (part == &Results::outputs ? "" : "gradient ") + text);
    }
  }

  void disagree(const char* how, const std::string& what) {
    constexpr int kMostShown = 5;
    if (++counts.disagreements[std::string(op_.name)] > kMostShown) return;
    ADD_FAILURE() << "CAPSTAN_RANDOM_CALL=" << op_.name << "/" << number_ << " " << how << ": " << what << "\n"
                  << describe(op_, sample_);
  }

  const OpDef& op_;
  Sample sample_;
  int number_;
};

TEST_P(RandomCalls, AgreeInEveryWay) {
  const OpDef& op = *GetParam();
  const CallsOf source(op);
  if (source.empty()) return;
  // What a library below needs once, such as the buffers of LAPACK, does not count.
  for (const Sample& sample : source.samples()) {
    outcome_of([&] { return run_and_differentiate(op, sample, sample.inputs); });
  }
  const MemoryLimit limit;
  const auto make = [&](int number) {
    Random random(std::string(op.name) + "/" + std::to_string(number));
    Call(op, source.next(random), number).check();
  };
  if (const char* asked = std::getenv("CAPSTAN_RANDOM_CALL")) {
    const std::string_view one(asked);
    const std::size_t slash = one.find('/');
    if (one.substr(0, slash) == op.name) make(std::atoi(asked + slash + 1));
    return;
  }
  for (int number = 0; number < calls_per_op(); ++number) make(number);
  const auto disagreements = counts.disagreements.find(std::string(op.name));
  if (disagreements != counts.disagreements.end()) ADD_FAILURE() << op.name << " disagrees " << disagreements->second;
}

}  // namespace
}  // namespace capstan::testing
