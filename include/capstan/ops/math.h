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
///
///     abs(constant({-1.5, 2.0}));  // [1.5, 2]
CAPSTAN_EXPORT Tensor abs(Operand x);
/// -1, 0 or 1; NaN stays NaN. Of complex numbers x / |x|. The gradient of real ones is zero.
///
///     sign(constant({-1.5, 0.0, 2.0}));  // [-1, 0, 1]
CAPSTAN_EXPORT Tensor sign(Operand x);
/// -x; also written `-x`.
///
///     negative(constant({1.0, -2.0}));  // [-1, 2]
CAPSTAN_EXPORT Tensor negative(Operand x);
/// x * x.
///
///     square(constant({-3.0, 2.0}));  // [9, 4]
CAPSTAN_EXPORT Tensor square(Operand x);
/// The square root, NaN for negative numbers. Where x is 0 a cotangent of exactly 0 gives the gradient 0, not NaN.
///
///     sqrt(constant({4.0, 9.0}));  // [2, 3]
CAPSTAN_EXPORT Tensor sqrt(Operand x);
/// 1 / sqrt(x); the gradient as that of sqrt.
///
///     rsqrt(constant({4.0, 16.0}));  // [0.5, 0.25]
CAPSTAN_EXPORT Tensor rsqrt(Operand x);
/// 1 / x. Where x is 0 a cotangent of exactly 0 gives the gradient 0.
///
///     reciprocal(constant({2.0, 4.0}));  // [0.5, 0.25]
CAPSTAN_EXPORT Tensor reciprocal(Operand x);
/// e to the power of x; in float32 within 1.1 units in the last place.
///
///     exp(constant({0.0, 1.0}));  // [1, 2.718282]
CAPSTAN_EXPORT Tensor exp(Operand x);
/// exp(x) - 1, precise near 0.
///
///     expm1(constant({0.0, 1e-8}));  // [0, 1e-8]
CAPSTAN_EXPORT Tensor expm1(Operand x);
/// The natural logarithm: -infinity at 0, NaN below. In float32 within 1 unit in the last place.
///
///     log(constant({1.0, 10.0}));  // [0, 2.302585]
CAPSTAN_EXPORT Tensor log(Operand x);
/// log(1 + x), precise near 0.
///
///     log1p(constant({0.0, 1e-8}));  // [0, 1e-8]
CAPSTAN_EXPORT Tensor log1p(Operand x);
/// Sine, cosine and tangent of angles in radians of any size; in float32 sin is within 1 unit in the last place.
///
///     sin(constant({0.0, 1.0}));  // [0, 0.841471]
///     cos(constant({0.0, 1.0}));  // [1, 0.5403023]
///     tan(constant({0.0, 1.0}));  // [0, 1.557408]
CAPSTAN_EXPORT Tensor sin(Operand x);
CAPSTAN_EXPORT Tensor cos(Operand x);
CAPSTAN_EXPORT Tensor tan(Operand x);
/// Their inverses: asin and atan from -pi/2 to pi/2, acos from 0 to pi; NaN where there is none.
///
///     asin(constant({0.0, 1.0}));  // [0, 1.570796]
///     acos(constant({0.0, 1.0}));  // [1.570796, 0]
///     atan(constant({0.0, 1.0}));  // [0, 0.7853982]
CAPSTAN_EXPORT Tensor asin(Operand x);
CAPSTAN_EXPORT Tensor acos(Operand x);
CAPSTAN_EXPORT Tensor atan(Operand x);
/// Hyperbolic functions and inverses; NaN where there is none. In float32 tanh is within 2 units in the last place.
///
///     sinh(constant({0.0, 1.0}));  // [0, 1.175201]
///     cosh(constant({0.0, 1.0}));  // [1, 1.543081]
///     tanh(constant({0.0, 1.0}));  // [0, 0.7615942]
///     asinh(constant({0.0, 1.0}));  // [0, 0.8813736]
///     acosh(constant({1.0, 2.0}));  // [0, 1.316958]
///     atanh(constant({0.0, 0.5}));  // [0, 0.5493062]
CAPSTAN_EXPORT Tensor sinh(Operand x);
CAPSTAN_EXPORT Tensor cosh(Operand x);
CAPSTAN_EXPORT Tensor tanh(Operand x);
CAPSTAN_EXPORT Tensor asinh(Operand x);
CAPSTAN_EXPORT Tensor acosh(Operand x);
CAPSTAN_EXPORT Tensor atanh(Operand x);
/// The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x; in float32 within 1.1 units.
///
///     erf(constant({0.0, 1.0}));  // [0, 0.8427008]
CAPSTAN_EXPORT Tensor erf(Operand x);
/// 1 - erf(x), precise for large x.
///
///     erfc(constant({0.0, 5.0}));  // [1, 1.53746e-12]
CAPSTAN_EXPORT Tensor erfc(Operand x);
/// A new tensor with the elements of x; a tape connects the two.
///
///     identity(constant({1.0, 2.0}));  // [1, 2]
CAPSTAN_EXPORT Tensor identity(Operand x);
/// A new tensor with the elements of x that no tape connects with x: gradients take it for a constant.
///
///     stop_gradient(constant({1.0, 2.0}));  // [1, 2]
CAPSTAN_EXPORT Tensor stop_gradient(Operand x);
/// cast, but numbers that `dtype` cannot hold become the nearest that it can.
///
///     saturate_cast(constant({-5.0, 300.0}), uint8);  // [0, 255]
CAPSTAN_EXPORT Tensor saturate_cast(Operand x, DType dtype);
/// x limited to the range from `low` to `high`, which broadcast to x; where they cross, `low` wins. A bound that is met
/// passes the gradient to x, one that is in force to the bound. Errors: ShapeError if the result would be larger than
/// x.
///
///     clip_by_value(constant({-2.0, 0.5, 3.0}), -1.0, 1.0);  // [-1, 0.5, 1]
CAPSTAN_EXPORT Tensor clip_by_value(Operand x, Operand low, Operand high);
/// The next integer below, above, or nearest, where halves go to the even one. Not differentiable. rint is round.
///
///     floor(constant({-1.5, 2.5}));  // [-2, 2]
///     ceil(constant({-1.5, 2.5}));  // [-1, 3]
///     round(constant({-1.5, 2.5}));  // [-2, 2]
///     rint(constant({-1.5, 2.5}));  // [-2, 2]
CAPSTAN_EXPORT Tensor floor(Operand x);
CAPSTAN_EXPORT Tensor ceil(Operand x);
CAPSTAN_EXPORT Tensor round(Operand x);
CAPSTAN_EXPORT Tensor rint(Operand x);
/// bool: whether an element is NaN, infinite, or neither. float32, float64, bfloat16.
///
///     is_nan(log(constant({-1.0, 1.0})));  // [true, false]
///     is_inf(log(constant({0.0, 1.0})));  // [true, false]
///     is_finite(log(constant({-1.0, 0.0, 1.0})));  // [false, false, true]
CAPSTAN_EXPORT Tensor is_nan(Operand x);
CAPSTAN_EXPORT Tensor is_inf(Operand x);
CAPSTAN_EXPORT Tensor is_finite(Operand x);

/// x + y. Integers wrap around. Also written `x + y`.
///
///     add(constant({1.0, 2.0}), 0.5);  // [1.5, 2.5]
CAPSTAN_EXPORT Tensor add(Operand x, Operand y);
/// x - y; also written so.
///
///     subtract(constant({1.0, 2.0}), 0.5);  // [0.5, 1.5]
CAPSTAN_EXPORT Tensor subtract(Operand x, Operand y);
/// x * y, element by element; also written so.
///
///     multiply(constant({1.0, 2.0}), constant({3.0, 4.0}));  // [3, 8]
CAPSTAN_EXPORT Tensor multiply(Operand x, Operand y);
/// x / y; also written so. Integers give a floating quotient: float32 for uint8, float64 for the others.
///
///     divide(constant({1.0, 2.0}), 4.0);  // [0.25, 0.5]
CAPSTAN_EXPORT Tensor divide(Operand x, Operand y);
/// The quotient rounded down. Not differentiable. Errors: ValueError for an integer divided by zero.
///
///     floordiv(constant({-7, 7}), 2);  // [-4, 3]
CAPSTAN_EXPORT Tensor floordiv(Operand x, Operand y);
/// The remainder of floordiv, which has the sign of y; also written `x % y`. Errors: as floordiv.
///
///     floormod(constant({-7, 7}), 3);  // [2, 1]
CAPSTAN_EXPORT Tensor floormod(Operand x, Operand y);
/// The remainder of truncatediv, which has the sign of x. Errors: as floordiv.
///
///     truncatemod(constant({-7, 7}), 3);  // [-1, 1]
CAPSTAN_EXPORT Tensor truncatemod(Operand x, Operand y);
/// x / y, and 0 where y is 0.
///
///     divide_no_nan(constant({1.0, 1.0}), constant({2.0, 0.0}));  // [0.5, 0]
CAPSTAN_EXPORT Tensor divide_no_nan(Operand x, Operand y);
/// x * y, and 0 where y is 0 even if x is infinite or NaN.
///
///     multiply_no_nan(log(constant({2.0, 0.0})), constant({1.0, 0.0}));  // [0.6931472, 0]
CAPSTAN_EXPORT Tensor multiply_no_nan(Operand x, Operand y);
/// The quotient of integers rounded towards zero. Errors: as floordiv.
///
///     truncatediv(constant({-7, 7}), 2);  // [-3, 3]
CAPSTAN_EXPORT Tensor truncatediv(Operand x, Operand y);
/// (x - y)^2; of complex numbers |x - y|^2, as a complex number.
///
///     squared_difference(constant({1.0, 5.0}), constant({4.0, 3.0}));  // [9, 4]
CAPSTAN_EXPORT Tensor squared_difference(Operand x, Operand y);
/// x log(y), x log(1 + y) and x / y, and 0 where x is 0 whatever y is.
///
///     xlogy(constant({0.0, 2.0}), constant({0.0, 3.0}));  // [0, 2.197225]
///     xlog1py(constant({0.0, 2.0}), constant({-1.0, 2.0}));  // [0, 2.197225]
///     xdivy(constant({0.0, 2.0}), constant({0.0, 4.0}));  // [0, 0.5]
CAPSTAN_EXPORT Tensor xlogy(Operand x, Operand y);
CAPSTAN_EXPORT Tensor xlog1py(Operand x, Operand y);
CAPSTAN_EXPORT Tensor xdivy(Operand x, Operand y);
/// The same numbers in another dtype; x itself if it has it already. Floating numbers lose their fraction; those that
/// an integer cannot hold become its nearest, NaN becomes 0. Integers wrap around. Anything but 0 is true. Of a complex
/// number that becomes a real one the real part is left. The gradient is cast back; to or from integers and bool there
/// is none.
///
///     cast(constant({1.7, -1.7}), int32);  // [1, -1]
CAPSTAN_EXPORT Tensor cast(Operand x, DType dtype);
/// x to the power of y, in float32 within 1 unit. The gradient for y takes log(x) as 0 where x is not positive
/// (of complex numbers: where x is 0).
/// Errors: ValueError for integers with a negative power.
///
///     pow(constant({2.0, 3.0}), constant({10.0, 0.5}));  // [1024, 1.732051]
CAPSTAN_EXPORT Tensor pow(Operand x, Operand y);
/// real + i imag, which broadcast: complex64 of float32, complex128 of float64. Errors: DTypeError for any other dtype,
/// ShapeError.
///
///     complex(constant({1.0, 2.0}), 0.5);   // complex64[2]
CAPSTAN_EXPORT Tensor complex(Operand real, Operand imag);
/// The real and the imaginary part: float32 of complex64, float64 of complex128. Of a real tensor itself and zeros.
///
///     real(complex(constant({1.0, 2.0}), 0.5));  // [1, 2]
///     imag(complex(constant({1.0, 2.0}), 0.5));  // [0.5, 0.5]
CAPSTAN_EXPORT Tensor real(Operand x);
CAPSTAN_EXPORT Tensor imag(Operand x);
/// The complex conjugate; of a real tensor itself.
///
///     imag(conj(complex(constant({1.0, 2.0}), 0.5)));  // [-0.5, -0.5]
CAPSTAN_EXPORT Tensor conj(Operand x);
/// The angle of a complex number with the first axis, from -pi to pi; of a real number 0 or pi.
///
///     angle(complex(constant({1.0, 0.0}), constant({0.0, 1.0})));  // [0, 1.570796]
CAPSTAN_EXPORT Tensor angle(Operand x);
/// |x| of complex numbers, which is what abs calls. Errors: DTypeError for any other dtype.
///
///     complex_abs(complex(constant({3.0}), constant({4.0})));  // [5]
CAPSTAN_EXPORT Tensor complex_abs(Operand x);
/// The larger and the smaller element; NaN if either is. At a tie the gradient goes to x.
///
///     maximum(constant({1.0, 5.0}), constant({3.0, 2.0}));  // [3, 5]
///     minimum(constant({1.0, 5.0}), constant({3.0, 2.0}));  // [1, 2]
CAPSTAN_EXPORT Tensor maximum(Operand x, Operand y);
CAPSTAN_EXPORT Tensor minimum(Operand x, Operand y);
/// The angle of the point (x, y) with the first axis, from -pi to pi.
///
///     atan2(constant({1.0, 1.0}), constant({1.0, -1.0}));  // [0.7853982, 2.356194]
CAPSTAN_EXPORT Tensor atan2(Operand y, Operand x);

/// bool: comparison element by element. equal and not_equal take any dtype, the others numbers. With NaN only not_equal
/// is true. The last four are also written `x < y` and so on.
///
///     equal(constant({1, 2, 3}), 2);  // [false, true, false]
///     not_equal(constant({1, 2, 3}), 2);  // [true, false, true]
///     less(constant({1, 2, 3}), 2);  // [true, false, false]
///     less_equal(constant({1, 2, 3}), 2);  // [true, true, false]
///     greater(constant({1, 2, 3}), 2);  // [false, false, true]
///     greater_equal(constant({1, 2, 3}), 2);  // [false, true, true]
CAPSTAN_EXPORT Tensor equal(Operand x, Operand y);
CAPSTAN_EXPORT Tensor not_equal(Operand x, Operand y);
CAPSTAN_EXPORT Tensor less(Operand x, Operand y);
CAPSTAN_EXPORT Tensor less_equal(Operand x, Operand y);
CAPSTAN_EXPORT Tensor greater(Operand x, Operand y);
CAPSTAN_EXPORT Tensor greater_equal(Operand x, Operand y);
/// Logic on bool tensors. logical_not is also written `!x`.
///
///     logical_and(constant({true, true, false}), constant({true, false, false}));  // [true, false, false]
///     logical_or(constant({true, true, false}), constant({true, false, false}));  // [true, true, false]
///     logical_xor(constant({true, true, false}), constant({true, false, false}));  // [false, true, false]
///     logical_not(constant({true, false}));  // [false, true]
CAPSTAN_EXPORT Tensor logical_and(Operand x, Operand y);
CAPSTAN_EXPORT Tensor logical_or(Operand x, Operand y);
CAPSTAN_EXPORT Tensor logical_xor(Operand x, Operand y);
CAPSTAN_EXPORT Tensor logical_not(Operand x);

/// `x` where the condition holds, else `y`; all three broadcast. The condition is bool and has no gradient.
///
///     where(constant({true, false}), constant({1.0, 2.0}), -1.0);  // [1, -1]
CAPSTAN_EXPORT Tensor where(Operand condition, Operand x, Operand y);

/// The sum of tensors of one shape. Errors: ValueError for none, ShapeError.
///
///     add_n({constant({1.0, 2.0}), constant({3.0, 4.0}), constant({5.0, 6.0})});  // [9, 12]
CAPSTAN_EXPORT Tensor add_n(Operands tensors);

}  // namespace capstan
