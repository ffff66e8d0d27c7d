// Diagonals of tensors of twice a rank: those of matrices, between reshapes.
#include "capstan/ops/array.h"
#include "capstan/ops/diagonals.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"

namespace capstan {

constinit const OpDef kTensorDiag =
    composite<&tensor_diag, "x">("tensor_diag", "The tensor of twice the rank whose diagonal is given.");

constinit const OpDef kTensorDiagPart =
    composite<&tensor_diag_part, "x">("tensor_diag_part", "The diagonal of a tensor whose shape is some shape twice.");

Tensor tensor_diag(Operand x) try {
  const Tensor value = to_tensor(x);
  CAPSTAN_CHECK(2 * value.rank() <= kMaxRank, ShapeError, "tensor_diag: takes tensors of rank ", kMaxRank / 2,
                " or less, not ", value.rank(), arguments({{"x", value}}));
  Shape shape = value.shape();
  for (int i = 0; i < value.rank(); ++i) shape.push_back(value.dim(i));
  return reshape(diag(reshape(value, {value.size()})), shape);
} catch (const Error&) {
  rethrow_as("tensor_diag");
}

Tensor tensor_diag_part(Operand x) try {
  const Tensor value = to_tensor(x);
  const Shape shape = value.shape();
  const auto half = static_cast<std::size_t>(shape.rank() / 2);
  const Shape first(shape.dims().first(half));
  CAPSTAN_CHECK(shape.rank() % 2 == 0 && first == Shape(shape.dims().last(half)), ShapeError,
                "tensor_diag_part: takes tensors whose shape is some shape twice, not ", shape,
                arguments({{"x", value}}));
  const std::int64_t n = first.size();
  return reshape(diag_part(reshape(value, {n, n})), first);
} catch (const Error&) {
  rethrow_as("tensor_diag_part");
}

CAPSTAN_OPS(tensor_diagonals, &kTensorDiag, &kTensorDiagPart);

}  // namespace capstan
