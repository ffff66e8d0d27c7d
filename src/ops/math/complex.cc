// Complex numbers and their parts: ops whose result has another dtype than their input, and conj.
//
// The gradient of a real L is dL/dRe + i dL/dIm, so the cotangent of a complex tensor holds both partial derivatives
// and the rules of `complex`, `real` and `imag` only take it apart or put it together. conj and angle are not analytic;
// their rules are here. What is analytic is a formula like any other (see UnaryOp::Complex in formula.h).
#include <algorithm>
#include <cmath>
#include <complex>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/thread_pool.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/identities.h"
#include "src/ops/math/complex.h"

namespace capstan {

namespace {

// Calls body(begin, end) for chunks of [0, count), which depend on the count only.
template <class Body>
void in_chunks(std::int64_t count, const Body& body) {
  constexpr std::int64_t kChunk = 32768;
  const std::int64_t chunks = (count + kChunk - 1) / kChunk;
  if (chunks <= 1) return body(0, count);
  parallel_for(chunks, [&](std::int64_t chunk) { body(chunk * kChunk, std::min(count, (chunk + 1) * kChunk)); });
}

void check_complex(const Call& call) {
  CAPSTAN_CHECK(is_complex(call.input(0).dtype()), DTypeError, call.op.name, ": dtype ", call.input(0).dtype(),
                " is not supported", arguments({{"x", call.input(0)}}));
}

void infer_part(const Call& call, OutputSpecs& outputs) {
  check_complex(call);
  outputs.add(real_dtype(call.input(0).dtype()), call.input(0).shape());
}
void infer_same(const Call& call, OutputSpecs& outputs) {
  check_complex(call);
  outputs.add(call.input(0).dtype(), call.input(0).shape());
}

// The kernel of a function of one complex number.
template <class Function>
void map_complex(const Call& call, std::span<Tensor> outputs) {
  const auto run = [&]<class T>(T) {
    const auto* in = call.input(0).data<std::complex<T>>();
    using Out = decltype(Function()(in[0]));
    auto* out = mutable_data<Out>(outputs[0]);
    in_chunks(call.input(0).size(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) out[i] = Function()(in[i]);
    });
  };
  if (call.input(0).dtype() == DType::kComplex64) return run(float{});
  run(double{});
}

struct RealPart {
  template <class T>
  T operator()(std::complex<T> z) const {
    return z.real();
  }
};
struct ImaginaryPart {
  template <class T>
  T operator()(std::complex<T> z) const {
    return z.imag();
  }
};
struct Conjugate {
  template <class T>
  std::complex<T> operator()(std::complex<T> z) const {
    return std::conj(z);
  }
};
struct Magnitude {
  template <class T>
  T operator()(std::complex<T> z) const {
    return std::hypot(z.real(), z.imag());
  }
};
struct Angle {
  template <class T>
  T operator()(std::complex<T> z) const {
    return std::atan2(z.imag(), z.real());
  }
};

// --- complex ---

void infer_complex(const Call& call, OutputSpecs& outputs) {
  const TensorRef& real = call.input(0);
  const TensorRef& imag = call.input(1);
  CAPSTAN_CHECK(real.dtype() == DType::kFloat32 || real.dtype() == DType::kFloat64, DTypeError, "complex: dtype ",
                real.dtype(), " is not supported", arguments({{"real", real}, {"imag", imag}}));
  CAPSTAN_CHECK(real.shape() == imag.shape(), ShapeError, "complex: shapes differ, ", real.shape(), " and ",
                imag.shape());
  outputs.add(complex_dtype(real.dtype()), real.shape());
}

void run_complex(const Call& call, std::span<Tensor> outputs) {
  const auto run = [&]<class T>(T) {
    const T* real = call.input(0).data<T>();
    const T* imag = call.input(1).data<T>();
    auto* out = mutable_data<std::complex<T>>(outputs[0]);
    in_chunks(call.input(0).size(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) out[i] = {real[i], imag[i]};
    });
  };
  if (call.input(0).dtype() == DType::kFloat32) return run(float{});
  run(double{});
}

}  // namespace

constinit const OpDef kComplex = {
    .name = "complex",
    .text = "Complex numbers of their real and imaginary parts.",
    .flags = kLinear,
    .inputs = "real, imag",
    .infer = infer_complex,
    .kernel = run_complex,
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          if (call.needs(0)) cotangents[0] = real(call.cotangent());
          if (call.needs(1)) cotangents[1] = imag(call.cotangent());
        },
    .batch = batch_leading,
    .compose = [](std::span<const Operand> inputs, const void*,
                  std::vector<Tensor>& outputs) { outputs.push_back(complex(inputs[0], inputs[1])); },
};

constinit const OpDef kReal = {
    .name = "real",
    .text = "The real part.",
    .flags = kLinear,
    .infer = infer_part,
    .kernel = map_complex<RealPart>,
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          cotangents[0] = complex(call.cotangent(), zeros_like(call.cotangent()));
        },
    .batch = batch_leading,
    .compose = [](std::span<const Operand> inputs, const void*,
                  std::vector<Tensor>& outputs) { outputs.push_back(real(inputs[0])); },
};

constinit const OpDef kImag = {
    .name = "imag",
    .text = "The imaginary part.",
    .flags = kLinear,
    .infer = infer_part,
    .kernel = map_complex<ImaginaryPart>,
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          cotangents[0] = complex(zeros_like(call.cotangent()), call.cotangent());
        },
    .batch = batch_leading,
    .compose = [](std::span<const Operand> inputs, const void*,
                  std::vector<Tensor>& outputs) { outputs.push_back(imag(inputs[0])); },
};

constinit const OpDef kConj = {
    .name = "conj",
    .text = "The complex conjugate.",
    .flags = kLinear,
    .infer = infer_same,
    .kernel = map_complex<Conjugate>,
    .vjp = [](const VjpCall& call, std::span<Tensor> cotangents) { cotangents[0] = conj(call.cotangent()); },
    .batch = batch_leading,
    .compose = [](std::span<const Operand> inputs, const void*,
                  std::vector<Tensor>& outputs) { outputs.push_back(conj(inputs[0])); },
    .programs = &kWithIdentity<undone>,
};

// The cotangent times x / |x|, and 0 at 0.
constinit const OpDef kComplexAbs = {
    .name = "complex_abs",
    .text = "The magnitude of complex numbers.",
    .infer = infer_part,
    .kernel = map_complex<Magnitude>,
    .saves = {.inputs = 1, .outputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const Tensor& x = call.input(0);
          cotangents[0] = divide_no_nan(cast(call.cotangent(), x.dtype()) * x, cast(call.output(), x.dtype()));
        },
    .batch = batch_leading,
};

// The derivatives of atan2: -Im / |x|^2 for the real part, Re / |x|^2 for the imaginary one.
constinit const OpDef kAngle = {
    .name = "angle",
    .text = "The angle of complex numbers with the first axis.",
    .infer = infer_part,
    .kernel = map_complex<Angle>,
    .saves = {.inputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const Tensor re = real(call.input(0));
          const Tensor im = imag(call.input(0));
          const Tensor scaled = call.cotangent() / (re * re + im * im);
          cotangents[0] = complex(-(scaled * im), scaled * re);
        },
    .batch = batch_leading,
    .compose = [](std::span<const Operand> inputs, const void*,
                  std::vector<Tensor>& outputs) { outputs.push_back(angle(inputs[0])); },
};

Tensor complex(Operand real, Operand imag) try {
  // A number takes the dtype of the tensor beside it.
  Tensor re = real.is_literal() ? Tensor() : to_tensor(real);
  Tensor im = imag.is_literal() ? Tensor() : to_tensor(imag);
  if (real.is_literal()) re = to_tensor(real, im.has_value() ? im.dtype() : DType::kFloat32);
  if (imag.is_literal()) im = to_tensor(imag, re.dtype());
  CAPSTAN_CHECK(re.has_value() && im.has_value(), ValueError, "complex: argument ", re.has_value() ? 1 : 0,
                " is an empty tensor");
  if (re.shape() != im.shape() && re.dtype() == im.dtype()) {
    const Shape shape = broadcast_shapes("complex", re.shape(), im.shape());
    if (re.shape() != shape) re = broadcast_to(re, shape);
    if (im.shape() != shape) im = broadcast_to(im, shape);
  }
  return apply(kComplex, re, im);
} catch (const Error&) {
  rethrow_as("complex");
}

Tensor real(Operand x) try {
  if (is_complex_operand(x)) return apply(kReal, x);
  return to_tensor(x);
} catch (const Error&) {
  rethrow_as("real");
}
Tensor imag(Operand x) try {
  if (is_complex_operand(x)) return apply(kImag, x);
  return zeros_like(x);
} catch (const Error&) {
  rethrow_as("imag");
}
Tensor conj(Operand x) try {
  if (is_complex_operand(x)) return apply(kConj, x);
  return to_tensor(x);
} catch (const Error&) {
  rethrow_as("conj");
}
Tensor complex_abs(Operand x) { return apply(kComplexAbs, x); }
Tensor angle(Operand x) try {
  if (is_complex_operand(x)) return apply(kAngle, x);
  const Tensor value = to_tensor(x);
  CAPSTAN_CHECK(is_floating(value.dtype()), DTypeError, "angle: dtype ", value.dtype(), " is not supported",
                arguments({{"x", value}}));
  // Adding x times zero keeps a NaN, and a gradient that is zero.
  return where(less(value, 0.0), 3.14159265358979323846, 0.0 * value);
} catch (const Error&) {
  rethrow_as("angle");
}

CAPSTAN_OPS(complex, &kComplex, &kReal, &kImag, &kConj, &kComplexAbs, &kAngle);

}  // namespace capstan
