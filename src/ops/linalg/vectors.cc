// Products of vectors, traces, and transposes of matrices: made of other ops.
#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/named_errors.h"
#include "src/ops/composite.h"
#include "src/ops/decompositions/matrices.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

Tensor with_last_axes_exchanged(std::string_view op, const Tensor& a, const TransposeOptions& options) {
  matrices_of(op, a);
  int order[kMaxRank];
  const int rank = a.rank();
  for (int i = 0; i < rank; ++i) order[i] = i;
  std::swap(order[rank - 1], order[rank - 2]);
  return transpose(a, Axes(std::span<const int>(order, static_cast<std::size_t>(rank))), options);
}

}  // namespace

constinit const OpDef kAdjoint = composite<&adjoint, "a">("adjoint", "The adjoints of matrices.");

constinit const OpDef kMatrixTranspose =
    composite<&matrix_transpose, "a, conjugate">("matrix_transpose", "The transposes of matrices.");

constinit const OpDef kTrace = composite<&trace, "a">("trace", "The sums of the main diagonals of matrices.");

constinit const OpDef kCross = composite<&cross, "a, b">("cross", "The cross products of vectors of three.");

constinit const OpDef kOuter = composite<&outer, "a, b">("outer", "The products of all pairs of elements.");

constinit const OpDef kKron = composite<&kron, "a, b">("kron", "The Kronecker products of matrices.");

Tensor adjoint(Operand a) try {
  return with_last_axes_exchanged("adjoint", to_tensor(a), {.conjugate = true});
} catch (const Error&) {
  rethrow_as("adjoint");
}

Tensor matrix_transpose(Operand a, const TransposeOptions& options) try {
  return with_last_axes_exchanged("matrix_transpose", to_tensor(a), options);
} catch (const Error&) {
  rethrow_as("matrix_transpose");
}

Tensor trace(Operand a) try {
  const Tensor x = to_tensor(a);
  matrices_of("trace", x);
  return reduce_sum(diag_part(x), -1);
} catch (const Error&) {
  rethrow_as("trace");
}

Tensor cross(Operand a, Operand b) try {
  const Tensor x = to_tensor(a);
  const Tensor y = to_tensor(b);
  CAPSTAN_CHECK(x.rank() > 0 && x.dim(-1) == 3, ShapeError, "cross: takes vectors of three, not ", x.shape(),
                arguments({{"a", x}, {"b", y}}));
  CAPSTAN_CHECK(x.shape() == y.shape(), ShapeError, "cross: shapes differ, ", x.shape(), " and ", y.shape(),
                arguments({{"a", x}, {"b", y}}));
  // Element i takes those after it, counted round the corner.
  return roll(x, -1, -1) * roll(y, -2, -1) - roll(x, -2, -1) * roll(y, -1, -1);
} catch (const Error&) {
  rethrow_as("cross");
}

Tensor outer(Operand a, Operand b) try {
  const Tensor x = to_tensor(a);
  const Tensor y = to_tensor(b);
  CAPSTAN_CHECK(x.rank() + y.rank() <= kMaxRank, ShapeError, "outer: the result has ", x.rank() + y.rank(),
                " axes, more than ", kMaxRank, arguments({{"a", x}, {"b", y}}));
  Shape shape = x.shape();
  for (int i = 0; i < y.rank(); ++i) shape.push_back(1);
  return reshape(x, shape) * y;
} catch (const Error&) {
  rethrow_as("outer");
}

Tensor kron(Operand a, Operand b) try {
  const Tensor x = to_tensor(a);
  const Tensor y = to_tensor(b);
  const Matrices left = matrices_of("kron", x);
  const Matrices right = matrices_of("kron", y);
  CAPSTAN_CHECK(std::max(x.rank(), y.rank()) + 2 <= kMaxRank, ShapeError, "kron: takes tensors of rank ", kMaxRank - 2,
                " or less, not ", std::max(x.rank(), y.rank()), arguments({{"a", x}, {"b", y}}));
  // [..., m, 1, n, 1] * [..., 1, p, 1, q]
  const Tensor product = expand_dims(expand_dims(x, -1), -3) * expand_dims(expand_dims(y, -2), -4);
  const Shape lengths = product.shape();
  const Shape batch(lengths.dims().first(static_cast<std::size_t>(product.rank() - 4)));
  return reshape(product, matrix_shape(batch, left.rows * right.rows, left.columns * right.columns));
} catch (const Error&) {
  rethrow_as("kron");
}

CAPSTAN_OPS(vectors, &kAdjoint, &kMatrixTranspose, &kTrace, &kCross, &kOuter, &kKron);

}  // namespace capstan
