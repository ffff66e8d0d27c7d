// Ops that change nothing but the dtype, or what a tape knows: cast, identity, stop_gradient.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/op_def.h"
#include "src/core/thread_pool.h"
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

// One element. Floating numbers lose their fraction; those that an integer type cannot hold give its nearest value, NaN
// gives 0. Integers wrap around. A complex number that becomes a real one loses its imaginary part.
template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<From, To>) {
    return value;
  } else if constexpr (is_complex(kDTypeOf<From>)) {
    if constexpr (is_complex(kDTypeOf<To>)) {
      return To(value);
    } else if constexpr (std::is_same_v<To, bool>) {
      return value != From{};
    } else {
      return convert<To>(value.real());
    }
  } else if constexpr (is_complex(kDTypeOf<To>)) {
    return To(convert<typename To::value_type>(value));
  } else if constexpr (std::is_same_v<From, BFloat16>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return BFloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using Limits = std::numeric_limits<To>;
    // The bounds as floating numbers: the lower one is exact, the upper one is the first that is too large.
    constexpr From low = static_cast<From>(Limits::min());
    const From high = std::ldexp(From{1}, Limits::digits);
    if (value != value) return To{0};
    if (value < low) return Limits::min();
    if (value >= high) return Limits::max();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
void convert_run(const void* in, void* out, std::int64_t begin, std::int64_t end) {
  const From* from = static_cast<const From*>(in);
  To* to = static_cast<To*>(out);
  for (std::int64_t i = begin; i < end; ++i) to[i] = convert<To>(from[i]);
}

using ConvertRun = void (*)(const void* in, void* out, std::int64_t begin, std::int64_t end);

template <class From>
ConvertRun run_to(DType to) {
  switch (to) {
    case DType::kFloat32:
      return &convert_run<From, float>;
    case DType::kFloat64:
      return &convert_run<From, double>;
    case DType::kBFloat16:
      return &convert_run<From, BFloat16>;
    case DType::kInt32:
      return &convert_run<From, std::int32_t>;
    case DType::kInt64:
      return &convert_run<From, std::int64_t>;
    case DType::kUInt8:
      return &convert_run<From, std::uint8_t>;
    case DType::kBool:
      return &convert_run<From, bool>;
    case DType::kComplex64:
      return &convert_run<From, std::complex<float>>;
    case DType::kComplex128:
      return &convert_run<From, std::complex<double>>;
  }
  return nullptr;
}

ConvertRun find_run(DType from, DType to) {
  switch (from) {
    case DType::kFloat32:
      return run_to<float>(to);
    case DType::kFloat64:
      return run_to<double>(to);
    case DType::kBFloat16:
      return run_to<BFloat16>(to);
    case DType::kInt32:
      return run_to<std::int32_t>(to);
    case DType::kInt64:
      return run_to<std::int64_t>(to);
    case DType::kUInt8:
      return run_to<std::uint8_t>(to);
    case DType::kBool:
      return run_to<bool>(to);
    case DType::kComplex64:
      return run_to<std::complex<float>>(to);
    case DType::kComplex128:
      return run_to<std::complex<double>>(to);
  }
  return nullptr;
}

void cast_infer(const Call& call, OutputSpecs& outputs) {
  outputs.add(call.attributes<CastAttributes>().dtype, call.input(0).shape());
}

void cast_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& x = call.input(0);
  const ConvertRun run = find_run(x.dtype(), outputs[0].dtype());
  void* out = mutable_raw_data(outputs[0]);
  constexpr std::int64_t kChunk = 32768;
  const std::int64_t chunks = (x.size() + kChunk - 1) / kChunk;
  if (chunks <= 1) {
    run(x.raw_data(), out, 0, x.size());
    return;
  }
  parallel_for(chunks, [&](std::int64_t chunk) {
    run(x.raw_data(), out, chunk * kChunk, std::min(x.size(), (chunk + 1) * kChunk));
  });
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
