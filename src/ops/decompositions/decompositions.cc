// Decompositions into orthogonal and triangular factors.
#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/kernels/decompositions/factorisations.h"
#include "src/ops/batching.h"
#include "src/ops/decompositions/matrices.h"
#include "src/ops/decompositions/regular.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

// --- qr ---

struct QrAttributes {
  bool full_matrices = false;
};

void infer_qr(const Call& call, OutputSpecs& outputs) {
  const TensorRef& a = call.input(0);
  const Matrices matrices = factorable(call.op.name, a);
  outputs.hand_on(matrices);
  const std::int64_t k =
      call.attributes<QrAttributes>().full_matrices ? matrices.rows : std::min(matrices.rows, matrices.columns);
  outputs.add(a.dtype(), matrix_shape(matrices.batch, matrices.rows, k));
  outputs.add(a.dtype(), matrix_shape(matrices.batch, k, matrices.columns));
}

void run_qr(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& a = call.input(0);
  const bool full = call.attributes<QrAttributes>().full_matrices;
  const Lapack& lapack = need_lapack(call.op.name);
  const auto& matrices = call.geometry<Matrices>();
  const std::int64_t m = matrices.rows;
  const std::int64_t n = matrices.columns;
  const std::int64_t k = full ? m : std::min(m, n);
  with_matrix_type(a.dtype(), [&]<class T>(T) {
    const T* in = a.data<T>();
    T* q = mutable_data<T>(outputs[0]);
    T* r = mutable_data<T>(outputs[1]);
    for_each_matrix(matrices.count, 4 * static_cast<double>(m * n) * static_cast<double>(k), [&](std::int64_t i) {
      qr(lapack, m, n, full, in + i * m * n, q + i * m * k, r + i * k * n);
      return 0;
    });
  });
}

// x r^-H
Tensor times_inverse(const Tensor& x, const Tensor& r) {
  return adjoint(triangular_solve(r, adjoint(x), {.lower = false}));
}

// The cotangent of a = q r with a square r, given those of q and r.
Tensor cotangent_of_deep(const Tensor& q, const Tensor& r_or_singular, const Tensor& gq, const Tensor& gr) {
  const Tensor is_regular = reduce_all(not_equal(diag_part(r_or_singular), 0), -1);
  const Tensor r = or_identity(is_regular, r_or_singular);
  const Tensor of_q = matmul(adjoint(q), gq);
  const Tensor of_r = matmul(r, adjoint(gr));
  const Tensor lower = band_part((of_q - adjoint(of_q)) + (of_r - adjoint(of_r)), -1, 0);
  const Tensor result =
      or_nan(is_regular, matmul(q, gr + times_inverse(lower, r)) + times_inverse(gq - matmul(q, of_q), r));
  if (!is_complex(q.dtype())) return result;
  // LAPACK's r has a real diagonal, which is where the phases of q are from.
  const Tensor phases = imag(diag_part(of_r)) + imag(diag_part(of_q));
  return result + times_inverse(matmul(q, diag(complex(zeros_like(phases), -phases))), r);
}

void vjp_qr(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& q_whole = call.output(0);
  const Tensor& r_whole = call.output(1);
  const std::int64_t m = q_whole.dim(-2);
  const std::int64_t n = r_whole.dim(-1);
  const std::int64_t k = std::min(m, n);
  const Tensor q = first_columns(q_whole, k);
  const Tensor r = first_rows(r_whole, k);
  Tensor gq = first_columns(call.cotangent(0), k);
  const Tensor gr = first_rows(call.cotangent(1), k);
  if (q_whole.dim(-1) > k) {
    // The columns that complete q to a basis turn into q by as much as q turns into them.
    gq = gq - matmul(columns_after(q_whole, k), matmul(adjoint(columns_after(call.cotangent(0), k)), q));
  }
  if (n <= m) {
    cotangents[0] = cotangent_of_deep(q, r, gq, gr);
    return;
  }
  // The first columns give q and the square part of r, the others are q times the rest of r.
  const Tensor rest = columns_after(r, k);
  const Tensor g_rest = columns_after(gr, k);
  const Tensor through_q = gq + matmul(matmul(q, rest), adjoint(g_rest));
  cotangents[0] =
      concat({cotangent_of_deep(q, first_columns(r, k), through_q, first_columns(gr, k)), matmul(q, g_rest)}, -1);
}

// --- lu ---

void infer_lu(const Call& call, OutputSpecs& outputs) {
  const Matrices matrices = square_matrices(call.op.name, call.input(0));
  outputs.hand_on(matrices);
  outputs.add(call.input(0).dtype(), call.input(0).shape());
  outputs.add(DType::kInt32, vector_shape(matrices.batch, matrices.rows));
}

void run_lu(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& a = call.input(0);
  const Lapack& lapack = need_lapack(call.op.name);
  const auto& matrices = call.geometry<Matrices>();
  const std::int64_t n = matrices.rows;
  with_matrix_type(a.dtype(), [&]<class T>(T) {
    const T* in = a.data<T>();
    T* packed = mutable_data<T>(outputs[0]);
    std::int32_t* permutation = mutable_data<std::int32_t>(outputs[1]);
    const MatrixFailure failure = for_each_matrix(
        matrices.count, static_cast<double>(n * n) * static_cast<double>(n),
        [&](std::int64_t i) { return lu(lapack, n, in + i * n * n, packed + i * n * n, permutation + i * n); });
    CAPSTAN_CHECK(!failure, ValueError, call.op.name, ": ", which_matrix(failure, matrices), " is not invertible",
                  arguments({{"a", a}}));
  });
}

// P a = l u, so the cotangent of P a is l^-H (strictly lower part of l^H gl + upper part of gu u^H) u^-H.
void vjp_lu(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& packed = call.output(0);
  const Tensor& g = call.cotangent(0);
  const Tensor unit = set_diag(band_part(packed, -1, 0), ones_like(diag_part(packed)));
  const Tensor upper = band_part(packed, 0, -1);
  const Tensor g_lower = g - band_part(g, 0, -1);
  const Tensor g_upper = band_part(g, 0, -1);
  const Tensor of_l = matmul(adjoint(unit), g_lower);
  const Tensor of_u = matmul(g_upper, adjoint(upper));
  const Tensor inner = (of_l - band_part(of_l, 0, -1)) + band_part(of_u, 0, -1);
  const Tensor permuted = times_inverse(triangular_solve(unit, inner, {.adjoint = true}), upper);
  const Tensor permutation = as_dtype_of(one_hot(call.output(1), packed.dim(-1)), packed);
  cotangents[0] = matmul(permutation, permuted, {.transpose_a = true});
}

}  // namespace

constinit const OpDef kQr = {
    .name = "qr",
    .text = "Matrices as products of orthonormal columns q and an upper triangular r.",
    .outputs = 2,
    .inputs = "a",
    .attributes = &attribute_table<QrAttributes, "full_matrices">,
    .infer = infer_qr,
    .kernel = run_qr,
    .saves = {.outputs = 3},
    .vjp = vjp_qr,
    .batch = batch_leading,
};

constinit const OpDef kLu = {
    .name = "lu",
    .text = "Square matrices as products of triangular ones, with their rows permuted.",
    .outputs = 2,
    .inputs = "a",
    .infer = infer_lu,
    .kernel = run_lu,
    .saves = {.outputs = 3},
    .vjp = vjp_lu,
    .batch = batch_leading,
};

QrFactors qr(Operand a, const QrOptions& options) {
  const QrAttributes attributes{options.full_matrices};
  std::vector<Tensor> outputs = apply_all(kQr, std::span(&a, 1), &attributes);
  return {std::move(outputs[0]), std::move(outputs[1])};
}

LuFactors lu(Operand a) {
  std::vector<Tensor> outputs = apply_all(kLu, std::span(&a, 1));
  return {std::move(outputs[0]), std::move(outputs[1])};
}

CAPSTAN_OPS(decompositions, &kQr, &kLu);

}  // namespace capstan
