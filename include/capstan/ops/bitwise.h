#pragma once

#include "capstan/tensor.h"

namespace capstan {

// Functions on the bits of numbers, elementwise; two operands broadcast and have the same dtype. Those on integers take
// int32, int64 and uint8 and have no gradient. Errors: DTypeError, ShapeError.

/// The bits that are set in both, in either, or in exactly one.
///
///     bitwise_and(constant({6, 5}), constant({3, 4}));   // 2 4
///     bitwise_or(constant({6, 5}), constant({3, 4}));  // [7, 5]
///     bitwise_xor(constant({6, 5}), constant({3, 4}));  // [5, 1]
CAPSTAN_EXPORT Tensor bitwise_and(Operand x, Operand y);
CAPSTAN_EXPORT Tensor bitwise_or(Operand x, Operand y);
CAPSTAN_EXPORT Tensor bitwise_xor(Operand x, Operand y);
/// Bitwise NOT.
///
///     invert(constant({0, 5}));  // [-1, -6]
CAPSTAN_EXPORT Tensor invert(Operand x);
/// The bits moved by y places; y is limited to the range from 0 to one less than the number of bits. To the right, the
/// sign moves in from the left.
///
///     left_shift(constant({1, 5}), constant({4, 1}));  // [16, 10]
///     right_shift(constant({16, -5}), constant({4, 1}));  // [1, -3]
CAPSTAN_EXPORT Tensor left_shift(Operand x, Operand y);
CAPSTAN_EXPORT Tensor right_shift(Operand x, Operand y);
/// uint8: how many bits are set.
///
///     population_count(constant({7, 8}));  // [3, 1]
CAPSTAN_EXPORT Tensor population_count(Operand x);

/// The next number after x1 in the direction of x2, of float32 or float64. The gradient for x1 is the cotangent, that
/// for x2 zero.
///
///     nextafter(constant({1.0}), 2.0);  // [1]
CAPSTAN_EXPORT Tensor nextafter(Operand x1, Operand x2);

}  // namespace capstan
