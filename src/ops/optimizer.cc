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

template <class T>
void sgd_loop(T* HWY_RESTRICT w, const T* HWY_RESTRICT g, T rate, std::int64_t n) {
  for_vectors<T>(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto change = hn::Mul(hn::Set(d, rate), hn::LoadU(d, g + i));
    hn::StoreU(hn::Sub(hn::LoadU(d, w + i), change), d, w + i);
  });
}

template <class T>
void momentum_loop(T* HWY_RESTRICT w, T* HWY_RESTRICT m, const T* HWY_RESTRICT g, T rate, T momentum, bool nesterov,
                   std::int64_t n) {
  for_vectors<T>(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto mu = hn::Set(d, momentum);
    const auto change = hn::Mul(hn::LoadU(d, g + i), hn::Set(d, rate));
    auto slot = hn::Sub(hn::Mul(hn::LoadU(d, m + i), mu), change);
    hn::StoreU(slot, d, m + i);
    if (nesterov) slot = hn::Sub(hn::Mul(slot, mu), change);
    hn::StoreU(hn::Add(hn::LoadU(d, w + i), slot), d, w + i);
  });
}

template <class T>
void adam_loop(T* HWY_RESTRICT w, T* HWY_RESTRICT m, T* HWY_RESTRICT v, T* HWY_RESTRICT largest,
               const T* HWY_RESTRICT g, const AdamNumbers<T>& numbers, std::int64_t n) {
  for_vectors<T>(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto gradient = hn::LoadU(d, g + i);
    const auto old_m = hn::LoadU(d, m + i);
    const auto old_v = hn::LoadU(d, v + i);
    const auto new_m = hn::Add(old_m, hn::Mul(hn::Sub(gradient, old_m), hn::Set(d, numbers.rest_1)));
    auto new_v = hn::Add(old_v, hn::Mul(hn::Sub(hn::Mul(gradient, gradient), old_v), hn::Set(d, numbers.rest_2)));
    hn::StoreU(new_m, d, m + i);
    hn::StoreU(new_v, d, v + i);
    if (largest != nullptr) {
      new_v = hn::Max(hn::LoadU(d, largest + i), new_v);
      hn::StoreU(new_v, d, largest + i);
    }
    const auto root = hn::Add(hn::Sqrt(new_v), hn::Set(d, numbers.epsilon));
    const auto change = hn::Div(hn::Mul(new_m, hn::Set(d, numbers.alpha)), root);
    hn::StoreU(hn::Sub(hn::LoadU(d, w + i), change), d, w + i);
  });
}

constexpr OptimizerLoops<float> kFloatLoops = {sgd_loop<float>, momentum_loop<float>, adam_loop<float>};
constexpr OptimizerLoops<double> kDoubleLoops = {sgd_loop<double>, momentum_loop<double>, adam_loop<double>};

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
#include "src/core/same_shape.h"
#include "src/core/context.h"
#include "src/core/cpu.h"
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
const OptimizerLoops<T>& loops() {
  if constexpr (std::is_same_v<T, float>) {
    return kFloat[instruction_set()];
  } else {
    return kDouble[instruction_set()];
  }
}

// Elements per task of the thread pool.
constexpr std::int64_t kTask = 1 << 15;

// Calls body(begin, count) for parts of n elements, on several threads if there are many.
template <class Body>
void in_parts(std::int64_t n, const Body& body) {
  if (n <= kTask) {
    body(std::int64_t{0}, n);
    return;
  }
  parallel_for((n + kTask - 1) / kTask, [&](std::int64_t task) {
    const std::int64_t begin = task * kTask;
    body(begin, std::min(kTask, n - begin));
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

// variable[row] -= rate * gradient rows.
template <class T, class Index>
void sgd_rows(T* w, const Tensor& gradient, T rate, std::int64_t rows) {
  const Tensor indices = gradient.indices();
  const Tensor values = gradient.values();
  const std::int64_t count = indices.size();
  const std::int64_t width = count == 0 ? 0 : values.size() / count;
  const Index* row = indices.data<Index>();
  for (std::int64_t i = 0; i < count; ++i) {
    CAPSTAN_CHECK(row[i] >= 0 && row[i] < rows, IndexError, "sgd_update: row ", row[i], " of ", rows);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    loops<T>().sgd(w + row[i] * width, values.data<T>() + i * width, rate, width);
  }
}

template <class T>
void sgd(VariableState& variable, const Tensor& gradient, double learning_rate) {
  T* const w = static_cast<T*>(writable(variable));
  const auto rate = static_cast<T>(learning_rate);
  if (gradient.is_row_sparse()) {
    const std::int64_t rows = variable.value.dim(0);
    if (gradient.indices().dtype() == DType::kInt32) {
      sgd_rows<T, std::int32_t>(w, gradient, rate, rows);
    } else {
      sgd_rows<T, std::int64_t>(w, gradient, rate, rows);
    }
    return;
  }
  const T* const g = gradient.data<T>();
  in_parts(gradient.size(), [&](std::int64_t i, std::int64_t n) { loops<T>().sgd(w + i, g + i, rate, n); });
}

template <class T>
void momentum_step(VariableState& variable, VariableState& slot, const Tensor& gradient, double learning_rate,
                   double momentum, bool nesterov) {
  T* const w = static_cast<T*>(writable(variable));
  T* const m = static_cast<T*>(writable(slot));
  const T* const g = gradient.data<T>();
  in_parts(gradient.size(), [&](std::int64_t i, std::int64_t n) {
    loops<T>().momentum(w + i, m + i, g + i, static_cast<T>(learning_rate), static_cast<T>(momentum), nesterov, n);
  });
}

// The rate of Adam's step with the corrections of both moments.
template <class T>
T corrected_rate(const AdamStep& step) {
  const T power_1 = std::pow(static_cast<T>(step.beta_1), static_cast<T>(step.step));
  const T power_2 = std::pow(static_cast<T>(step.beta_2), static_cast<T>(step.step));
  return static_cast<T>(step.learning_rate) * std::sqrt(T{1} - power_2) / (T{1} - power_1);
}

template <class T>
void adam_step(VariableState& variable, VariableState& m_state, VariableState& v_state, VariableState* largest_state,
               const Tensor& gradient, const AdamStep& step) {
  T* const w = static_cast<T*>(writable(variable));
  T* const m = static_cast<T*>(writable(m_state));
  T* const v = static_cast<T*>(writable(v_state));
  T* const largest = largest_state == nullptr ? nullptr : static_cast<T*>(writable(*largest_state));
  const T* const g = gradient.data<T>();
  const AdamNumbers<T> numbers = {
      corrected_rate<T>(step),
      static_cast<T>(1 - step.beta_1),
      static_cast<T>(1 - step.beta_2),
      static_cast<T>(step.epsilon),
  };
  in_parts(gradient.size(), [&](std::int64_t i, std::int64_t n) {
    loops<T>().adam(w + i, m + i, v + i, largest == nullptr ? nullptr : largest + i, g + i, numbers, n);
  });
}

}  // namespace

void check_fits(const VariableState& variable, const TensorRef& other, const char* op, const char* what) {
  CAPSTAN_CHECK(other.has_value(), ValueError, op, ": the ", what, " of \"", variable.path, "\" is an empty tensor");
  const Block* a = variable.value.block();
  const Block* b = other.block();
  CAPSTAN_CHECK(a->dtype == b->dtype, DTypeError, op, ": \"", variable.path, "\" is ", a->dtype, ", its ", what, " ",
                b->dtype);
  CAPSTAN_CHECK(same_shape(a, b), ShapeError, op, ": \"", variable.path, "\" has shape ", variable.value.shape(),
                ", its ", what, " ", other.shape());
}

// In bfloat16 an update below 1/256 of a weight would be lost, and most updates are.
void wrong_dtype(const VariableState& variable, const char* op) {
  const bool low = variable.value.dtype() == DType::kBFloat16;
  throw DTypeError(detail::join(
      op, ": \"", variable.path, "\" is ", variable.value.dtype(), ", not float32 or float64",
      low ? help("a layer of dtype \"mixed_bfloat16\" computes in bfloat16 and keeps float32 weights") : ""));
}

void sgd_update(const Variable& variable, const Tensor& gradient, double learning_rate) {
  const Span span(SpanKind::kOp, "sgd_update");
  VariableState& state = checked(variable, "sgd_update");
  check_fits(state, gradient, "sgd_update", "gradient");
  switch (state.value.dtype()) {
    case DType::kFloat32:
      return sgd<float>(state, gradient, learning_rate);
    case DType::kFloat64:
      return sgd<double>(state, gradient, learning_rate);
    default:
      wrong_dtype(state, "sgd_update");
  }
}

void momentum_update(const Variable& variable, const Variable& slot, const Tensor& gradient, double learning_rate,
                     double momentum, bool nesterov) {
  const Span span(SpanKind::kOp, "momentum_update");
  VariableState& state = checked(variable, "momentum_update");
  VariableState& slot_state = checked(slot, "momentum_update");
  check_fits(state, gradient, "momentum_update", "gradient");
  check_fits(state, slot_state.value, "momentum_update", "slot");
  const Tensor dense = gradient.to_dense();
  switch (state.value.dtype()) {
    case DType::kFloat32:
      return momentum_step<float>(state, slot_state, dense, learning_rate, momentum, nesterov);
    case DType::kFloat64:
      return momentum_step<double>(state, slot_state, dense, learning_rate, momentum, nesterov);
    default:
      wrong_dtype(state, "momentum_update");
  }
}

void adam_update(const Variable& variable, const Variable& m, const Variable& v, const Tensor& gradient,
                 const AdamStep& step, const Variable& largest_v) {
  const Span span(SpanKind::kOp, "adam_update");
  VariableState& state = checked(variable, "adam_update");
  VariableState& m_state = checked(m, "adam_update");
  VariableState& v_state = checked(v, "adam_update");
  VariableState* const largest = largest_v.state();
  check_fits(state, gradient, "adam_update", "gradient");
  check_fits(state, m_state.value, "adam_update", "slot");
  check_fits(state, v_state.value, "adam_update", "slot");
  if (largest != nullptr) check_fits(state, largest->value, "adam_update", "slot");
  CAPSTAN_CHECK(step.step >= 1, ValueError, "adam_update: step counts from 1, but is ", step.step);
  const Tensor dense = gradient.to_dense();
  switch (state.value.dtype()) {
    case DType::kFloat32:
      return adam_step<float>(state, m_state, v_state, largest, dense, step);
    case DType::kFloat64:
      return adam_step<double>(state, m_state, v_state, largest, dense, step);
    default:
      wrong_dtype(state, "adam_update");
  }
}

namespace {

constexpr AttributeType kAdamAttributes = attribute_type<AdamAttributes>(
    {field<&AdamAttributes::beta_1>("beta_1"), field<&AdamAttributes::beta_2>("beta_2"),
     field<&AdamAttributes::epsilon>("epsilon"), field<&AdamAttributes::slots>("slots")});

// The variables lie end to end, and that is cut into tasks.
template <class T>
void run_adam(const Call& call, std::span<Tensor> outputs) {
  const auto& a = call.attributes<AdamAttributes>();
  const auto slots = static_cast<std::size_t>(a.slots);
  const std::span<const TensorRef> gradients = call.inputs.subspan(outputs.size());
  const std::size_t variables = outputs.size() / slots;
  const AdamNumbers<T> numbers = {gradients[variables].data<T>()[0], static_cast<T>(1 - a.beta_1),
                                  static_cast<T>(1 - a.beta_2), static_cast<T>(a.epsilon)};
  std::int64_t all = 0;
  for (std::size_t v = 0; v < variables; ++v) all += gradients[v].size();
  in_parts(all, [&](std::int64_t begin, std::int64_t length) {
    for (std::size_t v = 0; v < variables && length > 0; ++v) {
      const std::int64_t size = gradients[v].size();
      const std::int64_t n = std::min(size - begin, length);
      if (n > 0) {
        T* out[4] = {};
        for (std::size_t k = 0; k < slots; ++k) {
          const T* const in = call.inputs[v * slots + k].data<T>() + begin;
          out[k] = mutable_data<T>(outputs[v * slots + k]) + begin;
          if (out[k] != in) std::copy_n(in, n, out[k]);
        }
        loops<T>().adam(out[0], out[1], out[2], out[3], gradients[v].data<T>() + begin, numbers, n);
        length -= n;
      }
      begin = std::max<std::int64_t>(0, begin - size);
    }
  });
}

}  // namespace

constinit const OpDef kAdamStep = {
    .name = "adam_step",
    .text = "One step of Adam for several variables; made in traces alone.",
    .flags = kNotDifferentiable | kUpdatesInPlace,
    .arity = kVariadic,
    .outputs = kVariadic,
    .input_names = "slots of variables, their gradients, rate",
    .attributes = &kAdamAttributes,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          const auto slots = static_cast<int>(call.attributes<AdamAttributes>().slots);
          const int variables = (call.input_count() - 1) / (slots + 1);
          for (int i = 0; i < variables * slots; ++i) outputs.add(call.input(i).dtype(), call.input(i).shape());
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          call.input(0).dtype() == DType::kFloat64 ? run_adam<double>(call, outputs) : run_adam<float>(call, outputs);
        },
};

double adam_rate(const AdamStep& step, DType dtype) {
  return dtype == DType::kFloat64 ? corrected_rate<double>(step) : double{corrected_rate<float>(step)};
}

}  // namespace capstan

#endif  // HWY_ONCE
