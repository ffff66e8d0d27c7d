// Scans along an axis.
//
// The gradient of a running product is itself a linear recurrence, s[k] = b[k] + a[k] s[k-1], and
// the gradient of a linear recurrence is one in the other direction. So `linear_recurrence` is an
// op, and products need no division: zeros are no special case, in any order.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/thread_pool.h"
#include "src/kernels/with_type.h"
#include "src/ops/axis.h"
#include "src/ops/axes.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/wrapping.h"

namespace capstan {

namespace {

struct ScanAttributes {
  AxisOr<0> axis;  // the first one if not given
  bool exclusive = false;
  bool reverse = false;
};
constexpr const AttributeType& kScanAttributes = attribute_table<ScanAttributes, "axis, exclusive, reverse">;

struct RecurrenceAttributes {
  Axis axis = 0;
  bool reverse = false;
};

// Calls step(previous offset or -1, offset) for every element, in the order of the scan, inner
// positions together.
template <class Step>
void for_each_step(const AxisView& view, bool reverse, const Step& step) {
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.n; ++i) {
      const std::int64_t k = reverse ? view.n - 1 - i : i;
      const std::int64_t row = (o * view.n + k) * view.inner;
      const std::int64_t before = i == 0 ? -1 : row + (reverse ? view.inner : -view.inner);
      for (std::int64_t j = 0; j < view.inner; ++j) step(before < 0 ? -1 : before + j, row + j);
    }
  }
}

struct SumStep {
  static constexpr double kIdentity = 0;
  template <class T>
  static T join(T a, T b) {
    return wrapping_sum(a, b);
  }
};
struct ProductStep {
  static constexpr double kIdentity = 1;
  template <class T>
  static T join(T a, T b) {
    return wrapping_product(a, b);
  }
};
struct LogsumexpStep {
  static constexpr double kIdentity = -std::numeric_limits<double>::infinity();
  template <class T>
  static T join(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      const T low = std::min(a, b);
      const T high = std::max(a, b);
      if (std::isinf(high)) return high;  // exp(inf - inf) would be NaN
      return high + std::log1p(std::exp(low - high));
    } else {
      return a;
    }
  }
};

template <class Step, class T>
void scan(const AxisView& view, const ScanAttributes& attributes, const T* in, T* out) {
  using W = Wide<T>;
  // The running value is kept in the wide type, one row of inner positions at a time.
  std::vector<W> running(static_cast<std::size_t>(view.inner));
  for (std::int64_t o = 0; o < view.outer; ++o) {
    std::fill(running.begin(), running.end(), static_cast<W>(Step::kIdentity));
    for (std::int64_t i = 0; i < view.n; ++i) {
      const std::int64_t k = attributes.reverse ? view.n - 1 - i : i;
      const std::int64_t row = (o * view.n + k) * view.inner;
      for (std::int64_t j = 0; j < view.inner; ++j) {
        W& value = running[static_cast<std::size_t>(j)];
        if (attributes.exclusive) out[row + j] = T(value);
        value = Step::join(value, static_cast<W>(in[row + j]));
        if (!attributes.exclusive) out[row + j] = T(value);
      }
    }
  }
}

template <bool kFloatingOnly>
void infer_scan(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  CAPSTAN_CHECK(kFloatingOnly ? is_floating(x.dtype()) : x.dtype() != DType::kBool, DTypeError, call.op.name,
                ": dtype ", x.dtype(), " is not supported", arguments({{"x", x}}));
  outputs.hand_on(view_around(call.op.name, x, call.attributes<ScanAttributes>().axis));
  outputs.add(x.dtype(), x.shape());
}

template <class Step>
void run_scan(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<ScanAttributes>();
  const auto& view = call.geometry<AxisView>();
  with_any_number_type(x.dtype(),
                       [&]<class T>(T) { scan<Step>(view, attributes, x.data<T>(), mutable_data<T>(outputs[0])); });
}

// All places of an axis but the last one, or but the first.
Tensor without_end(const Tensor& x, int axis, bool last) {
  const Shape shape = x.shape();
  Shape begin;
  Shape size;
  for (int i = 0; i < shape.rank(); ++i) {
    begin.push_back(i == axis && !last ? 1 : 0);
    size.push_back(shape[i] - (i == axis ? 1 : 0));
  }
  return slice(x, begin, size);
}

// One more place along an axis, with zeros, in front or at the end.
Tensor extend(const Tensor& x, int axis, bool front) {
  PadWidth widths[kMaxRank];
  (front ? widths[axis].before : widths[axis].after) = 1;
  return pad(x, std::span<const PadWidth>(widths, static_cast<std::size_t>(x.rank())));
}

// x moved by one place along an axis, so that place k holds x[k+1] (x[k-1] if `forward`); a zero
// comes in at the end.
Tensor shift(const Tensor& x, int axis, bool forward) {
  const int normal = normalize_axis("shift", axis, x.rank());
  return x.dim(normal) == 0 ? x : extend(without_end(x, normal, forward), normal, forward);
}

// x[k] - x[k+1] (x[k] - x[k-1] if `forward`), and zero at the end.
Tensor steps(const Tensor& x, int axis, bool forward) {
  const int normal = normalize_axis("steps", axis, x.rank());
  if (x.dim(normal) == 0) return x;
  return extend(without_end(x, normal, !forward) - without_end(x, normal, forward), normal, forward);
}

void vjp_cumsum(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& a = call.attributes<ScanAttributes>();
  cotangents[0] = cumsum(call.cotangent(), a.axis, {.exclusive = a.exclusive, .reverse = !a.reverse});
}

// The cotangent of x[k] is the product of all before it times sum over i >= k of g[i] * the product
// of x between k and i. The sum is a recurrence from the other end.
void vjp_cumprod(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& a = call.attributes<ScanAttributes>();
  const Tensor x = conj(call.input(0));
  const int axis = a.axis;
  const Tensor next = shift(x, axis, a.reverse);
  const Tensor g = a.exclusive ? shift(call.cotangent(), axis, a.reverse) : call.cotangent();
  cotangents[0] = cumprod(x, axis, {.exclusive = true, .reverse = a.reverse}) *
                  linear_recurrence(next, g, axis, {.reverse = !a.reverse});
}

// The derivative of y[i] by x[k] is exp(x[k] - y[i]). With y the inclusive result, sum over i >= k
// of g[i] exp(y[k] - y[i]) is a recurrence whose factors exp(y[k] - y[k+1]) are at most 1.
void vjp_cumulative_logsumexp(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& a = call.attributes<ScanAttributes>();
  const Tensor& x = call.input(0);
  const int axis = a.axis;
  const Tensor y = cumulative_logsumexp(x, axis, {.reverse = a.reverse});
  const Tensor g = a.exclusive ? shift(call.cotangent(), axis, a.reverse) : call.cotangent();
  const Tensor factors = exp(steps(y, axis, a.reverse));
  cotangents[0] = exp(x - y) * linear_recurrence(factors, g, axis, {.reverse = !a.reverse});
}

}  // namespace

constinit const OpDef kCumsum = {
    .name = "cumsum",
    .text = "Running sums along an axis.",
    .flags = kLinear,
    .attributes = &kScanAttributes,
    .infer = infer_scan<false>,
    .kernel = run_scan<SumStep>,
    .vjp = vjp_cumsum,
    .batch = batch_axis<&ScanAttributes::axis>,
};

constinit const OpDef kCumprod = {
    .name = "cumprod",
    .text = "Running products along an axis.",
    .attributes = &kScanAttributes,
    .infer = infer_scan<false>,
    .kernel = run_scan<ProductStep>,
    .saves = {.inputs = 1},
    .vjp = vjp_cumprod,
    .batch = batch_axis<&ScanAttributes::axis>,
};

constinit const OpDef kCumulativeLogsumexp = {
    .name = "cumulative_logsumexp",
    .text = "Running logsumexp along an axis.",
    .attributes = &kScanAttributes,
    .infer = infer_scan<true>,
    .kernel = run_scan<LogsumexpStep>,
    .saves = {.inputs = 1},
    .vjp = vjp_cumulative_logsumexp,
    .batch = batch_axis<&ScanAttributes::axis>,
};

constinit const OpDef kLinearRecurrence = {
    .name = "linear_recurrence",
    .text = "s[k] = b[k] + a[k] * s[k-1] along an axis.",
    .inputs = "a, b",
    .attributes = &attribute_table<RecurrenceAttributes, "axis, reverse">,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          const TensorRef& a = call.input(0);
          const TensorRef& b = call.input(1);
          CAPSTAN_CHECK(is_differentiable(a.dtype()), DTypeError, call.op.name, ": dtype ", a.dtype(),
                        " is not supported", arguments({{"a", a}, {"b", b}}));
          CAPSTAN_CHECK(a.shape() == b.shape(), ShapeError, call.op.name, ": shapes differ, ", a.shape(), " and ",
                        b.shape(), arguments({{"a", a}, {"b", b}}));
          outputs.hand_on(view_around(call.op.name, a, call.attributes<RecurrenceAttributes>().axis));
          outputs.add(a.dtype(), a.shape());
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const auto& attributes = call.attributes<RecurrenceAttributes>();
          const auto& view = call.geometry<AxisView>();
          with_any_number_type(call.input(0).dtype(), [&]<class T>(T) {
            using W = Wide<T>;
            const T* a = call.input(0).data<T>();
            const T* b = call.input(1).data<T>();
            T* s = mutable_data<T>(outputs[0]);
            for_each_step(view, attributes.reverse, [&](std::int64_t before, std::int64_t at) {
              // A factor of 0 begins anew, even after something infinite; the first one is never read.
              const bool begins = before < 0 || static_cast<W>(a[at]) == W(0);
              s[at] = begins ? b[at] : T(static_cast<W>(b[at]) + static_cast<W>(a[at]) * static_cast<W>(s[before]));
            });
          });
        },
    .saves = {.inputs = 1, .outputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const auto& attributes = call.attributes<RecurrenceAttributes>();
          const int axis = attributes.axis;
          // What reaches b[k] is g[k], and what reaches s[k] from the next place.
          const Tensor next = conj(shift(call.input(0), axis, attributes.reverse));
          const Tensor b = linear_recurrence(next, call.cotangent(), axis, {.reverse = !attributes.reverse});
          if (call.needs(0)) cotangents[0] = b * conj(shift(call.output(), axis, !attributes.reverse));
          if (call.needs(1)) cotangents[1] = b;
        },
    .batch = batch_axis<&RecurrenceAttributes::axis>,
};

Tensor cumsum(Operand x, int axis, const CumulativeOptions& options) {
  const ScanAttributes attributes{axis, options.exclusive, options.reverse};
  return apply(kCumsum, x, &attributes);
}
Tensor cumprod(Operand x, int axis, const CumulativeOptions& options) {
  const ScanAttributes attributes{axis, options.exclusive, options.reverse};
  return apply(kCumprod, x, &attributes);
}
Tensor cumulative_logsumexp(Operand x, int axis, const CumulativeOptions& options) {
  const ScanAttributes attributes{axis, options.exclusive, options.reverse};
  return apply(kCumulativeLogsumexp, x, &attributes);
}
Tensor linear_recurrence(Operand a, Operand b, int axis, const ReverseOptions& options) {
  const RecurrenceAttributes attributes{axis, options.reverse};
  return apply(kLinearRecurrence, a, b, &attributes);
}

CAPSTAN_OPS(scan, &kCumsum, &kCumprod, &kCumulativeLogsumexp, &kLinearRecurrence);

}  // namespace capstan
