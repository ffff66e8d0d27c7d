// Products of matrices.
//
// matmul is the op; matvec is matmul between reshapes, so it needs no rule. The gradient of a
// product is two products, with the transposes taken inside the kernel.
#include <algorithm>
#include <complex>
#include <type_traits>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/op_for_programs.h"
#include "src/core/thread_pool.h"
#include "src/kernels/linalg/gemm.h"
#include "src/kernels/scratch.h"
#include "src/ops/axes.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/math/complex.h"
#include "src/ops/math/products.h"

namespace capstan {

namespace {

// For real numbers an adjoint is a transpose; of complex ones the function takes the conjugate before it calls the op.
struct MatmulAttributes {
  bool transpose_a = false;
  bool transpose_b = false;
  bool adjoint_a = false;
  bool adjoint_b = false;

  bool turns_a() const { return transpose_a || adjoint_a; }
  bool turns_b() const { return transpose_b || adjoint_b; }
};

void check_turns(const MatmulAttributes& attributes) {
  CAPSTAN_CHECK(!(attributes.transpose_a && attributes.adjoint_a) && !(attributes.transpose_b && attributes.adjoint_b),
                ValueError, "matmul: transpose and adjoint of one operand are both set");
}

// What a task of many small products has at least; fewer of them run on one thread.
constexpr std::int64_t kSmallProducts = 100'000;

Shape batch_of(const Shape& shape) { return Shape(shape.dims().first(static_cast<std::size_t>(shape.rank() - 2))); }

void infer_matmul(const Call& call, OutputSpecs& outputs) {
  const TensorRef& a = call.input(0);
  const TensorRef& b = call.input(1);
  const auto& attributes = call.attributes<MatmulAttributes>();
  check_turns(attributes);
  CAPSTAN_CHECK(a.dtype() != DType::kBool, DTypeError, call.op.name, ": dtype bool is not supported",
                arguments({{"a", a}, {"b", b}}));
  CAPSTAN_CHECK(a.rank() >= 2 && b.rank() >= 2, ShapeError, call.op.name, ": operands need rank 2 or more, not ",
                a.rank(), " and ", b.rank(), arguments({{"a", a}, {"b", b}}));
  const int row_axis = a.rank() - 2;
  const int column_axis = b.rank() - 1;
  const std::int64_t m = a.dim(attributes.turns_a() ? row_axis + 1 : row_axis);
  const std::int64_t k = a.dim(attributes.turns_a() ? row_axis : row_axis + 1);
  const std::int64_t n = b.dim(attributes.turns_b() ? column_axis - 1 : column_axis);
  const std::int64_t k_of_b = b.dim(attributes.turns_b() ? column_axis : column_axis - 1);
  CAPSTAN_CHECK(k == k_of_b, ShapeError, call.op.name, ": inner dimensions differ, ", k, " and ", k_of_b,
                arguments({{"a", a}, {"b", b}}));
  Shape result;
  if (a.rank() > 2 || b.rank() > 2) {
    result = broadcast_shapes(call.op.name, batch_of(a.shape()), batch_of(b.shape()));
  }
  result.push_back(m);
  result.push_back(n);
  outputs.add(a.dtype(), result);
  outputs.hand_on(GemmShape{.m = m,
                            .n = n,
                            .k = k,
                            .lda = a.dim(-1),
                            .ldb = b.dim(-1),
                            .ldc = n,
                            .transpose_a = attributes.turns_a(),
                            .transpose_b = attributes.turns_b()});
}

// Integers by plain loops; they wrap around.
template <class T>
void multiply(const GemmShape& shape, const T* a, const T* b, T* c, const Execution& = kAlone) {
  for (std::int64_t i = 0; i < shape.m; ++i) {
    for (std::int64_t j = 0; j < shape.n; ++j) {
      std::uint64_t sum = 0;
      for (std::int64_t k = 0; k < shape.k; ++k) {
        const T x = shape.transpose_a ? a[k * shape.lda + i] : a[i * shape.lda + k];
        const T y = shape.transpose_b ? b[j * shape.ldb + k] : b[k * shape.ldb + j];
        sum += static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y);
      }
      c[i * shape.ldc + j] = static_cast<T>(sum);
    }
  }
}
void multiply(const GemmShape& shape, const float* a, const float* b, float* c, const Execution& execution = kAlone) {
  gemm(shape, a, b, c, execution);
}
void multiply(const GemmShape& shape, const double* a, const double* b, double* c,
              const Execution& execution = kAlone) {
  gemm(shape, a, b, c, execution);
}

template <class T>
void multiply_serial(const GemmShape& shape, const T* a, const T* b, T* c) {
  if constexpr (std::is_floating_point_v<T>) {
    gemm_serial(shape, a, b, c);
  } else {
    multiply(shape, a, b, c);
  }
}

// One matrix at a time, broadcasting over the leading axes of `product`. The elements are at a, b and c.
template <class T>
void run_batches(GemmShape shape, const TensorRef& left, const TensorRef& right, const TensorRef& product, const T* a,
                 const T* b, T* c, const Execution& execution = kAlone) {
  if (product.rank() == 2) return multiply(shape, a, b, c, execution);
  const Shape x = left.shape();
  const Shape y = right.shape();
  const Shape result = product.shape();
  std::int64_t batches = 1;
  for (int i = 0; i < result.rank() - 2; ++i) batches *= result[i];
  // The matrices of A lie one after the other, so one B makes all of them one matrix.
  if (y.rank() == 2 && !shape.transpose_a) {
    shape.m *= batches;
    multiply(shape, a, b, c, execution);
    return;
  }
  const int axes = result.rank() - 2;
  const auto offset = [&](const Shape& operand, std::int64_t batch) {
    std::int64_t position = 0;
    std::int64_t stride = 1;
    for (int i = axes - 1; i >= 0; --i) {
      const int axis = i - (result.rank() - operand.rank());
      if (axis >= 0 && operand[axis] != 1) {
        position += batch % result[i] * stride;
        stride *= operand[axis];
      }
      batch /= result[i];
    }
    return position * operand[-1] * operand[-2];
  };
  const auto run = [&](std::int64_t batch, auto&& multiply_one) {
    multiply_one(shape, a + offset(x, batch), b + offset(y, batch), c + batch * shape.m * shape.n);
  };
  // Large products use the pool themselves; many small ones share it.
  constexpr std::int64_t kLargeWork = 4'000'000;
  const std::int64_t work = std::max<std::int64_t>(1, shape.m * shape.n * shape.k);
  if (work >= kLargeWork) {
    for (std::int64_t i = 0; i < batches; ++i) {
      run(i, [](const GemmShape& s, const T* p, const T* q, T* r) { multiply(s, p, q, r); });
    }
    return;
  }
  const std::int64_t per_task = std::max<std::int64_t>(1, kSmallProducts / work);
  parallel_for((batches + per_task - 1) / per_task, [&](std::int64_t task) {
    for (std::int64_t i = task * per_task; i < std::min(batches, (task + 1) * per_task); ++i) {
      run(i, [](const GemmShape& s, const T* p, const T* q, T* r) { multiply_serial(s, p, q, r); });
    }
  });
}

// Four real products of the real and imaginary parts, which lie in planes of their own.
template <class T>
void multiply_complex(GemmShape shape, const Call& call, const Tensor& out) {
  const TensorRef& a = call.input(0);
  const TensorRef& b = call.input(1);
  const auto planes = static_cast<std::size_t>(2 * (a.size() + b.size() + out.size()));
  Scratch scratch(ScratchSlot::kCall, planes * sizeof(T));
  T* const a_real = scratch.as<T>();
  T* const a_imag = a_real + a.size();
  T* const b_real = a_imag + a.size();
  T* const b_imag = b_real + b.size();
  T* const c_real = b_imag + b.size();
  T* const c_imag = c_real + out.size();
  const auto split = [](const TensorRef& x, T* real, T* imag) {
    const auto* data = x.data<std::complex<T>>();
    for (std::int64_t i = 0; i < x.size(); ++i) {
      real[i] = data[i].real();
      imag[i] = data[i].imag();
    }
  };
  split(a, a_real, a_imag);
  split(b, b_real, b_imag);
  const auto product = [&](const T* left, const T* right, T* sum, bool accumulate) {
    shape.accumulate = accumulate;
    run_batches<T>(shape, a, b, out, left, right, sum);
  };
  product(a_real, b_imag, c_imag, false);
  product(a_imag, b_real, c_imag, true);
  product(a_real, b_real, c_real, false);
  for (std::int64_t i = 0; i < a.size(); ++i) a_imag[i] = -a_imag[i];
  product(a_imag, b_imag, c_real, true);
  auto* to = mutable_data<std::complex<T>>(out);
  for (std::int64_t i = 0; i < out.size(); ++i) to[i] = {c_real[i], c_imag[i]};
}

void run_matmul(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& a = call.input(0);
  const TensorRef& b = call.input(1);
  if (outputs[0].size() == 0) return;
  const Tensor& result = outputs[0];
  const auto& shape = call.geometry<GemmShape>();
  const auto run = [&]<class T>(T) {
    run_batches(shape, a, b, result, a.data<T>(), b.data<T>(), mutable_data<T>(result), call.execution);
  };
  switch (a.dtype()) {
    case DType::kFloat32:
      return run(float{});
    case DType::kFloat64:
      return run(double{});
    case DType::kInt32:
      return run(std::int32_t{});
    case DType::kInt64:
      return run(std::int64_t{});
    case DType::kUInt8:
      return run(std::uint8_t{});
    case DType::kComplex64:
      return multiply_complex<float>(shape, call, outputs[0]);
    case DType::kComplex128:
      return multiply_complex<double>(shape, call, outputs[0]);
    default: {
      // bfloat16 is multiplied and summed in float32 and rounded once.
      Scratch scratch(ScratchSlot::kCall,
                      static_cast<std::size_t>(a.size() + b.size() + outputs[0].size()) * sizeof(float));
      float* wide_a = scratch.as<float>();
      float* wide_b = wide_a + a.size();
      float* wide_c = wide_b + b.size();
      std::copy_n(a.data<BFloat16>(), a.size(), wide_a);
      std::copy_n(b.data<BFloat16>(), b.size(), wide_b);
      run_batches<float>(shape, a, b, result, wide_a, wide_b, wide_c);
      std::transform(wide_c, wide_c + outputs[0].size(), mutable_data<BFloat16>(outputs[0]),
                     [](float v) { return BFloat16(v); });
    }
  }
}

void vjp_matmul(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& attributes = call.attributes<MatmulAttributes>();
  const bool turn_a = attributes.turns_a();
  const bool turn_b = attributes.turns_b();
  const Tensor& g = call.cotangent();
  Tensor conjugate_a;
  Tensor conjugate_b;
  if (is_complex(g.dtype())) {
    conjugate_a = conj(call.input(0));
    conjugate_b = conj(call.input(1));
  }
  const Tensor& a = conjugate_a.has_value() ? conjugate_a : call.input(0);
  const Tensor& b = conjugate_b.has_value() ? conjugate_b : call.input(1);
  if (call.needs(0)) {
    cotangents[0] =
        turn_a ? matmul(b, g, {.transpose_a = turn_b, .transpose_b = true}) : matmul(g, b, {.transpose_b = !turn_b});
  }
  if (!call.needs(1)) return;
  if (b.rank() == 2 && a.rank() > 2 && !turn_a) {
    if (a.dim(-1) == 0 || g.dim(-1) == 0) {  // Rows without elements have no number.
      cotangents[1] = zeros_like(call.input(1));
      return;
    }
    // One B for all matrices of A: the sum over the batch is part of the product.
    const auto as_rows = [](const Tensor& x) {
      // The rows have no number here, as it may be open; where there are no columns, any number fits.
      return reshape(x, {x.dim(-1) == 0 ? 0 : -1, x.dim(-1)});
    };
    const Tensor rows = as_rows(a);
    const Tensor g_rows = as_rows(g);
    cotangents[1] = turn_b ? matmul(g_rows, rows, {.transpose_a = true}) : matmul(rows, g_rows, {.transpose_a = true});
    return;
  }
  cotangents[1] =
      turn_b ? matmul(g, a, {.transpose_a = true, .transpose_b = turn_a}) : matmul(a, g, {.transpose_a = !turn_a});
}

// a is [rows, inner] or transposed, and the result has its rows. With one right matrix it is one product.
Cost matmul_cost(std::span<const Shape> inputs, std::span<const Shape> outputs) {
  const Shape& a = inputs[0];
  const Shape& out = outputs[0];
  if (a.rank() < 2 || out.rank() < 2 || out[-2] == 0) return {};
  const double inner = static_cast<double>(a[-1]) * static_cast<double>(a[-2]) / static_cast<double>(out[-2]);
  return {static_cast<double>(out.size()) * inner,
          static_cast<double>(inputs[1].rank() == 2 ? kGemmParallelWork : kSmallProducts)};
}

// Rows times a matrix, or a sum over the examples, of which those with zeros add nothing.
std::optional<ExampleStep> matmul_of_example(const ExampleCall& call) {
  const auto& a = *static_cast<const MatmulAttributes*>(call.attribute_data);
  const bool turn_a = a.transpose_a || a.adjoint_a;
  const bool turn_b = a.transpose_b || a.adjoint_b;
  if (call.is_row(0) && call.is_same(1) && !turn_a && call.inputs[1].rank() == 2) return ExampleStep{};
  if (call.inputs[0].rank() != 2 || call.inputs[1].rank() != 2 || !turn_a || turn_b) return std::nullopt;
  if (call.is_row(1) && call.is_same(0)) return ExampleStep{.cut = 0b01, .result = Examples::kFull};
  if (call.is_row(0) && call.is_same(1)) return ExampleStep{.cut = 0b10, .result = Examples::kFull};
  return std::nullopt;
}

constexpr OpForPrograms kProductForPrograms{.cost = matmul_cost, .example = matmul_of_example};

}  // namespace

constinit const OpDef kMatmul = {
    .name = "matmul",
    .text = "Matrix product over the last two axes; the leading ones broadcast.",
    .flags = kLinear | kCostlyAgain | kFinishesRows,
    .inputs = "a, b",
    .attributes = &attribute_table<MatmulAttributes, "transpose_a, transpose_b, adjoint_a, adjoint_b">,
    .infer = infer_matmul,
    .kernel = run_matmul,
    .saves = {.inputs = 3},
    .vjp = vjp_matmul,
    .batch = batch_broadcasting,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const MatmulAttributes*>(attributes);
          outputs.push_back(matmul(inputs[0], inputs[1], {a.transpose_a, a.transpose_b, a.adjoint_a, a.adjoint_b}));
        },
    .programs = &kProductForPrograms,
};

Tensor matmul(Operand a, Operand b, const MatmulOptions& options) {
  MatmulAttributes attributes{options.transpose_a, options.transpose_b, options.adjoint_a, options.adjoint_b};
  if ((options.adjoint_a || options.adjoint_b) && (is_complex_operand(a) || is_complex_operand(b))) [[unlikely]] {
    check_turns(attributes);
    Tensor left = to_tensor(a);
    Tensor right = to_tensor(b);
    if (options.adjoint_a) left = conj(left);
    if (options.adjoint_b) right = conj(right);
    attributes = {attributes.turns_a(), attributes.turns_b()};
    return apply(kMatmul, left, right, &attributes);
  }
  return apply(kMatmul, a, b, &attributes);
}

std::optional<ProductSides> sides_of_matmul(const OpDef& op, const void* attributes) {
  if (&op != &kMatmul) return std::nullopt;
  const auto& matmul = *static_cast<const MatmulAttributes*>(attributes);
  return ProductSides{matmul.turns_a(), matmul.turns_b()};
}

// --- matvec ---

constinit const OpDef kMatvec = composite<&matvec, "a, x, transpose_a">(
    "matvec", "Matrix times vector over the last axes; the leading ones broadcast.");

Tensor matvec(Operand a, Operand x, const MatvecOptions& options) try {
  const Tensor matrix = to_tensor(a);
  const Tensor vector = to_tensor(x);
  CAPSTAN_CHECK(matrix.rank() >= 2 && vector.rank() >= 1, ShapeError, "matvec: takes a matrix and a vector, not ranks ",
                matrix.rank(), " and ", vector.rank(), arguments({{"a", matrix}, {"x", vector}}));
  const std::int64_t k = matrix.dim(options.transpose_a ? -2 : -1);
  CAPSTAN_CHECK(k == vector.dim(-1), ShapeError, "matvec: inner dimensions differ, ", k, " and ", vector.dim(-1),
                arguments({{"a", matrix}, {"x", vector}}));
  return squeeze(matmul(matrix, expand_dims(vector, -1), {.transpose_a = options.transpose_a}), -1);
} catch (const Error&) {
  rethrow_as("matvec");
}

CAPSTAN_OPS(matmul, &kMatmul, &kMatvec);

}  // namespace capstan
