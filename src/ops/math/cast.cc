// Ops that change nothing but the dtype, or what a tape knows: cast, identity, stop_gradient.
#include <cmath>
#include <limits>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/op_def.h"
#include "src/kernels/math/convert.h"
#include "src/ops/array/shape.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/identities.h"

namespace capstan {

namespace {

// --- cast ---

struct CastAttributes {
  DType dtype = DType::kFloat32;
};

void cast_infer(const Call& call, OutputSpecs& outputs) {
  outputs.add(call.attributes<CastAttributes>().dtype, call.input(0).shape());
}

void cast_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  convert_elements(x.dtype(), outputs[0].dtype(), x.size(), x.raw_data(), mutable_raw_data(outputs[0]));
}

// Integers carry no gradient, in either direction. Back from a complex cotangent to a real one the real part remains.
void cast_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  const DType from = call.input(0).dtype();
  if (is_differentiable(from) && is_differentiable(call.cotangent().dtype()))
    cotangents[0] = cast(call.cotangent(), from);
}

// --- identity and stop_gradient ---

void identity_vjp(const VjpCall& call, std::span<Tensor> cotangents) { cotangents[0] = call.cotangent(); }

namespace {

// Whether each number of one dtype is a number of the other.
bool holds(DType dtype, DType all_of) {
  switch (all_of) {
    case DType::kBool:
      return true;
    case DType::kUInt8:
      return dtype == DType::kInt32 || dtype == DType::kInt64 || dtype == DType::kFloat32 || dtype == DType::kFloat64;
    case DType::kInt32:
      return dtype == DType::kInt64 || dtype == DType::kFloat64;
    case DType::kBFloat16:
      return dtype == DType::kFloat32 || dtype == DType::kFloat64;
    case DType::kFloat32:
      return dtype == DType::kFloat64;
    default:
      return false;
  }
}

// A cast to the same dtype, or to a larger one and back.
Expressions::Value cast_back(const Expressions& graph, const Expressions::Call& call) {
  const DType to = graph.dtype(call.result);
  const DType between = graph.dtype(call.input(0));
  if (to == between) return call.input(0);
  const Expressions::Call* const maker = graph.maker(call.input(0));
  if (maker == nullptr || maker->op != call.op || graph.dtype(maker->input(0)) != to) return Expressions::kNone;
  return holds(between, to) ? maker->input(0) : Expressions::kNone;
}

}  // namespace

constinit const OpDef kCast = {
    .name = "cast",
    .text = "The same numbers in another dtype.",
    .flags = kKeepsRowSparse | kLinear | kCheapAgain,
    .attributes = &attribute_table<CastAttributes, "dtype", 1>,
    .infer = &cast_infer,
    .kernel = &cast_kernel,
    .shape_inputs = 0,
    .vjp = &cast_vjp,
    .batch = batch_leading,
    .programs = &kWithIdentity<cast_back>,
};

constinit const OpDef kSaturateCast = composite<&saturate_cast, "x, dtype">(
    "saturate_cast", "The same numbers in another dtype; those that it cannot hold become the nearest that it can.");

constinit const OpDef kIdentity = {
    .name = "identity",
    .text = "A new tensor with the same elements.",
    .flags = kKeepsRowSparse | kReturnsViews | kReshapes | kLinear,
    .infer = &infer_first,
    .kernel = &view_first,
    .vjp = &identity_vjp,
    .batch = batch_leading,
};

constinit const OpDef kStopGradient = {
    .name = "stop_gradient",
    .text = "A new tensor with the same elements, which no tape connects with x.",
    .flags = kNotDifferentiable | kReturnsViews | kReshapes,
    .infer = &infer_first,
    .kernel = &view_first,
    .batch = batch_leading,
};

// The smallest and largest finite number of a dtype.
struct Range {
  double low;
  double high;
};
Range range_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return {std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()};
    case DType::kBFloat16:
      return {-0x1.fep127, 0x1.fep127};
    case DType::kInt32:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    case DType::kInt64:
      return {static_cast<double>(std::numeric_limits<std::int64_t>::min()), 0x1p63};
    case DType::kUInt8:
      return {0, 255};
    case DType::kBool:
      return {0, 1};
    default:
      return {std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()};
  }
}

// A bound as a scalar of `dtype`, rounded towards zero so that converting it back fits.
Tensor bound(double value, DType dtype) {
  if (dtype == DType::kFloat32 && std::fabs(static_cast<double>(static_cast<float>(value))) > std::fabs(value)) {
    value = std::nextafter(static_cast<float>(value), 0.0f);
  }
  return scalar(value, dtype);
}

}  // namespace

Tensor cast(Operand x, DType dtype) {
  if (x.is_literal()) return cast(to_tensor(x), dtype);
  const bool same = x.kind() == Operand::Kind::kLent && x.lent() != nullptr && x.lent()->dtype == dtype;
  if (same || (x.kind() == Operand::Kind::kGiven && x.given()->has_value() && x.given()->dtype() == dtype)) {
    return take(x);
  }
  const CastAttributes attributes{dtype};
  return apply(kCast, x, &attributes);
}

Tensor saturate_cast(Operand x, DType dtype) try {
  const Tensor value = to_tensor(x);
  CAPSTAN_CHECK(!is_complex(value.dtype()) && !is_complex(dtype), DTypeError, "saturate_cast: dtype ",
                is_complex(dtype) ? dtype : value.dtype(), " is not supported", arguments({{"x", value}}));
  const Range from = range_of(value.dtype());
  const Range to = range_of(dtype);
  Tensor clipped = value;
  if (to.low > from.low) clipped = maximum(clipped, bound(to.low, value.dtype()));
  if (to.high < from.high) clipped = minimum(clipped, bound(to.high, value.dtype()));
  return cast(clipped, dtype);
} catch (const Error&) {
  rethrow_as("saturate_cast");
}

Tensor identity(Operand x) { return apply(kIdentity, x); }
Tensor stop_gradient(Operand x) { return apply(kStopGradient, x); }

CAPSTAN_OPS(cast, &kCast, &kSaturateCast, &kIdentity, &kStopGradient);

}  // namespace capstan
