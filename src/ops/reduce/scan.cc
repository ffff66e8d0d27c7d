// Scans along an axis.
//
// The gradient of a running product is itself a linear recurrence, s[k] = b[k] + a[k] s[k-1], and
// the gradient of a linear recurrence is one in the other direction. So `linear_recurrence` is an
// op, and products need no division: zeros are no special case, in any order.
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/kernels/reduce/scan.h"
#include "src/ops/axis.h"
#include "src/ops/axes.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"

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

template <bool kFloatingOnly>
void infer_scan(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  CAPSTAN_CHECK(kFloatingOnly ? is_floating(x.dtype()) : x.dtype() != DType::kBool, DTypeError, call.op.name,
                ": dtype ", x.dtype(), " is not supported", arguments({{"x", x}}));
  outputs.hand_on(view_around(call.op.name, x, call.attributes<ScanAttributes>().axis));
  outputs.add(x.dtype(), x.shape());
}

template <Scan kScan>
void run_scan(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<ScanAttributes>();
  scan_along(kScan, x.dtype(), call.geometry<AxisView>(), attributes.exclusive, attributes.reverse, x.raw_data(),
             mutable_raw_data(outputs[0]));
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
    .kernel = run_scan<Scan::kSum>,
    .vjp = vjp_cumsum,
    .batch = batch_axis<&ScanAttributes::axis>,
};

constinit const OpDef kCumprod = {
    .name = "cumprod",
    .text = "Running products along an axis.",
    .attributes = &kScanAttributes,
    .infer = infer_scan<false>,
    .kernel = run_scan<Scan::kProduct>,
    .saves = {.inputs = 1},
    .vjp = vjp_cumprod,
    .batch = batch_axis<&ScanAttributes::axis>,
};

constinit const OpDef kCumulativeLogsumexp = {
    .name = "cumulative_logsumexp",
    .text = "Running logsumexp along an axis.",
    .attributes = &kScanAttributes,
    .infer = infer_scan<true>,
    .kernel = run_scan<Scan::kLogsumexp>,
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
          recur_along(call.input(0).dtype(), call.geometry<AxisView>(), call.attributes<RecurrenceAttributes>().reverse,
                      call.input(0).raw_data(), call.input(1).raw_data(), mutable_raw_data(outputs[0]));
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
