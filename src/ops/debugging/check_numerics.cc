// The guard against NaN and infinity: an observer that looks at what every op gives.
//
// It is the outermost observer of its thread and no pause suspends it (Context::guard), so it sees ops before tapes
// record them, the parts of control flow, and programs, which run op by op while there is one. Gradients are looked at
// as the reverse pass gets them from rules, not op by op within a rule: a rule may divide by zero where it does not use
// the quotient. While it is off nothing asks for it; the places that do are those that ask for observers.
#include <cmath>

#include "capstan/debugging.h"
#include "src/core/apply.h"
#include "src/core/backend.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/hooks.h"
#include "src/core/call_site.h"
#include "src/ops/debugging/check_numerics.h"

namespace capstan {

namespace {

// What a tensor holds. Complex numbers count as two each.
struct Range {
  double least = HUGE_VAL;
  double largest = -HUGE_VAL;
  std::int64_t nan = 0;
  std::int64_t infinite = 0;

  template <class T>
  void add(const T* data, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto x =
          static_cast<double>(static_cast<std::conditional_t<std::is_same_v<T, BFloat16>, float, T>>(data[i]));
      nan += std::isnan(x) ? 1 : 0;
      infinite += std::isinf(x) ? 1 : 0;
      if (x < least) least = x;
      if (x > largest) largest = x;
    }
  }
};

template <class T>
bool all_finite(const T* data, std::int64_t count) {
  // NaN, or infinity minus itself, makes the sum one.
  T sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += data[i] - data[i];
  return sum == 0;
}

bool is_readable(const TensorRef& tensor) {
  using detail::Block;
  const auto flags = tensor.block()->flags.load(std::memory_order_relaxed);
  return is_differentiable(tensor.dtype()) && (flags & (Block::kRowSparse | Block::kShapeOnly | Block::kSymbolic)) == 0;
}

Range range_of(const TensorRef& tensor) {
  if (is_on_device(tensor.block())) return range_of(copy_to_host(tensor));
  Range range;
  const void* const data = tensor.block()->data;
  const std::int64_t n = tensor.size();
  switch (tensor.dtype()) {
    case DType::kFloat32:
      range.add(static_cast<const float*>(data), n);
      break;
    case DType::kFloat64:
      range.add(static_cast<const double*>(data), n);
      break;
    case DType::kBFloat16:
      range.add(static_cast<const BFloat16*>(data), n);
      break;
    case DType::kComplex64:
      range.add(static_cast<const float*>(data), 2 * n);
      break;
    default:
      range.add(static_cast<const double*>(data), 2 * n);
  }
  return range;
}

bool holds_finite(const TensorRef& tensor) {
  if (is_on_device(tensor.block())) return holds_finite(copy_to_host(tensor));
  const void* const data = tensor.block()->data;
  const std::int64_t n = tensor.size();
  if (tensor.dtype() == DType::kFloat32) return all_finite(static_cast<const float*>(data), n);
  if (tensor.dtype() == DType::kFloat64) return all_finite(static_cast<const double*>(data), n);
  const Range range = range_of(tensor);
  return range.nan + range.infinite == 0;
}

// "\n  output: float32[2] from 0.5 to inf, 1 infinite"
std::string line(const std::string& what, const TensorRef& tensor) {
  std::string text = detail::join("\n  ", what, ": ", describe(tensor));
  if (!is_readable(tensor) || tensor.size() == 0) return text;
  const Range range = range_of(tensor);
  if (range.least <= range.largest) text += detail::join(" from ", range.least, " to ", range.largest);
  if (range.nan > 0) text += detail::join(", ", range.nan, " NaN");
  if (range.infinite > 0) text += detail::join(", ", range.infinite, " infinite");
  return text;
}

std::string counts(const TensorRef& tensor) {
  const Range range = range_of(tensor);
  return detail::join(range.nan, " NaN and ", range.infinite, " infinite of ", tensor.size(), " elements");
}

class Guard final : public Observer {
 public:
  void record(const ObservedCall& call) override {
    if (context.rule != nullptr) return;
    for (const Tensor& output : call.outputs) {
      if (is_readable(output) && !holds_finite(output)) fail(call, output);
    }
  }
  void record(const CustomCall&) override {}  // its ops have been seen
  void read(detail::VariableState&) override {}
  bool knows(const detail::Block*) const override { return false; }

 private:
  [[noreturn]] static void fail(const ObservedCall& call, const Tensor& output) {
    std::string text =
        detail::join("check_numerics: ", call.op.name, " gives ", counts(output)) + line("result", output);
    int i = 0;
    for (const ObservedInput& input : call.inputs) {
      text += line(detail::join("argument ", i++), TensorRef(input.block));
    }
    throw ValueError(text + call_site());
  }
};

// It has no state and nothing around it, so threads share it.
constinit Guard guard;

}  // namespace

bool numbers_are_checked() { return context.guard == &guard; }

void check_gradient_of(const OpDef& op, std::size_t input, const TensorRef& cotangent, const TensorRef& gradient) {
  if (!is_readable(gradient) || holds_finite(gradient)) return;
  throw ValueError(
      detail::join("check_numerics: the gradient of ", op.name, " by argument ", input, " holds ", counts(gradient)) +
      line("gradient", gradient) + line("cotangent of the result", cotangent) + call_site());
}

namespace debugging {

void enable_check_numerics() {
  if (context.guard != nullptr) return;  // in a trace, whose numbers are checked when it runs
  Observer** link = &context.observers;
  while (*link != nullptr) link = &(*link)->outer;
  *link = context.guard = &guard;
}

void disable_check_numerics() {
  if (!numbers_are_checked()) return;
  Observer** link = &context.observers;
  while (*link != nullptr && *link != context.guard) link = &(*link)->outer;
  if (*link == context.guard) *link = nullptr;
  context.guard = nullptr;
}

}  // namespace debugging

}  // namespace capstan
