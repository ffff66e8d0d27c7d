// Tensors of any dtype from numbers, for tests.
#pragma once

#include <vector>

#include "capstan/tensor.h"

namespace capstan::testing {

// A tensor whose elements are the numbers converted to `dtype`: rounded to nearest, integers
// wrapped around, and for bool whether they are not zero.
Tensor make_tensor(DType dtype, const Shape& shape, const std::vector<double>& numbers);

// A view of the same elements that begins at an odd offset in a larger buffer.
Tensor as_view(const Tensor& tensor);

// A tensor with a buffer of its own.
Tensor copy(const Tensor& tensor);

// Overwrites every element with what no rule can take for a value: NaN, or a number that is no
// index.
void poison(const Tensor& tensor);

}  // namespace capstan::testing
