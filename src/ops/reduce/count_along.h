// Quotients by a number of elements.
//
// In a trace that number is an op of its own and no literal, because a graph may run for other lengths than those that
// it was traced with.
#pragma once

#include "capstan/tensor.h"

namespace capstan {

// That op: the number n of elements of x along the axes, or, if `unbiases`, n / (n - 1).
CAPSTAN_EXPORT Tensor count_along(const Tensor& x, const Axes& axes, DType dtype, bool unbiases);

// g divided by the number of elements of x along the axes.
Tensor divide_by_count(const Tensor& g, const Tensor& x, const Axes& axes);

// A variance over `axes` of x as the unbiased one: times n / (n - 1).
Tensor without_bias(const Tensor& variance, const Tensor& x, const Axes& axes);

}  // namespace capstan
