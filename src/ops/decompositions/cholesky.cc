// The Cholesky factor, and what is computed with it.
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/named_errors.h"
#include "src/kernels/decompositions/factorisations.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/decompositions/matrices.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

void run_cholesky(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& a = call.input(0);
  const Lapack& lapack = need_lapack(call.op.name);
  const auto& matrices = call.geometry<Matrices>();
  const std::int64_t n = matrices.rows;
  with_matrix_type(a.dtype(), [&]<class T>(T) {
    const T* in = a.data<T>();
    T* out = mutable_data<T>(outputs[0]);
    const double work = static_cast<double>(n * n * n) / 6 + static_cast<double>(n * n);
    const MatrixFailure failure = for_each_matrix(
        matrices.count, work, [&](std::int64_t i) { return cholesky(lapack, n, in + i * n * n, out + i * n * n); });
    CAPSTAN_CHECK(!failure, ValueError, call.op.name, ": ", which_matrix(failure, matrices),
                  " is not positive definite: its leading minor of order ", failure.code, " is not positive",
                  arguments({{"a", a}}));
  });
}

// The factor depends on the lower triangle only, but the gradient is that for a symmetric matrix, shared by both
// triangles.
void vjp_cholesky(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& l = call.output();
  const Tensor inner = matmul(adjoint(l), call.cotangent());
  const Tensor middle = band_part(set_diag(inner, 0.5 * diag_part(inner)), -1, 0);
  // l^-H middle l^-1
  const Tensor left = triangular_solve(l, middle, {.adjoint = true});
  const Tensor whole = adjoint(triangular_solve(l, adjoint(left), {.adjoint = true}));
  cotangents[0] = hermitian_part(whole);
}

}  // namespace

constinit const OpDef kCholesky = {
    .name = "cholesky",
    .text = "The lower triangular factor l of positive definite matrices, a = l l^H.",
    .inputs = "a",
    .infer = infer_square,
    .kernel = run_cholesky,
    .saves = {.outputs = 1},
    .vjp = vjp_cholesky,
    .batch = batch_leading,
};

constinit const OpDef kCholeskySolve =
    composite<&cholesky_solve, "chol, rhs">("cholesky_solve", "Solves l l^H x = rhs, given the factor l.");

constinit const OpDef kLogdet =
    composite<&logdet, "a">("logdet", "The logarithm of the determinant of positive definite matrices.");

Tensor cholesky(Operand a) { return apply(kCholesky, a); }

Tensor cholesky_solve(Operand chol, Operand rhs) try {
  const Tensor l = to_tensor(chol);
  return triangular_solve(l, triangular_solve(l, rhs), {.adjoint = true});
} catch (const Error&) {
  rethrow_as("cholesky_solve");
}

Tensor logdet(Operand a) try { return 2.0 * reduce_sum(log(real(diag_part(cholesky(a)))), -1); } catch (const Error&) {
  rethrow_as("logdet");
}

CAPSTAN_OPS(cholesky, &kCholesky, &kCholeskySolve, &kLogdet);

}  // namespace capstan
