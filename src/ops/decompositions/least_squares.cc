// Equations with more or fewer rows than unknowns: the pseudo-inverse and least squares.
#include <algorithm>
#include <limits>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "src/core/named_errors.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/decompositions/matrices.h"
#include "src/ops/family.h"
#include "src/ops/floating.h"

namespace capstan {

namespace {

// --- pinv ---

// A cutoff below zero stands for the usual one, ten times the rounding of the larger length.
struct PinvAttributes {
  double rcond = -1;
};

void infer_pinv(const Call& call, OutputSpecs& outputs) {
  const Matrices matrices = factorable(call.op.name, call.input(0));
  outputs.hand_on(matrices);
  outputs.add(call.input(0).dtype(), matrix_shape(matrices.batch, matrices.columns, matrices.rows));
}

void run_pinv(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& a = call.input(0);
  const Lapack& lapack = need_lapack(call.op.name);
  const auto& matrices = call.geometry<Matrices>();
  const std::int64_t m = matrices.rows;
  const std::int64_t n = matrices.columns;
  const double given = call.attributes<PinvAttributes>().rcond;
  with_matrix_type(a.dtype(), [&]<class T>(T) {
    const T* in = a.data<T>();
    T* out = mutable_data<T>(outputs[0]);
    const double usual =
        10 * static_cast<double>(std::max(m, n)) * static_cast<double>(std::numeric_limits<RealOf<T>>::epsilon());
    const double rcond = given < 0 ? usual : given;
    const double work = 20 * static_cast<double>(m * n) * static_cast<double>(std::min(m, n));
    check_spectral(call.op.name, for_each_matrix(matrices.count, work, [&](std::int64_t i) {
                     return static_cast<int>(pseudo_inverse(lapack, m, n, rcond, in + i * m * n, out + i * m * n));
                   }));
  });
}

// The derivative for matrices near which the rank is constant (Golub and Pereyra); unlike that through singular
// vectors it holds for equal singular values.
void vjp_pinv(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& a = call.input(0);
  const Tensor& p = call.output();
  const Tensor g = adjoint(call.cotangent());
  const Tensor turned = adjoint(p);
  Tensor result = -matmul(turned, matmul(adjoint(g), turned));
  // (I - a p) g p p^H + p^H p g (I - p a)
  const Tensor left = matmul(matmul(g, p), turned);
  const Tensor right = matmul(turned, matmul(p, g));
  result = result + (left - matmul(a, matmul(p, left)));
  cotangents[0] = result + (right - matmul(matmul(right, p), a));
}

// --- lstsq ---

// gram + l2 I, solved for `right` by Cholesky's factor.
Tensor solve_gram(const Tensor& gram, double l2_regularizer, const Tensor& right) {
  const Tensor raised = l2_regularizer == 0 ? gram : set_diag(gram, diag_part(gram) + l2_regularizer);
  Tensor factor;
  try {
    factor = cholesky(raised);
  } catch (const ValueError&) {
    throw ValueError(detail::join("lstsq: the matrix does not have full rank",
                                  help("pass fast = false, or an l2_regularizer above 0")));
  }
  return cholesky_solve(factor, right);
}

}  // namespace

constinit const OpDef kPinv = {
    .name = "pinv",
    .text = "The Moore-Penrose inverse of matrices.",
    .inputs = "a",
    .attributes = &attribute_table<PinvAttributes, "rcond">,
    .infer = infer_pinv,
    .kernel = run_pinv,
    .saves = {.inputs = 1, .outputs = 1},
    .vjp = vjp_pinv,
    .batch = batch_leading,
};

constinit const OpDef kLstsq =
    composite<&lstsq, "matrix, rhs, l2_regularizer, fast">("lstsq", "The x for which matrix x is nearest to rhs.");

Tensor pinv(Operand a, std::optional<double> rcond) {
  CAPSTAN_CHECK(!rcond || *rcond >= 0, ValueError, "pinv: rcond must not be negative, it is ", *rcond);
  const PinvAttributes attributes{rcond.value_or(-1)};
  return apply(kPinv, a, &attributes);
}

Tensor lstsq(Operand matrix, Operand rhs, const LstsqOptions& options) try {
  const Tensor a = to_tensor(matrix);
  const Tensor b = to_tensor(rhs);
  const Matrices left = factorable("lstsq", a);
  const Matrices right = factorable("lstsq", b);
  CAPSTAN_CHECK(left.rows == right.rows, ShapeError, "lstsq: ", left.rows, " rows and ", right.rows,
                " values per right-hand side", arguments({{"matrix", a}, {"rhs", b}}));
  CAPSTAN_CHECK(options.l2_regularizer >= 0, ValueError, "lstsq: l2_regularizer must not be negative, it is ",
                options.l2_regularizer);
  if (!options.fast) return matmul(pinv(a), b);
  const Tensor turned = adjoint(a);
  if (left.rows >= left.columns) return solve_gram(matmul(turned, a), options.l2_regularizer, matmul(turned, b));
  return matmul(turned, solve_gram(matmul(a, turned), options.l2_regularizer, b));
} catch (const Error&) {
  rethrow_as("lstsq");
}

CAPSTAN_OPS(least_squares, &kPinv, &kLstsq);

}  // namespace capstan
