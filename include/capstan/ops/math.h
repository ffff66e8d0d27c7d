#pragma once

#include "capstan/tensor.h"

namespace capstan {

// Elementwise functions. Two operands broadcast as in NumPy and have the same dtype; a plain number takes the dtype of
// the tensor it meets. Unless said otherwise the dtypes are float32, float64 and bfloat16; arithmetic, comparison, abs,
// sign, negative, square, maximum and minimum take integers as well. Errors: DTypeError for any other dtype or for two
// different ones, ShapeError for shapes that do not broadcast.
//
// Functions that are analytic take complex64 and complex128 too: arithmetic, powers, exponential, logarithm,
// trigonometric and hyperbolic functions and their inverses, sigmoid, xlogy, xlog1py, xdivy, sign, equal, not_equal,
// where and cast. The gradient of a real L is dL/dRe + i dL/dIm, as in TensorFlow: for an analytic f it is the
// cotangent times the conjugate of the derivative.
//
// In float32 a result is within 2.5 units in the last place of the exact one, in most functions within 1; results have
// the same bits on every processor.

/// |x|. Any number; that of complex ones is real. The gradient at 0 is 0.
CAPSTAN_EXPORT Tensor abs(Operand x);
/// -1, 0 or 1; NaN stays NaN. Of complex numbers x / |x|. The gradient of real ones is zero.
CAPSTAN_EXPORT Tensor sign(Operand x);
/// -x; also written `-x`.
CAPSTAN_EXPORT Tensor negative(Operand x);
/// x * x.
CAPSTAN_EXPORT Tensor square(Operand x);
/// The square root, NaN for negative numbers. Where x is 0 a cotangent of exactly 0 gives the gradient 0, not NaN.
CAPSTAN_EXPORT Tensor sqrt(Operand x);
/// 1 / sqrt(x); the gradient as that of sqrt.
CAPSTAN_EXPORT Tensor rsqrt(Operand x);
/// 1 / x. Where x is 0 a cotangent of exactly 0 gives the gradient 0.
CAPSTAN_EXPORT Tensor reciprocal(Operand x);
/// e to the power of x; in float32 within 1.1 units in the last place.
CAPSTAN_EXPORT Tensor exp(Operand x);
/// exp(x) - 1, precise near 0.
CAPSTAN_EXPORT Tensor expm1(Operand x);
/// The natural logarithm: -infinity at 0, NaN below. In float32 within 1 unit in the last place.
CAPSTAN_EXPORT Tensor log(Operand x);
/// log(1 + x), precise near 0.
CAPSTAN_EXPORT Tensor log1p(Operand x);
/// Sine, cosine and tangent of angles in radians of any size; in float32 sin is within 1 unit in the last place.
CAPSTAN_EXPORT Tensor sin(Operand x);
CAPSTAN_EXPORT Tensor cos(Operand x);
CAPSTAN_EXPORT Tensor tan(Operand x);
/// Their inverses: asin and atan from -pi/2 to pi/2, acos from 0 to pi; NaN where there is none.
CAPSTAN_EXPORT Tensor asin(Operand x);
CAPSTAN_EXPORT Tensor acos(Operand x);
CAPSTAN_EXPORT Tensor atan(Operand x);
/// Hyperbolic functions and inverses; NaN where there is none. In float32 tanh is within 2 units in the last place.
CAPSTAN_EXPORT Tensor sinh(Operand x);
CAPSTAN_EXPORT Tensor cosh(Operand x);
CAPSTAN_EXPORT Tensor tanh(Operand x);
CAPSTAN_EXPORT Tensor asinh(Operand x);
CAPSTAN_EXPORT Tensor acosh(Operand x);
CAPSTAN_EXPORT Tensor atanh(Operand x);
/// The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x; in float32 within 1.1 units.
CAPSTAN_EXPORT Tensor erf(Operand x);
/// 1 - erf(x), precise for large x.
CAPSTAN_EXPORT Tensor erfc(Operand x);
/// A new tensor with the elements of x; a tape connects the two.
CAPSTAN_EXPORT Tensor identity(Operand x);
/// A new tensor with the elements of x that no tape connects with x: gradients take it for a constant.
CAPSTAN_EXPORT Tensor stop_gradient(Operand x);
/// cast, but numbers that `dtype` cannot hold become the nearest that it can.
CAPSTAN_EXPORT Tensor saturate_cast(Operand x, DType dtype);
/// x limited to the range from `low` to `high`, which broadcast to x; where they cross, `low` wins. A bound that is met
/// passes the gradient to x, one that is in force to the bound. Errors: ShapeError if the result would be larger than
/// x.
CAPSTAN_EXPORT Tensor clip_by_value(Operand x, Operand low, Operand high);
/// The next integer below, above, or nearest, where halves go to the even one. Not differentiable. rint is round.
CAPSTAN_EXPORT Tensor floor(Operand x);
CAPSTAN_EXPORT Tensor ceil(Operand x);
CAPSTAN_EXPORT Tensor round(Operand x);
CAPSTAN_EXPORT Tensor rint(Operand x);
/// bool: whether an element is NaN, infinite, or neither. float32, float64, bfloat16.
CAPSTAN_EXPORT Tensor is_nan(Operand x);
CAPSTAN_EXPORT Tensor is_inf(Operand x);
CAPSTAN_EXPORT Tensor is_finite(Operand x);

/// x + y. Integers wrap around. Also written `x + y`.
CAPSTAN_EXPORT Tensor add(Operand x, Operand y);
/// x - y; also written so.
CAPSTAN_EXPORT Tensor subtract(Operand x, Operand y);
/// x * y, element by element; also written so.
CAPSTAN_EXPORT Tensor multiply(Operand x, Operand y);
/// x / y; also written so. Integers give a floating quotient: float32 for uint8, float64 for the others.
CAPSTAN_EXPORT Tensor divide(Operand x, Operand y);
/// The quotient rounded down. Not differentiable. Errors: ValueError for an integer divided by zero.
CAPSTAN_EXPORT Tensor floordiv(Operand x, Operand y);
/// The remainder of floordiv, which has the sign of y; also written `x % y`. Errors: as floordiv.
CAPSTAN_EXPORT Tensor floormod(Operand x, Operand y);
/// The remainder of truncatediv, which has the sign of x. Errors: as floordiv.
CAPSTAN_EXPORT Tensor truncatemod(Operand x, Operand y);
/// x / y, and 0 where y is 0.
CAPSTAN_EXPORT Tensor divide_no_nan(Operand x, Operand y);
/// x * y, and 0 where y is 0 even if x is infinite or NaN.
CAPSTAN_EXPORT Tensor multiply_no_nan(Operand x, Operand y);
/// The quotient of integers rounded towards zero. Errors: as floordiv.
CAPSTAN_EXPORT Tensor truncatediv(Operand x, Operand y);
/// (x - y)^2; of complex numbers |x - y|^2, as a complex number.
CAPSTAN_EXPORT Tensor squared_difference(Operand x, Operand y);
/// x log(y), x log(1 + y) and x / y, and 0 where x is 0 whatever y is.
CAPSTAN_EXPORT Tensor xlogy(Operand x, Operand y);
CAPSTAN_EXPORT Tensor xlog1py(Operand x, Operand y);
CAPSTAN_EXPORT Tensor xdivy(Operand x, Operand y);
/// The same numbers in another dtype; x itself if it has it already. Floating numbers lose their fraction; those that
/// an integer cannot hold become its nearest, NaN becomes 0. Integers wrap around. Anything but 0 is true. Of a complex
/// number that becomes a real one the real part is left. The gradient is cast back; to or from integers and bool there
/// is none.
CAPSTAN_EXPORT Tensor cast(Operand x, DType dtype);
/// x to the power of y, in float32 within 1 unit. The gradient for y takes log(x) as 0 where x is not positive
/// (of complex numbers: where x is 0).
/// Errors: ValueError for integers with a negative power.
CAPSTAN_EXPORT Tensor pow(Operand x, Operand y);
/// real + i imag, which broadcast: complex64 of float32, complex128 of float64. Errors: DTypeError for any other dtype,
/// ShapeError.
///
///     complex(constant({1.0, 2.0}), 0.5);   // complex64[2]
CAPSTAN_EXPORT Tensor complex(Operand real, Operand imag);
/// The real and the imaginary part: float32 of complex64, float64 of complex128. Of a real tensor itself and zeros.
CAPSTAN_EXPORT Tensor real(Operand x);
CAPSTAN_EXPORT Tensor imag(Operand x);
/// The complex conjugate; of a real tensor itself.
CAPSTAN_EXPORT Tensor conj(Operand x);
/// The angle of a complex number with the first axis, from -pi to pi; of a real number 0 or pi.
CAPSTAN_EXPORT Tensor angle(Operand x);
/// |x| of complex numbers, which is what abs calls. Errors: DTypeError for any other dtype.
CAPSTAN_EXPORT Tensor complex_abs(Operand x);
/// The larger and the smaller element; NaN if either is. At a tie the gradient goes to x.
CAPSTAN_EXPORT Tensor maximum(Operand x, Operand y);
CAPSTAN_EXPORT Tensor minimum(Operand x, Operand y);
/// The angle of the point (x, y) with the first axis, from -pi to pi.
CAPSTAN_EXPORT Tensor atan2(Operand y, Operand x);

/// bool: comparison element by element. equal and not_equal take any dtype, the others numbers. With NaN only not_equal
/// is true. The last four are also written `x < y` and so on.
CAPSTAN_EXPORT Tensor equal(Operand x, Operand y);
CAPSTAN_EXPORT Tensor not_equal(Operand x, Operand y);
CAPSTAN_EXPORT Tensor less(Operand x, Operand y);
CAPSTAN_EXPORT Tensor less_equal(Operand x, Operand y);
CAPSTAN_EXPORT Tensor greater(Operand x, Operand y);
CAPSTAN_EXPORT Tensor greater_equal(Operand x, Operand y);
/// Logic on bool tensors. logical_not is also written `!x`.
CAPSTAN_EXPORT Tensor logical_and(Operand x, Operand y);
CAPSTAN_EXPORT Tensor logical_or(Operand x, Operand y);
CAPSTAN_EXPORT Tensor logical_xor(Operand x, Operand y);
CAPSTAN_EXPORT Tensor logical_not(Operand x);

/// `x` where the condition holds, else `y`; all three broadcast. The condition is bool and has no gradient.
CAPSTAN_EXPORT Tensor where(Operand condition, Operand x, Operand y);

/// The sum of tensors of one shape. Errors: ValueError for none, ShapeError.
CAPSTAN_EXPORT Tensor add_n(Operands tensors);

}  // namespace capstan
