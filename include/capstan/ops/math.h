#pragma once

#include "capstan/tensor.h"

namespace capstan {

// Elementwise functions. Two operands broadcast as in NumPy and have the same dtype; a plain number takes the dtype of
// the tensor it meets.

CAPSTAN_EXPORT Tensor abs(Operand x);
CAPSTAN_EXPORT Tensor sign(Operand x);
CAPSTAN_EXPORT Tensor negative(Operand x);
CAPSTAN_EXPORT Tensor square(Operand x);
CAPSTAN_EXPORT Tensor sqrt(Operand x);
CAPSTAN_EXPORT Tensor rsqrt(Operand x);
CAPSTAN_EXPORT Tensor reciprocal(Operand x);
CAPSTAN_EXPORT Tensor exp(Operand x);
CAPSTAN_EXPORT Tensor expm1(Operand x);
CAPSTAN_EXPORT Tensor log(Operand x);
CAPSTAN_EXPORT Tensor log1p(Operand x);
CAPSTAN_EXPORT Tensor sin(Operand x);
CAPSTAN_EXPORT Tensor cos(Operand x);
CAPSTAN_EXPORT Tensor tan(Operand x);
CAPSTAN_EXPORT Tensor asin(Operand x);
CAPSTAN_EXPORT Tensor acos(Operand x);
CAPSTAN_EXPORT Tensor atan(Operand x);
CAPSTAN_EXPORT Tensor sinh(Operand x);
CAPSTAN_EXPORT Tensor cosh(Operand x);
CAPSTAN_EXPORT Tensor tanh(Operand x);
CAPSTAN_EXPORT Tensor asinh(Operand x);
CAPSTAN_EXPORT Tensor acosh(Operand x);
CAPSTAN_EXPORT Tensor atanh(Operand x);
CAPSTAN_EXPORT Tensor erf(Operand x);
CAPSTAN_EXPORT Tensor erfc(Operand x);
CAPSTAN_EXPORT Tensor lgamma(Operand x);
CAPSTAN_EXPORT Tensor digamma(Operand x);
CAPSTAN_EXPORT Tensor sigmoid(Operand x);
CAPSTAN_EXPORT Tensor softplus(Operand x);
CAPSTAN_EXPORT Tensor identity(Operand x);
CAPSTAN_EXPORT Tensor stop_gradient(Operand x);
CAPSTAN_EXPORT Tensor saturate_cast(Operand x, DType dtype);
CAPSTAN_EXPORT Tensor clip_by_value(Operand x, Operand low, Operand high);
CAPSTAN_EXPORT Tensor floor(Operand x);
CAPSTAN_EXPORT Tensor ceil(Operand x);
CAPSTAN_EXPORT Tensor round(Operand x);
CAPSTAN_EXPORT Tensor rint(Operand x);
CAPSTAN_EXPORT Tensor is_nan(Operand x);
CAPSTAN_EXPORT Tensor is_inf(Operand x);
CAPSTAN_EXPORT Tensor is_finite(Operand x);

CAPSTAN_EXPORT Tensor add(Operand x, Operand y);
CAPSTAN_EXPORT Tensor subtract(Operand x, Operand y);
CAPSTAN_EXPORT Tensor multiply(Operand x, Operand y);
CAPSTAN_EXPORT Tensor divide(Operand x, Operand y);
CAPSTAN_EXPORT Tensor floordiv(Operand x, Operand y);
CAPSTAN_EXPORT Tensor polygamma(Operand n, Operand x);
CAPSTAN_EXPORT Tensor floormod(Operand x, Operand y);
CAPSTAN_EXPORT Tensor truncatemod(Operand x, Operand y);
CAPSTAN_EXPORT Tensor divide_no_nan(Operand x, Operand y);
CAPSTAN_EXPORT Tensor multiply_no_nan(Operand x, Operand y);
CAPSTAN_EXPORT Tensor truncatediv(Operand x, Operand y);
CAPSTAN_EXPORT Tensor squared_difference(Operand x, Operand y);
CAPSTAN_EXPORT Tensor xlogy(Operand x, Operand y);
CAPSTAN_EXPORT Tensor xlog1py(Operand x, Operand y);
CAPSTAN_EXPORT Tensor xdivy(Operand x, Operand y);
CAPSTAN_EXPORT Tensor cast(Operand x, DType dtype);
CAPSTAN_EXPORT Tensor pow(Operand x, Operand y);
CAPSTAN_EXPORT Tensor maximum(Operand x, Operand y);
CAPSTAN_EXPORT Tensor minimum(Operand x, Operand y);
CAPSTAN_EXPORT Tensor atan2(Operand y, Operand x);

CAPSTAN_EXPORT Tensor equal(Operand x, Operand y);
CAPSTAN_EXPORT Tensor not_equal(Operand x, Operand y);
CAPSTAN_EXPORT Tensor less(Operand x, Operand y);
CAPSTAN_EXPORT Tensor less_equal(Operand x, Operand y);
CAPSTAN_EXPORT Tensor greater(Operand x, Operand y);
CAPSTAN_EXPORT Tensor greater_equal(Operand x, Operand y);
CAPSTAN_EXPORT Tensor logical_and(Operand x, Operand y);
CAPSTAN_EXPORT Tensor logical_or(Operand x, Operand y);
CAPSTAN_EXPORT Tensor logical_xor(Operand x, Operand y);
CAPSTAN_EXPORT Tensor logical_not(Operand x);

/// `x` where the condition holds, else `y`; all three broadcast. The condition is bool and has no gradient.
CAPSTAN_EXPORT Tensor where(Operand condition, Operand x, Operand y);

CAPSTAN_EXPORT Tensor clip_by_value(Operand x, Operand low, Operand high);
CAPSTAN_EXPORT Tensor cast(Operand x, DType dtype);
CAPSTAN_EXPORT Tensor identity(Operand x);
/// The same value, which no tape ever connects to its input.
CAPSTAN_EXPORT Tensor stop_gradient(Operand x);
CAPSTAN_EXPORT Tensor squared_difference(Operand x, Operand y);
CAPSTAN_EXPORT Tensor divide_no_nan(Operand x, Operand y);
CAPSTAN_EXPORT Tensor multiply_no_nan(Operand x, Operand y);
CAPSTAN_EXPORT Tensor floordiv(Operand x, Operand y);

/// The sum of tensors of one shape. Errors: ValueError for none, ShapeError.
CAPSTAN_EXPORT Tensor add_n(Operands tensors);

}  // namespace capstan
