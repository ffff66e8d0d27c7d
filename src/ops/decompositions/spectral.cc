// Singular values and eigenvalues.
//
// The vectors of a decomposition are functions of the matrix only up to a factor each, and not at all where
// two values are equal. Gradients are those of functions that do not care: for equal values the
// undetermined part is left out (see reciprocal_gaps), as TensorFlow does.
#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/named_errors.h"
#include "src/kernels/scratch.h"
#include "src/ops/batching.h"
#include "src/ops/decompositions/matrices.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

// --- svd ---

struct SvdAttributes {
  bool full_matrices = false;
  bool compute_uv = true;
};

void infer_svd(const Call& call, OutputSpecs& outputs) {
  const TensorRef& a = call.input(0);
  const auto& attributes = call.attributes<SvdAttributes>();
  const Matrices matrices = factorable(call.op.name, a);
  outputs.hand_on(matrices);
  const std::int64_t m = matrices.rows;
  const std::int64_t n = matrices.columns;
  const std::int64_t k = std::min(m, n);
  outputs.add(real_dtype(a.dtype()), vector_shape(matrices.batch, k));
  if (!attributes.compute_uv) return;
  outputs.add(a.dtype(), matrix_shape(matrices.batch, m, attributes.full_matrices ? m : k));
  outputs.add(a.dtype(), matrix_shape(matrices.batch, n, attributes.full_matrices ? n : k));
}

void run_svd(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& a = call.input(0);
  const auto& attributes = call.attributes<SvdAttributes>();
  const Lapack& lapack = need_lapack(call.op.name);
  const auto& matrices = call.geometry<Matrices>();
  const std::int64_t m = matrices.rows;
  const std::int64_t n = matrices.columns;
  const std::int64_t k = std::min(m, n);
  const std::int64_t size_u = m * (attributes.full_matrices ? m : k);
  const std::int64_t size_v = n * (attributes.full_matrices ? n : k);
  with_matrix_type(a.dtype(), [&]<class T>(T) {
    const T* in = a.data<T>();
    RealOf<T>* s = mutable_data<RealOf<T>>(outputs[0]);
    T* u = attributes.compute_uv ? mutable_data<T>(outputs[1]) : nullptr;
    T* v = attributes.compute_uv ? mutable_data<T>(outputs[2]) : nullptr;
    const double work = 20 * static_cast<double>(m * n) * static_cast<double>(k);
    check_spectral(call.op.name, for_each_matrix(matrices.count, work, [&](std::int64_t i) {
                     return static_cast<int>(svd(lapack, m, n, attributes.full_matrices, in + i * m * n, s + i * k,
                                                 u == nullptr ? nullptr : u + i * size_u,
                                                 v == nullptr ? nullptr : v + i * size_v));
                   }));
  });
}

// The cotangent of the first k columns. The other ones complete them to a basis; they turn into the first ones by
// as much as the first turn into them, and among themselves they are not determined.
Tensor cotangent_of_thin(const Tensor& vectors, const Tensor& cotangent, std::int64_t k) {
  if (vectors.dim(-1) == k) return cotangent;
  const Tensor rest = columns_after(vectors, k);
  const Tensor turned = matmul(rest, matmul(adjoint(columns_after(cotangent, k)), first_columns(vectors, k)));
  return first_columns(cotangent, k) - turned;
}

// What flows in from vectors[..., m, k] outside of their span: (g - vectors vectors^H g) / s.
Tensor outside_span(const Tensor& vectors, const Tensor& g, const Tensor& s) {
  const Tensor outside = g - matmul(vectors, matmul(adjoint(vectors), g));
  return divide_no_nan(outside, as_row(as_dtype_of(s, g)));
}

void vjp_svd(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& attributes = call.attributes<SvdAttributes>();
  const Tensor& gs = call.cotangent(0);
  if (!attributes.compute_uv) {
    const SvdFactors factors = svd(call.input(0));
    cotangents[0] = matmul(factors.u * as_row(as_dtype_of(gs, factors.u)), adjoint(factors.v));
    return;
  }
  const Tensor& s = call.output(0);
  const std::int64_t k = s.dim(-1);
  const Tensor u = first_columns(call.output(1), k);
  const Tensor v = first_columns(call.output(2), k);
  if (!call.has_cotangent(1) && !call.has_cotangent(2)) {
    cotangents[0] = matmul(u * as_row(as_dtype_of(gs, u)), adjoint(v));
    return;
  }
  const Tensor gu = cotangent_of_thin(call.output(1), call.cotangent(1), k);
  const Tensor gv = cotangent_of_thin(call.output(2), call.cotangent(2), k);
  const Tensor gaps = as_dtype_of(reciprocal_gaps(square(s)), u);
  const Tensor scale = as_dtype_of(s, u);
  const Tensor along_u = matmul(adjoint(u), gu);
  const Tensor along_v = matmul(adjoint(v), gv);
  const Tensor of_u = hermitian_part(gaps * along_u);
  const Tensor of_v = hermitian_part(gaps * along_v);
  const Tensor inner = 2.0 * (of_u * as_row(scale) + as_column(scale) * of_v);
  Tensor diagonal = gs;
  if (is_complex(u.dtype())) {
    // The phases of u and v are free together; their difference is not.
    const Tensor phase = imag(diag_part(along_u)) - imag(diag_part(along_v));
    diagonal = complex(gs, divide_no_nan(0.5 * phase, s));
  }
  Tensor result = matmul(matmul(u, set_diag(inner, diagonal)), adjoint(v));
  if (u.dim(-2) > k) result = result + matmul(outside_span(u, gu, s), adjoint(v));
  if (v.dim(-2) > k) result = result + matmul(u, adjoint(outside_span(v, gv, s)));
  cotangents[0] = result;
}

// --- eigh ---

void infer_eigvalsh(const Call& call, OutputSpecs& outputs) {
  const Matrices matrices = square_matrices(call.op.name, call.input(0));
  outputs.hand_on(matrices);
  outputs.add(call.input(0).dtype(), vector_shape(matrices.batch, matrices.rows));
}

void infer_eigh(const Call& call, OutputSpecs& outputs) {
  infer_eigvalsh(call, outputs);
  outputs.add(call.input(0).dtype(), call.input(0).shape());
}

// Eigenvalues, and vectors if there is a second output. As in TensorFlow the eigenvalues have the dtype of the matrix.
template <class T>
void eigh_of(const Call& call, std::span<Tensor> outputs) {
  const Lapack& lapack = need_lapack(call.op.name);
  const auto& matrices = call.geometry<Matrices>();
  const std::int64_t n = matrices.rows;
  const T* in = call.input(0).data<T>();
  T* w = mutable_data<T>(outputs[0]);
  T* v = outputs.size() > 1 ? mutable_data<T>(outputs[1]) : nullptr;
  const double work = 10 * static_cast<double>(n * n) * static_cast<double>(n);
  check_spectral(call.op.name, for_each_matrix(matrices.count, work, [&](std::int64_t i) {
                   const Scratch scratch(ScratchSlot::kTask, static_cast<std::size_t>(n) * sizeof(RealOf<T>));
                   RealOf<T>* values = scratch.as<RealOf<T>>();
                   const Spectral end = eigh(lapack, n, in + i * n * n, values, v == nullptr ? nullptr : v + i * n * n);
                   if (end == Spectral::kDone) std::copy_n(values, n, w + i * n);
                   return static_cast<int>(end);
                 }));
}

void run_eigh(const Call& call, std::span<Tensor> outputs) {
  with_matrix_type(call.input(0).dtype(), [&]<class T>(T) { eigh_of<T>(call, outputs); });
}

// The lower triangle stands for both, so its elements take the gradient of both.
Tensor cotangent_of_lower(const Tensor& v, const Tensor& inner) {
  const Tensor whole = hermitian_part(matmul(matmul(v, inner), adjoint(v)));
  return set_diag(band_part(2.0 * whole, -1, 0), diag_part(whole));
}

void vjp_eigh(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& w = call.output(0);
  const Tensor& v = call.output(1);
  const Tensor& gw = call.cotangent(0);
  if (!call.has_cotangent(1)) {
    cotangents[0] = cotangent_of_lower(v, diag(gw));
    return;
  }
  const Tensor inner = as_dtype_of(reciprocal_gaps(real(w)), v) * matmul(adjoint(v), call.cotangent(1));
  cotangents[0] = cotangent_of_lower(v, set_diag(inner, gw));
}

}  // namespace

constinit const OpDef kSvd = {
    .name = "svd",
    .text = "The singular values of matrices, largest first, and singular vectors.",
    .outputs = kVariadic,
    .inputs = "a",
    .attributes = &attribute_table<SvdAttributes, "full_matrices, compute_uv">,
    .infer = infer_svd,
    .kernel = run_svd,
    .saves = {.inputs = 1, .outputs = 7},
    .vjp = vjp_svd,
    .batch = batch_leading,
};

constinit const OpDef kEigh = {
    .name = "eigh",
    .text = "The eigenvalues of Hermitian matrices in ascending order, and eigenvectors.",
    .outputs = 2,
    .inputs = "a",
    .infer = infer_eigh,
    .kernel = run_eigh,
    .saves = {.outputs = 3},
    .vjp = vjp_eigh,
    .batch = batch_leading,
};

constinit const OpDef kEigvalsh = {
    .name = "eigvalsh",
    .text = "The eigenvalues of Hermitian matrices in ascending order.",
    .inputs = "a",
    .infer = infer_eigvalsh,
    .kernel = run_eigh,
    .saves = {.inputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          cotangents[0] = cotangent_of_lower(eigh(call.input(0)).eigenvectors, diag(call.cotangent()));
        },
    .batch = batch_leading,
};

constinit const OpDef kMatrixRank = composite<&matrix_rank, "a, tol", NoValue{}>(
    "matrix_rank", "The number of singular values above a tolerance.", kNotDifferentiable);

SvdFactors svd(Operand a, const SvdOptions& options) {
  const SvdAttributes attributes{options.full_matrices, options.compute_uv};
  std::vector<Tensor> outputs = apply_all(kSvd, std::span(&a, 1), &attributes);
  outputs.resize(3);
  return {std::move(outputs[0]), std::move(outputs[1]), std::move(outputs[2])};
}

Eigenpairs eigh(Operand a) {
  std::vector<Tensor> outputs = apply_all(kEigh, std::span(&a, 1));
  return {std::move(outputs[0]), std::move(outputs[1])};
}

Tensor eigvalsh(Operand a) { return apply(kEigvalsh, a); }

Tensor matrix_rank(Operand a, std::optional<double> tolerance) try {
  const Tensor x = stop_gradient(to_tensor(a));
  const Tensor s = svd(x, {.compute_uv = false}).s;
  if (tolerance) return reduce_sum(cast(greater(s, *tolerance), int32), -1);
  if (s.dim(-1) == 0) return reduce_sum(cast(s, int32), -1);
  const double epsilon = s.dtype() == float32 ? 0x1p-23 : 0x1p-52;
  const double factor = epsilon * static_cast<double>(std::max(x.dim(-1), x.dim(-2)));
  return reduce_sum(cast(greater(s, factor * reduce_max(s, -1, {.keepdims = true})), int32), -1);
} catch (const Error&) {
  rethrow_as("matrix_rank");
}

CAPSTAN_OPS(spectral, &kSvd, &kEigh, &kEigvalsh, &kMatrixRank);

}  // namespace capstan
