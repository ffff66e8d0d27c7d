// Running extrema.
//
// Each element of the result is a copy of one element of the argument. A second output says of which, so the gradient
// is a scatter to those places, and the gradient of that a gather.
#include <span>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/kernels/with_type.h"
#include "src/ops/axis.h"
#include "src/ops/axes.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/rows.h"

namespace capstan {

namespace {

struct RunningAttributes {
  Axis axis = 0;
  bool reverse = false;
};
constexpr const AttributeType& kRunningAttributes = attribute_table<RunningAttributes, "axis, reverse">;

void infer_running(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  CAPSTAN_CHECK(is_floating(x.dtype()) || is_integer(x.dtype()), DTypeError, call.op.name, ": dtype ", x.dtype(),
                " is not supported", arguments({{"x", x}}));
  const AxisView view = view_around(call.op.name, x, call.attributes<RunningAttributes>().axis);
  CAPSTAN_CHECK(view.n <= INT32_MAX, ShapeError, call.op.name, ": ", view.n, " elements in a row are more than ",
                INT32_MAX);
  outputs.hand_on(view);
  outputs.add(x.dtype(), x.shape());
  outputs.add(DType::kInt32, x.shape());
}

template <bool largest>
void running_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const auto& attributes = call.attributes<RunningAttributes>();
  const auto [outer, n, inner] = call.geometry<AxisView>();
  auto* places = mutable_data<std::int32_t>(outputs[1]);
  with_real_type(x.dtype(), [&]<class T>(T) {
    const T* in = x.data<T>();
    T* out = mutable_data<T>(outputs[0]);
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t k = attributes.reverse ? n - 1 - i : i;
        const std::int64_t row = (o * n + k) * inner;
        const std::int64_t before = row + (attributes.reverse ? inner : -inner);
        for (std::int64_t j = 0; j < inner; ++j) {
          const T value = in[row + j];
          // Once NaN, always NaN.
          const bool wins =
              i == 0 || (!(out[before + j] != out[before + j]) &&
                         ((largest ? value > out[before + j] : value < out[before + j]) || value != value));
          out[row + j] = wins ? value : out[before + j];
          places[row + j] = wins ? static_cast<std::int32_t>(k) : places[before + j];
        }
      }
    }
  });
}

void running_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (!call.needs(0)) return;
  const Tensor& x = call.input(0);
  if (x.size() == 0) {
    cotangents[0] = zeros_like(x);
    return;
  }
  const int axis = normalize_axis("cummax", call.attributes<RunningAttributes>().axis, x.rank());
  const Tensor columns = cast(rows_along(call.output(1), axis), DType::kInt64);
  const Tensor numbers = reshape(cast(range(static_cast<long>(columns.dim(0))), DType::kInt64), {columns.dim(0), 1});
  const Tensor places = stack({broadcast_to(numbers, columns.shape()), columns}, 2);
  cotangents[0] = rows_back(scatter_nd(places, rows_along(call.cotangent(), axis), columns.shape()), x.shape(), axis);
}

}  // namespace

constinit const OpDef kCummax = {
    .name = "cummax",
    .text = "The largest element so far along an axis, and its place.",
    .outputs = 2,
    .attributes = &kRunningAttributes,
    .infer = infer_running,
    .kernel = running_kernel<true>,
    .saves = {.outputs = 0b10},
    .vjp = running_vjp,
    .batch = batch_axis<&RunningAttributes::axis>,
};
constinit const OpDef kCummin = {
    .name = "cummin",
    .text = "The smallest element so far along an axis, and its place.",
    .outputs = 2,
    .attributes = &kRunningAttributes,
    .infer = infer_running,
    .kernel = running_kernel<false>,
    .saves = {.outputs = 0b10},
    .vjp = running_vjp,
    .batch = batch_axis<&RunningAttributes::axis>,
};

Tensor cummax(Operand x, int axis, const ReverseOptions& options) {
  const RunningAttributes attributes{axis, options.reverse};
  return apply_all(kCummax, std::span(&x, 1), &attributes)[0];
}
Tensor cummin(Operand x, int axis, const ReverseOptions& options) {
  const RunningAttributes attributes{axis, options.reverse};
  return apply_all(kCummin, std::span(&x, 1), &attributes)[0];
}

CAPSTAN_OPS(scan_extremum, &kCummax, &kCummin);

}  // namespace capstan
