// Cotangents as values: how the reverse pass makes and joins them.
#pragma once

#include "src/core/apply.h"

namespace capstan {

// sum_like without an op, when nobody observes: a cotangent summed over the axes along which the input was stretched.
Tensor sum_to(const Tensor& cotangent, const detail::Block* like);

// Sums two cotangents of one tensor; row-sparse ones keep their rows.
Tensor add_cotangents(const Tensor& a, const Tensor& b);

// A tensor of one number in the shape and dtype of `like`.
Tensor filled_like(const TensorRef& like, double number);

}  // namespace capstan
