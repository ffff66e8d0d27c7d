// The steps of optimizers, each one loop over a variable and its slots.
//
// A step is written in place: a variable or slot whose value somebody else still holds (a snapshot, a persistent tape)
// gets a copy of its own first. The arithmetic is Keras's, operation by operation, in the variable's dtype; nothing is
// contracted, so results agree with the same step written in single ops.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/optimizer.cc"
#include "src/core/simd.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "src/ops/optimizer_loops.h"

HWY_BEFORE_NAMESPACE();
namespace capstan::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Calls step(d, i) for whole vectors and, at the end, single elements.
template <class T, class Step>
HWY_INLINE void for_vectors(std::int64_t n, const Step& step) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) step(d, i);
  for (; i < n; ++i) step(hn::CappedTag<T, 1>(), i);
}

template <class T, class D>
HWY_INLINE hn::Vec<D> gradient_at(D d, const T* gradient, std::int64_t i) {
  return gradient == nullptr ? hn::Zero(d) : hn::LoadU(d, gradient + i);
}

template <class T>
void sgd_loop(T* const* slots, const T* gradient, const StepNumbers<T>& numbers, std::int64_t n) {
  if (gradient == nullptr) return;
  T* const w = slots[0];
  for_vectors<T>(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto change = hn::Mul(hn::Set(d, numbers.rate), hn::LoadU(d, gradient + i));
    hn::StoreU(hn::Sub(hn::LoadU(d, w + i), change), d, w + i);
  });
}

template <class T>
void momentum_loop(T* const* slots, const T* gradient, const StepNumbers<T>& numbers, std::int64_t n) {
  T* const w = slots[0];
  T* const m = slots[1];
  for_vectors<T>(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto mu = hn::Set(d, numbers.a);
    const auto change = hn::Mul(gradient_at(d, gradient, i), hn::Set(d, numbers.rate));
    auto slot = hn::Sub(hn::Mul(hn::LoadU(d, m + i), mu), change);
    hn::StoreU(slot, d, m + i);
    if (numbers.b != 0) slot = hn::Sub(hn::Mul(slot, mu), change);
    hn::StoreU(hn::Add(hn::LoadU(d, w + i), slot), d, w + i);
  });
}

template <class T>
void adam_loop(T* const* slots, const T* gradient, const StepNumbers<T>& numbers, std::int64_t n) {
  T* const w = slots[0];
  T* const m = slots[1];
  T* const v = slots[2];
  T* const largest = slots[3];
  for_vectors<T>(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto g = gradient_at(d, gradient, i);
    const auto old_m = hn::LoadU(d, m + i);
    const auto old_v = hn::LoadU(d, v + i);
    const auto new_m = hn::Add(old_m, hn::Mul(hn::Sub(g, old_m), hn::Set(d, numbers.a)));
    auto new_v = hn::Add(old_v, hn::Mul(hn::Sub(hn::Mul(g, g), old_v), hn::Set(d, numbers.b)));
    hn::StoreU(new_m, d, m + i);
    hn::StoreU(new_v, d, v + i);
    if (largest != nullptr) {
      new_v = hn::Max(hn::LoadU(d, largest + i), new_v);
      hn::StoreU(new_v, d, largest + i);
    }
    const auto root = hn::Add(hn::Sqrt(new_v), hn::Set(d, numbers.c));
    const auto change = hn::Div(hn::Mul(new_m, hn::Set(d, numbers.rate)), root);
    hn::StoreU(hn::Sub(hn::LoadU(d, w + i), change), d, w + i);
  });
}

// In the order of StepRule.
constexpr OptimizerLoops<float> kFloatLoops = {{sgd_loop<float>, momentum_loop<float>, adam_loop<float>}};
constexpr OptimizerLoops<double> kDoubleLoops = {{sgd_loop<double>, momentum_loop<double>, adam_loop<double>}};

}  // namespace capstan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <cmath>
#include <cstring>

#include "capstan/ops/math.h"
#include "capstan/ops/optimizer.h"
#include "src/core/allocator.h"
#include "src/core/check.h"
#include "src/core/row_sparse.h"
#include "src/core/same_shape.h"
#include "src/core/context.h"
#include "src/core/cpu.h"
#include "src/core/live.h"
#include "src/core/profiler.h"
#include "src/core/thread_pool.h"
#include "src/core/variable_state.h"
#include "src/ops/optimizer.h"

namespace capstan {

using detail::Block;
using detail::VariableState;

namespace {

constexpr OptimizerLoops<float> kFloat[] = CAPSTAN_TARGET_TABLE(kFloatLoops);
constexpr OptimizerLoops<double> kDouble[] = CAPSTAN_TARGET_TABLE(kDoubleLoops);

template <class T>
StepLoop<T> loop_of(std::int64_t rule) {
  if constexpr (std::is_same_v<T, float>) {
    return kFloat[instruction_set()].of[rule];
  } else {
    return kDouble[instruction_set()].of[rule];
  }
}

template <class T>
StepNumbers<T> numbers_of(const StepAttributes& a, double rate) {
  return {static_cast<T>(rate), static_cast<T>(a.a), static_cast<T>(a.b), static_cast<T>(a.c)};
}

// Elements per task of the thread pool.
constexpr std::int64_t kTask = 1 << 15;

// One variable of a step.
template <class T>
struct Part {
  std::int64_t size;
  T* slots[4] = {};
  const T* before[4] = {};  // where a slot lies now, if not where it is written; else null
  const T* gradient = nullptr;
  // The gradient may be the values of a merged row-sparse one.
  bool is_rows = false;
  const std::int64_t* rows = nullptr;
  std::int64_t picked = 0, width = 1;

  void set_gradient(const TensorRef& dense) { gradient = dense.data<T>(); }
  void set_gradient(const TensorRef& indices, const TensorRef& values) {
    is_rows = true;
    picked = indices.size();
    rows = indices.data<std::int64_t>();
    gradient = values.data<T>();
    width = std::max<std::int64_t>(1, values.size() / std::max<std::int64_t>(1, picked));
  }
};

// Calls step(begin, n, gradient) for the elements from `begin` to `end`; the gradient is null between the rows.
template <class T, class Step>
void along_gradient(const Part<T>& part, std::int64_t begin, std::int64_t end, const Step& step) {
  if (!part.is_rows) return step(begin, end - begin, part.gradient + begin);
  const std::int64_t* const last = part.rows + part.picked;
  const std::int64_t* row = std::lower_bound(part.rows, last, begin / part.width);
  while (begin < end) {
    const std::int64_t at = row == last ? end : std::clamp(*row * part.width, begin, end);
    if (at > begin) step(begin, at - begin, nullptr);
    if (at == end) return;
    const std::int64_t stop = std::min((*row + 1) * part.width, end);
    step(at, stop - at, part.gradient + (row - part.rows) * part.width + (at - *row * part.width));
    begin = stop;
    do ++row;
    while (row != last && row[0] == row[-1]);
  }
}

template <class T>
void run_part(const Part<T>& part, StepLoop<T> loop, const StepNumbers<T>& numbers, std::int64_t begin,
              std::int64_t end) {
  for (std::size_t k = 0; k < 4; ++k) {
    if (part.before[k] != nullptr) std::copy(part.before[k] + begin, part.before[k] + end, part.slots[k] + begin);
  }
  along_gradient(part, begin, end, [&](std::int64_t from, std::int64_t n, const T* gradient) {
    T* slots[4];
    for (std::size_t k = 0; k < 4; ++k) slots[k] = part.slots[k] == nullptr ? nullptr : part.slots[k] + from;
    loop(slots, gradient, numbers, n);
  });
}

// The variables lie end to end, and that is cut into tasks.
template <class T>
void run_parts(std::span<const Part<T>> parts, std::int64_t rule, const StepNumbers<T>& numbers) {
  const StepLoop<T> loop = loop_of<T>(rule);
  std::int64_t all = 0;
  std::int64_t changed = 0;  // elements that the step writes
  for (const Part<T>& part : parts) {
    all += part.size;
    const bool few = rule == static_cast<std::int64_t>(StepRule::kSgd) && part.is_rows;
    changed += few && part.before[0] == nullptr ? part.picked * part.width : part.size;
  }
  if (changed <= kTask) {
    for (const Part<T>& part : parts) run_part(part, loop, numbers, 0, part.size);
    return;
  }
  parallel_for((all + kTask - 1) / kTask, [&](std::int64_t task) {
    std::int64_t begin = task * kTask;
    std::int64_t end = std::min(all, begin + kTask);
    for (const Part<T>& part : parts) {
      if (end <= 0) break;
      if (begin < part.size) run_part(part, loop, numbers, std::max<std::int64_t>(0, begin), std::min(end, part.size));
      begin -= part.size;
      end -= part.size;
    }
  });
}

VariableState& checked(const Variable& variable, const char* op) {
  CAPSTAN_CHECK(variable.has_value(), ValueError, op, ": the handle of a variable is empty");
  CAPSTAN_CHECK(context.tracer == nullptr, TraceError, op, ": in a traced function the learning rate is a tensor",
                help("make it with host_value()"));
  return *variable.state();
}

// Tells tapes of the access, and makes sure that nobody else holds the value.
void* writable(VariableState& variable) {
  notify_read(variable);
  const Block* block = variable.value.block();
  if (block->refs.load(std::memory_order_acquire) != 1 ||
      (block->flags.load(std::memory_order_relaxed) & Block::kView) != 0) {
    Tensor copy = Tensor::adopt(new_tensor_block(block->dtype, block->rank, block->dims, block->count));
    std::memcpy(mutable_raw_data(copy), block->data, static_cast<std::size_t>(block->count) * size_of(block->dtype));
    variable.value = std::move(copy);
  }
  return variable.value.block()->data;
}

template <class T>
void run_eagerly(std::span<VariableState* const> slots, const Tensor& gradient, const StepAttributes& attributes,
                 double rate) {
  Part<T> part{slots[0]->value.size()};
  for (std::size_t k = 0; k < slots.size(); ++k) part.slots[k] = static_cast<T*>(writable(*slots[k]));
  if (gradient.is_row_sparse()) {
    part.set_gradient(gradient.indices(), gradient.values());
  } else {
    part.set_gradient(gradient);
  }
  run_parts<T>(std::span(&part, 1), attributes.rule, numbers_of<T>(attributes, rate));
}

// Of one variable, now; everything is checked before anything is changed.
void step_now(const char* op, std::span<VariableState* const> slots, const Tensor& gradient,
              const StepAttributes& attributes, double rate) {
  check_fits(*slots[0], gradient, op, "gradient");
  for (VariableState* const slot : slots.subspan(1)) check_fits(*slots[0], slot->value, op, "slot");
  check_dtype(*slots[0], op);
  check_rows(op, gradient);
  const Tensor merged = [&] {
    const PauseObservers pause;
    return merge_rows(gradient);
  }();
  if (gradient.dtype() == DType::kFloat64) {
    run_eagerly<double>(slots, merged, attributes, rate);
  } else {
    run_eagerly<float>(slots, merged, attributes, rate);
  }
}

// The rate of Adam's step with the corrections of both moments.
template <class T>
T corrected_rate(const AdamStep& step) {
  const T power_1 = std::pow(static_cast<T>(step.beta_1), static_cast<T>(step.step));
  const T power_2 = std::pow(static_cast<T>(step.beta_2), static_cast<T>(step.step));
  return static_cast<T>(step.learning_rate) * std::sqrt(T{1} - power_2) / (T{1} - power_1);
}

}  // namespace

void check_fits(const VariableState& variable, const TensorRef& other, const char* op, const char* what) {
  CAPSTAN_CHECK(other.has_value(), ValueError, op, ": the ", what, " of \"", variable.path, "\" is an empty tensor");
  check_live(op, other);
  const Block* a = variable.value.block();
  const Block* b = other.block();
  CAPSTAN_CHECK(a->dtype == b->dtype, DTypeError, op, ": \"", variable.path, "\" is ", a->dtype, ", its ", what, " ",
                b->dtype);
  CAPSTAN_CHECK(same_shape(a, b), ShapeError, op, ": \"", variable.path, "\" has shape ", variable.value.shape(),
                ", its ", what, " ", other.shape());
}

// In bfloat16 an update below 1/256 of a weight would be lost, and most updates are.
void check_dtype(const VariableState& variable, const char* op) {
  const DType dtype = variable.value.dtype();
  CAPSTAN_CHECK(dtype == DType::kFloat32 || dtype == DType::kFloat64, DTypeError, op, ": \"", variable.path, "\" is ",
                dtype, ", not float32 or float64",
                dtype == DType::kBFloat16
                    ? help("a layer of dtype \"mixed_bfloat16\" computes in bfloat16 and keeps float32 weights")
                    : "");
}

void sgd_update(const Variable& variable, const Tensor& gradient, double learning_rate) {
  const Span span(SpanKind::kOp, "sgd_update");
  VariableState* const slots[] = {&checked(variable, "sgd_update")};
  step_now("sgd_update", slots, gradient, {.rule = static_cast<std::int64_t>(StepRule::kSgd)}, learning_rate);
}

void momentum_update(const Variable& variable, const Variable& slot, const Tensor& gradient, double learning_rate,
                     double momentum, bool nesterov) {
  const Span span(SpanKind::kOp, "momentum_update");
  VariableState* const slots[] = {&checked(variable, "momentum_update"), &checked(slot, "momentum_update")};
  const StepAttributes attributes{
      .rule = static_cast<std::int64_t>(StepRule::kMomentum), .a = momentum, .b = nesterov ? 1.0 : 0.0};
  step_now("momentum_update", slots, gradient, attributes, learning_rate);
}

void adam_update(const Variable& variable, const Variable& m, const Variable& v, const Tensor& gradient,
                 const AdamStep& step, const Variable& largest_v) {
  const Span span(SpanKind::kOp, "adam_update");
  CAPSTAN_CHECK(step.step >= 1, ValueError, "adam_update: step counts from 1, but is ", step.step);
  VariableState* const slots[] = {&checked(variable, "adam_update"), &checked(m, "adam_update"),
                                  &checked(v, "adam_update"), largest_v.state()};
  const StepAttributes attributes{.rule = static_cast<std::int64_t>(StepRule::kAdam),
                                  .a = 1 - step.beta_1,
                                  .b = 1 - step.beta_2,
                                  .c = step.epsilon};
  step_now("adam_update", std::span(slots, largest_v.has_value() ? 4 : 3), gradient, attributes,
           adam_rate(step, variable.dtype()));
}

double adam_rate(const AdamStep& step, DType dtype) {
  return dtype == DType::kFloat64 ? corrected_rate<double>(step) : double{corrected_rate<float>(step)};
}

void subtract_rows(const Variable& variable, const Tensor& rows, double rate, const char* op) {
  const StepAttributes attributes{.rule = static_cast<std::int64_t>(StepRule::kSgd), .slots = 1, .rows = true};
  if (context.tracer == nullptr) {
    VariableState* const slots[] = {variable.state()};
    return step_now(op, slots, rows, attributes, rate);
  }
  const Tensor merged = merge_rows(rows);
  const Tensor gradient[] = {merged.indices(), merged.values()};
  trace_step(attributes, std::span(&variable, 1), gradient, scalar(rate, rows.dtype()));
}

namespace {

constexpr AttributeType kStepAttributes = attribute_type<StepAttributes>(
    {field<&StepAttributes::rule>("rule"), field<&StepAttributes::slots>("slots"), field<&StepAttributes::rows>("rows"),
     field<&StepAttributes::a>("a"), field<&StepAttributes::b>("b"), field<&StepAttributes::c>("c")});

template <class T>
void run_step(const Call& call, std::span<Tensor> outputs) {
  const auto& a = call.attributes<StepAttributes>();
  const auto slots = static_cast<std::size_t>(a.slots);
  std::vector<Part<T>> parts;
  std::size_t next = outputs.size();  // the gradient that comes next
  for (std::size_t first = 0; first < outputs.size(); first += slots) {
    Part<T>& part = parts.emplace_back(Part<T>{outputs[first].size()});
    for (std::size_t k = 0; k < slots; ++k) {
      part.slots[k] = mutable_data<T>(outputs[first + k]);
      const T* const before = call.inputs[first + k].data<T>();
      if (before != part.slots[k]) part.before[k] = before;
    }
    if (a.rows) {
      part.set_gradient(call.inputs[next], call.inputs[next + 1]);
    } else {
      part.set_gradient(call.inputs[next]);
    }
    next += a.rows ? 2 : 1;
  }
  run_parts<T>(parts, a.rule, numbers_of<T>(a, double{call.inputs[next].data<T>()[0]}));
}

}  // namespace

constinit const OpDef kOptimizerStep = {
    .name = "optimizer_step",
    .text = "One step of an optimizer for several variables; made in traces alone.",
    .flags = kNotDifferentiable | kUpdatesInPlace | kTakesAnyDTypes,
    .arity = kVariadic,
    .outputs = kVariadic,
    .input_names = "variables with their slots, gradients, rate",
    .attributes = &kStepAttributes,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          const auto& a = call.attributes<StepAttributes>();
          const auto slots = static_cast<int>(a.slots);
          const int variables = (call.input_count() - 1) / (slots + (a.rows ? 2 : 1));
          for (int i = 0; i < variables * slots; ++i) outputs.add(call.input(i).dtype(), call.input(i).shape());
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          call.input(0).dtype() == DType::kFloat64 ? run_step<double>(call, outputs) : run_step<float>(call, outputs);
        },
};

}  // namespace capstan

#endif  // HWY_ONCE
