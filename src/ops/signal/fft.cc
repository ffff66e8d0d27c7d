// Discrete Fourier transforms.
//
// The transform is linear and symmetric, so its adjoint is the inverse transform without the division, and the other
// way round: gradients of any order are transforms again. Those of real numbers keep half of the result, because the
// other half are its conjugates; their adjoints give the missing half back (rfft) or count it twice (irfft).
#include <algorithm>
#include <complex>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/signal.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/kernels/signal/fft.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/lengths.h"

namespace capstan {

namespace {

// The lengths of a transform of real numbers; rank 0 if none are given.
struct FftLength {
  Lengths lengths;
};
void set_field(FftLength& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  field = {};
  if (value.kind == AttributeValue::Kind::kNone) return;
  field.lengths = pack_lengths(op, Shape(integers_of(value, op, name)));
}
AttributeValue get_field(const FftLength& field) {
  if (field.lengths.rank == 0) return {};
  return list_of(field.lengths.shape());
}

struct RealFftAttributes {
  FftLength fft_length;
};
constexpr const AttributeType& kRealFftAttributes = attribute_table<RealFftAttributes, "fft_length">;

// How many elements of a transform of n real numbers are kept.
std::int64_t half_of(std::int64_t n) { return n == 0 ? 0 : n / 2 + 1; }

void check_rank(const Call& call, int rank) {
  const TensorRef& x = call.input(0);
  CAPSTAN_CHECK(x.rank() >= rank, ShapeError, call.op.name, ": needs rank ", rank, " or more, not ", x.rank(),
                arguments({{"x", x}}));
}

// Transforms along the last `axes` axes but the last `skip` of all; `out` holds the result and may be the input.
template <class T>
void transform_axes(bool inverse, const Shape& shape, int axes, int skip, const std::complex<T>* in,
                    std::complex<T>* out) {
  for (int i = 1 + skip; i <= axes; ++i) {
    const AxisView view = view_around(shape, shape.rank() - i);
    fft_axis(inverse, view.outer, view.n, view.inner, in, out);
    in = out;
  }
}

template <class T>
void divide_by(std::int64_t number, std::int64_t count, T* data) {
  const auto divisor = static_cast<T>(number);
  for (std::int64_t i = 0; i < count; ++i) data[i] /= divisor;
}

std::int64_t transformed(const Shape& shape, int axes) {
  std::int64_t count = 1;
  for (int i = 1; i <= axes; ++i) count *= shape[-i];
  return count;
}

// --- Of complex numbers ---

template <int kAxes>
void infer_fft(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  CAPSTAN_CHECK(is_complex(x.dtype()), DTypeError, call.op.name, ": dtype ", x.dtype(), " is not supported",
                arguments({{"x", x}}), help("use rfft for real numbers"));
  check_rank(call, kAxes);
  outputs.add(x.dtype(), x.shape());
}

template <int kAxes, bool kInverse>
void run_fft(const Call& call, std::span<Tensor> outputs) {
  const Shape shape = call.input(0).shape();
  if (call.input(0).size() == 0) return;
  const auto run = [&]<class T>(T) {
    auto* out = mutable_data<std::complex<T>>(outputs[0]);
    transform_axes(kInverse, shape, kAxes, 0, call.input(0).data<std::complex<T>>(), out);
    // The parts one after the other: a complex quotient would be slower and no different.
    if (kInverse) divide_by(transformed(shape, kAxes), 2 * shape.size(), reinterpret_cast<T*>(out));
  };
  if (call.input(0).dtype() == DType::kComplex64) return run(float{});
  run(double{});
}

template <int kAxes, bool kInverse>
Tensor transform(Operand x);

template <int kAxes, bool kInverse>
void vjp_fft(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto count = static_cast<double>(transformed(call.input(0).shape(), kAxes));
  if (count == 0) {
    cotangents[0] = call.cotangent();
  } else if (kInverse) {
    cotangents[0] = transform<kAxes, false>(call.cotangent()) / count;
  } else {
    cotangents[0] = transform<kAxes, true>(call.cotangent()) * count;
  }
}

// --- Of real numbers ---

template <int kAxes>
void infer_rfft(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  CAPSTAN_CHECK(x.dtype() == DType::kFloat32 || x.dtype() == DType::kFloat64, DTypeError, call.op.name, ": dtype ",
                x.dtype(), " is not supported", arguments({{"x", x}}));
  check_rank(call, kAxes);
  Shape shape = x.shape();
  shape.set(-1, half_of(shape[-1]));
  outputs.add(complex_dtype(x.dtype()), shape);
}

template <int kAxes>
void run_rfft(const Call& call, std::span<Tensor> outputs) {
  const Shape shape = call.input(0).shape();
  if (shape.size() == 0) return;
  const auto run = [&]<class T>(T) {
    auto* out = mutable_data<std::complex<T>>(outputs[0]);
    fft_real(shape.size() / shape[-1], shape[-1], call.input(0).data<T>(), out);
    transform_axes<T>(false, outputs[0].shape(), kAxes, 1, out, out);
  };
  if (call.input(0).dtype() == DType::kFloat32) return run(float{});
  run(double{});
}

// Zeros after the last axis, so that it has length n.
Tensor pad_last(const Tensor& x, std::int64_t n) {
  PadWidth widths[kMaxRank];
  widths[x.rank() - 1].after = n - x.dim(-1);
  return pad(x, std::span<const PadWidth>(widths, static_cast<std::size_t>(x.rank())));
}

// The real part of the adjoint of the whole transform, to which the half that was dropped contributes nothing.
template <int kAxes>
void vjp_rfft(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& x = call.input(0);
  if (x.size() == 0) {
    cotangents[0] = zeros_like(x);
    return;
  }
  const Tensor whole = transform<kAxes, true>(pad_last(call.cotangent(), x.dim(-1)));
  cotangents[0] = real(whole) * static_cast<double>(transformed(x.shape(), kAxes));
}

// The attributes hold the lengths of the result; the function has cut or padded the input to fit.
template <int kAxes>
void infer_irfft(const Call& call, OutputSpecs& outputs) {
  const TensorRef& x = call.input(0);
  CAPSTAN_CHECK(is_complex(x.dtype()), DTypeError, call.op.name, ": dtype ", x.dtype(), " is not supported",
                arguments({{"x", x}}));
  check_rank(call, kAxes);
  Shape shape = x.shape();
  const Shape lengths = call.attributes<RealFftAttributes>().fft_length.lengths.shape();
  for (int i = 1; i <= kAxes; ++i) shape.set(-i, lengths[-i]);
  outputs.add(real_dtype(x.dtype()), shape);
}

template <int kAxes>
void run_irfft(const Call& call, std::span<Tensor> outputs) {
  const Shape shape = outputs[0].shape();
  if (shape.size() == 0) return;
  const auto run = [&]<class T>(T) {
    const auto* in = call.input(0).data<std::complex<T>>();
    T* out = mutable_data<T>(outputs[0]);
    Tensor between;
    if (kAxes > 1) {
      between = new_tensor(call.input(0).dtype(), call.input(0).shape());
      auto* columns = mutable_data<std::complex<T>>(between);
      transform_axes(true, between.shape(), kAxes, 1, in, columns);
      in = columns;
    }
    fft_to_real(shape.size() / shape[-1], shape[-1], in, out);
    divide_by(transformed(shape, kAxes), shape.size(), out);
  };
  if (call.input(0).dtype() == DType::kComplex64) return run(float{});
  run(double{});
}

// How often an element along the last axis is in the whole transform of n real numbers: 1, 2, 2, ..., and 1 for the
// last one of an even n.
Tensor multiplicities(std::int64_t n, DType dtype) {
  const std::int64_t half = half_of(n);
  Tensor counts = new_tensor(dtype, Shape{half});
  const auto fill = [&]<class T>(T) {
    auto* data = mutable_data<std::complex<T>>(counts);
    for (std::int64_t k = 0; k < half; ++k) data[k] = k == 0 || 2 * k == n ? T(1) : T(2);
  };
  if (dtype == DType::kComplex64) {
    fill(float{});
  } else {
    fill(double{});
  }
  return counts;
}

template <int kAxes>
Tensor transform_real(Operand x);

template <int kAxes>
void vjp_irfft(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& g = call.cotangent();
  if (g.size() == 0) {
    cotangents[0] = zeros_like(call.input(0));
    return;
  }
  const auto count = static_cast<double>(transformed(g.shape(), kAxes));
  cotangents[0] = transform_real<kAxes>(g) * (multiplicities(g.dim(-1), complex_dtype(g.dtype())) / count);
}

// Cuts or pads the last axes with zeros.
Tensor fit(const Tensor& x, const Shape& lengths) {
  Shape begin;
  Shape size = x.shape();
  PadWidth widths[kMaxRank];
  bool cuts = false;
  bool pads = false;
  for (int i = 0; i < x.rank(); ++i) begin.push_back(0);
  for (int i = 1; i <= lengths.rank(); ++i) {
    cuts |= lengths[-i] < size[-i];
    pads |= lengths[-i] > size[-i];
    widths[x.rank() - i].after = std::max<std::int64_t>(0, lengths[-i] - size[-i]);
    size.set(-i, std::min(size[-i], lengths[-i]));
  }
  Tensor result = cuts ? slice(x, begin, size) : x;
  return pads ? pad(result, std::span<const PadWidth>(widths, static_cast<std::size_t>(x.rank()))) : result;
}

// The lengths that are asked for, checked.
Shape asked_lengths(std::string_view op, const std::optional<Shape>& given, int axes) {
  CAPSTAN_CHECK(given->rank() == axes, ValueError, op, ": fft_length has ", given->rank(), " lengths for ", axes,
                axes == 1 ? " axis" : " axes");
  for (std::int64_t length : *given) {
    CAPSTAN_CHECK(length >= 0, ValueError, op, ": negative fft_length ", length, " in ", *given);
  }
  return *given;
}

std::optional<Shape> given_lengths(const void* attributes) {
  const Lengths& lengths = static_cast<const RealFftAttributes*>(attributes)->fft_length.lengths;
  if (lengths.rank == 0) return {};
  return lengths.shape();
}

// --- The ops ---

template <int kAxes, bool kInverse>
constexpr OpDef fft_op(std::string_view name, std::string_view text) {
  return {
      .name = name,
      .text = text,
      .flags = kLinear,
      .infer = infer_fft<kAxes>,
      .kernel = run_fft<kAxes, kInverse>,
      .vjp = vjp_fft<kAxes, kInverse>,
      .batch = batch_leading,
  };
}

template <int kAxes>
constexpr OpDef rfft_op(std::string_view name, std::string_view text, Compose compose) {
  return {
      .name = name,
      .text = text,
      .flags = kLinear,
      .attributes = &kRealFftAttributes,
      .infer = infer_rfft<kAxes>,
      .kernel = run_rfft<kAxes>,
      .vjp = vjp_rfft<kAxes>,
      .batch = batch_leading,
      .compose = compose,
  };
}

template <int kAxes>
constexpr OpDef irfft_op(std::string_view name, std::string_view text, Compose compose) {
  return {
      .name = name,
      .text = text,
      .flags = kLinear,
      .attributes = &kRealFftAttributes,
      .infer = infer_irfft<kAxes>,
      .kernel = run_irfft<kAxes>,
      .vjp = vjp_irfft<kAxes>,
      .batch = batch_leading,
      .compose = compose,
  };
}

// The function of one axis takes one length, the others a list.
void compose_rfft(std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs);
void compose_irfft(std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs);
template <Tensor (*kFunction)(Operand, const std::optional<Shape>&)>
void compose_real(std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
  outputs.push_back(kFunction(inputs[0], given_lengths(attributes)));
}

constinit const OpDef kFft = fft_op<1, false>("fft", "The discrete Fourier transform along the last axis.");
constinit const OpDef kIfft = fft_op<1, true>("ifft", "The inverse of fft.");
constinit const OpDef kFft2d = fft_op<2, false>("fft2d", "The discrete Fourier transform along the last two axes.");
constinit const OpDef kIfft2d = fft_op<2, true>("ifft2d", "The inverse of fft2d.");
constinit const OpDef kFft3d = fft_op<3, false>("fft3d", "The discrete Fourier transform along the last three axes.");
constinit const OpDef kIfft3d = fft_op<3, true>("ifft3d", "The inverse of fft3d.");
constinit const OpDef kRfft =
    rfft_op<1>("rfft", "The Fourier transform of real numbers: the half that tells the other.", compose_rfft);
constinit const OpDef kRfft2d =
    rfft_op<2>("rfft2d", "rfft along the last axis, fft along the one before.", compose_real<rfft2d>);
constinit const OpDef kRfft3d =
    rfft_op<3>("rfft3d", "rfft along the last axis, fft along the two before.", compose_real<rfft3d>);
constinit const OpDef kIrfft = irfft_op<1>("irfft", "The inverse of rfft.", compose_irfft);
constinit const OpDef kIrfft2d = irfft_op<2>("irfft2d", "The inverse of rfft2d.", compose_real<irfft2d>);
constinit const OpDef kIrfft3d = irfft_op<3>("irfft3d", "The inverse of rfft3d.", compose_real<irfft3d>);

template <int kAxes, bool kInverse>
const OpDef& op_of() {
  if constexpr (kAxes == 1) {
    return kInverse ? kIfft : kFft;
  } else if constexpr (kAxes == 2) {
    return kInverse ? kIfft2d : kFft2d;
  } else {
    return kInverse ? kIfft3d : kFft3d;
  }
}
template <int kAxes, bool kInverse>
Tensor transform(Operand x) {
  return apply(op_of<kAxes, kInverse>(), x);
}
template <int kAxes>
Tensor transform_real(Operand x) {
  const RealFftAttributes attributes;
  return apply(kAxes == 1 ? kRfft : kAxes == 2 ? kRfft2d : kRfft3d, x, &attributes);
}

template <int kAxes>
Tensor real_transform(std::string_view op, Operand x, const std::optional<Shape>& fft_length) {
  if (!fft_length.has_value()) return transform_real<kAxes>(x);
  const Shape lengths = asked_lengths(op, fft_length, kAxes);
  const Tensor value = to_tensor(x);
  // Other dtypes, and too few axes, are the op's errors.
  if (value.rank() < kAxes || !is_floating(value.dtype())) return transform_real<kAxes>(value);
  return transform_real<kAxes>(fit(value, lengths));
}

template <int kAxes>
Tensor inverse_real(const OpDef& op, Operand x, const std::optional<Shape>& fft_length) {
  const Tensor value = to_tensor(x);
  CAPSTAN_CHECK(value.rank() >= kAxes, ShapeError, op.name, ": needs rank ", kAxes, " or more, not ", value.rank(),
                arguments({{"x", value}}));
  Shape lengths;
  if (fft_length.has_value()) {
    lengths = asked_lengths(op.name, fft_length, kAxes);
  } else {
    for (int i = kAxes; i > 1; --i) lengths.push_back(value.dim(-i));
    lengths.push_back(std::max<std::int64_t>(0, 2 * (value.dim(-1) - 1)));
  }
  RealFftAttributes attributes;
  attributes.fft_length.lengths = pack_lengths(op.name, lengths);
  Shape spectrum = lengths;
  spectrum.set(-1, half_of(lengths[-1]));
  return apply(op, fit(value, spectrum), &attributes);
}

std::optional<Shape> as_shape(std::optional<std::int64_t> length) {
  if (!length.has_value()) return {};
  return Shape{*length};
}

void compose_rfft(std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
  outputs.push_back(real_transform<1>("rfft", inputs[0], given_lengths(attributes)));
}
void compose_irfft(std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
  outputs.push_back(inverse_real<1>(kIrfft, inputs[0], given_lengths(attributes)));
}

}  // namespace

Tensor fft(Operand x) { return transform<1, false>(x); }
Tensor ifft(Operand x) { return transform<1, true>(x); }
Tensor fft2d(Operand x) { return transform<2, false>(x); }
Tensor ifft2d(Operand x) { return transform<2, true>(x); }
Tensor fft3d(Operand x) { return transform<3, false>(x); }
Tensor ifft3d(Operand x) { return transform<3, true>(x); }
Tensor rfft(Operand x, std::optional<std::int64_t> fft_length) {
  return real_transform<1>("rfft", x, as_shape(fft_length));
}
Tensor rfft2d(Operand x, const std::optional<Shape>& fft_length) { return real_transform<2>("rfft2d", x, fft_length); }
Tensor rfft3d(Operand x, const std::optional<Shape>& fft_length) { return real_transform<3>("rfft3d", x, fft_length); }
Tensor irfft(Operand x, std::optional<std::int64_t> fft_length) try {
  return inverse_real<1>(kIrfft, x, as_shape(fft_length));
} catch (const Error&) {
  rethrow_as("irfft");
}
Tensor irfft2d(Operand x, const std::optional<Shape>& fft_length) try {
  return inverse_real<2>(kIrfft2d, x, fft_length);
} catch (const Error&) {
  rethrow_as("irfft2d");
}
Tensor irfft3d(Operand x, const std::optional<Shape>& fft_length) try {
  return inverse_real<3>(kIrfft3d, x, fft_length);
} catch (const Error&) {
  rethrow_as("irfft3d");
}

CAPSTAN_OPS(fft, &kFft, &kIfft, &kFft2d, &kIfft2d, &kFft3d, &kIfft3d, &kRfft, &kRfft2d, &kRfft3d, &kIrfft, &kIrfft2d,
            &kIrfft3d);

}  // namespace capstan
