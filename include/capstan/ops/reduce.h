#pragma once

#include <concepts>

#include "capstan/tensor.h"

namespace capstan {

// Reductions run over all axes or the given ones; `keepdims` keeps them with length 1.
// Errors: IndexError for an axis out of range or given twice, DTypeError. Complex numbers have no extrema.

/// The sum.
///
///     reduce_sum(x);                 // of all elements
///     reduce_sum(x, 0);              // over rows
///     reduce_sum(x, {0, 1}, {.keepdims = true});           // over two axes, kept with length 1
///     reduce_sum(x, {.axis = {0, 1}, .keepdims = true});   // the same
CAPSTAN_EXPORT Tensor reduce_sum(Operand x, Axes axis = {}, const KeepdimsOptions& options = {});
/// The mean. That of integers is truncated, that of nothing is NaN.
///
///     reduce_mean(constant({1.0, 2.0, 6.0}));  // 3
CAPSTAN_EXPORT Tensor reduce_mean(Operand x, Axes axis = {}, const KeepdimsOptions& options = {});
/// The product. Its gradients are right where elements are zero.
///
///     reduce_prod(constant({{1, 2}, {3, 4}}), 1);  // [2, 12]
CAPSTAN_EXPORT Tensor reduce_prod(Operand x, Axes axis = {}, const KeepdimsOptions& options = {});
/// The largest element; a NaN wins. The gradient is shared equally among ties.
///
///     reduce_max(constant({{1, 2}, {4, 3}}), 1);  // [2, 4]
CAPSTAN_EXPORT Tensor reduce_max(Operand x, Axes axis = {}, const KeepdimsOptions& options = {});
/// The smallest element; a NaN wins. The gradient is shared equally among ties.
///
///     reduce_min(constant({{1, 2}, {4, 3}}), 1);  // [1, 3]
CAPSTAN_EXPORT Tensor reduce_min(Operand x, Axes axis = {}, const KeepdimsOptions& options = {});
/// True where any element is true. Takes bool.
///
///     reduce_any(constant({{true, false}, {false, false}}), 1);  // [true, false]
CAPSTAN_EXPORT Tensor reduce_any(Operand x, Axes axis = {}, const KeepdimsOptions& options = {});
/// True where all elements are true. Takes bool.
///
///     reduce_all(constant({{true, true}, {true, false}}), 1);  // [true, false]
CAPSTAN_EXPORT Tensor reduce_all(Operand x, Axes axis = {}, const KeepdimsOptions& options = {});
/// log(sum(exp(x))), without overflow.
///
///     reduce_logsumexp(constant({1000.0, 1000.0}));  // 1000.693
CAPSTAN_EXPORT Tensor reduce_logsumexp(Operand x, Axes axis = {}, const KeepdimsOptions& options = {});
/// The mean squared distance from the mean (divided by the count); real, of complex numbers too.
///
///     reduce_variance(constant({1.0, 2.0, 3.0, 4.0}));  // 1.25
CAPSTAN_EXPORT Tensor reduce_variance(Operand x, Axes axis = {}, const KeepdimsOptions& options = {});
/// The square root of the variance. Its gradient is NaN where all elements are equal.
///
///     reduce_std(constant({1.0, 2.0, 3.0, 4.0}));  // 1.118034
CAPSTAN_EXPORT Tensor reduce_std(Operand x, Axes axis = {}, const KeepdimsOptions& options = {});
/// The square root of the sum of squared magnitudes; keeps the dtype. Its gradient is NaN where all elements are zero.
///
///     reduce_euclidean_norm(constant({3.0, 4.0}));  // 5
CAPSTAN_EXPORT Tensor reduce_euclidean_norm(Operand x, Axes axis = {}, const KeepdimsOptions& options = {});

// The same with options. Templates, since `reduce_sum(x, {})` and `reduce_sum(x, {0, 1})` mean the functions above.
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor reduce_sum(Operand x, const Options& options) {
  return reduce_sum(x, options.axis, {.keepdims = options.keepdims});
}
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor reduce_mean(Operand x, const Options& options) {
  return reduce_mean(x, options.axis, {.keepdims = options.keepdims});
}
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor reduce_prod(Operand x, const Options& options) {
  return reduce_prod(x, options.axis, {.keepdims = options.keepdims});
}
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor reduce_max(Operand x, const Options& options) {
  return reduce_max(x, options.axis, {.keepdims = options.keepdims});
}
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor reduce_min(Operand x, const Options& options) {
  return reduce_min(x, options.axis, {.keepdims = options.keepdims});
}
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor reduce_any(Operand x, const Options& options) {
  return reduce_any(x, options.axis, {.keepdims = options.keepdims});
}
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor reduce_all(Operand x, const Options& options) {
  return reduce_all(x, options.axis, {.keepdims = options.keepdims});
}
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor reduce_logsumexp(Operand x, const Options& options) {
  return reduce_logsumexp(x, options.axis, {.keepdims = options.keepdims});
}
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor reduce_variance(Operand x, const Options& options) {
  return reduce_variance(x, options.axis, {.keepdims = options.keepdims});
}
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor reduce_std(Operand x, const Options& options) {
  return reduce_std(x, options.axis, {.keepdims = options.keepdims});
}
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor reduce_euclidean_norm(Operand x, const Options& options) {
  return reduce_euclidean_norm(x, options.axis, {.keepdims = options.keepdims});
}

/// Positions of the largest elements along an axis, the first one at ties; a NaN never wins.
/// Errors: IndexError, ShapeError for an axis without elements.
///
///     argmax(constant({{1, 5, 2}, {7, 0, 3}}), 1);  // [1, 0]
CAPSTAN_EXPORT Tensor argmax(Operand x, int axis = 0, DType output_type = int64);
/// Positions of the smallest elements along an axis, the first one at ties; a NaN never wins.
///
///     argmin(constant({{1, 5, 2}, {7, 0, 3}}), 1);  // [0, 1]
CAPSTAN_EXPORT Tensor argmin(Operand x, int axis = 0, DType output_type = int64);

/// How many elements are not zero (or are true).
///
///     count_nonzero(constant({0, 3, 0, 1}));  // 2
CAPSTAN_EXPORT Tensor count_nonzero(Operand x, Axes axis = {}, const KeepdimsOptions& options = {},
                                    DType dtype = int64);
/// Options of count_nonzero.
struct CountOptions {
  Axes axis = {};
  bool keepdims = false;
  DType dtype = int64;
};
template <std::same_as<CountOptions> Options = CountOptions>
Tensor count_nonzero(Operand x, const Options& options) {
  return count_nonzero(x, options.axis, {.keepdims = options.keepdims}, options.dtype);
}

/// Options of running sums and products.
struct CumulativeOptions {
  bool exclusive = false;  ///< whether an element is left out of its own sum
  bool reverse = false;    ///< whether it runs from the end
};
/// Options of what runs along an axis.
struct ReverseOptions {
  bool reverse = false;  ///< whether it runs from the end
};
/// Running sums along an axis. `exclusive` starts at 0 and leaves the last element out; `reverse`
/// runs from the end.
///
///     cumsum(constant({1, 2, 3}));                          // 1 3 6
///     cumsum(constant({1, 2, 3}), 0, {.exclusive = true});  // 0 1 3
///     cumsum(constant({1, 2, 3}), 0, {.reverse = true});    // 6 5 3
CAPSTAN_EXPORT Tensor cumsum(Operand x, int axis = 0, const CumulativeOptions& options = {});
/// Running products along an axis, as cumsum. The gradients are right where elements are zero.
///
///     cumprod(constant({1, 2, 3, 4}));  // [1, 2, 6, 24]
CAPSTAN_EXPORT Tensor cumprod(Operand x, int axis = 0, const CumulativeOptions& options = {});
/// Running logsumexp along an axis, as cumsum; of nothing it is -inf.
///
///     cumulative_logsumexp(constant({0.0, 0.0, 0.0}));  // [0, 0.6931472, 1.098612]
CAPSTAN_EXPORT Tensor cumulative_logsumexp(Operand x, int axis = 0, const CumulativeOptions& options = {});
/// The largest and the smallest element so far along an axis; a NaN wins. The gradient goes to the
/// first of equal elements.
///
///     cummax(constant({1, 3, 2, 5}));  // [1, 3, 3, 5]
///     cummin(constant({4, 5, 2, 3}));  // [4, 4, 2, 2]
CAPSTAN_EXPORT Tensor cummax(Operand x, int axis = 0, const ReverseOptions& options = {});
CAPSTAN_EXPORT Tensor cummin(Operand x, int axis = 0, const ReverseOptions& options = {});
/// s[k] = b[k] + a[k] * s[k-1] along an axis, starting at s[0] = b[0]; with `reverse` from the end,
/// s[k] = b[k] + a[k] * s[k+1]. A factor of 0 starts anew, even after something infinite.
/// Errors: ShapeError if the shapes differ.
///
///     linear_recurrence(constant({0.0, 0.5, 0.5}), constant({4.0, 1.0, 1.0}));  // [4, 3, 2.5]
CAPSTAN_EXPORT Tensor linear_recurrence(Operand a, Operand b, int axis = 0, const ReverseOptions& options = {});

/// True if shapes, dtypes and all elements agree.
///
///     equal_tensors(constant({1, 2}), constant({1, 2}));  // true
CAPSTAN_EXPORT bool equal_tensors(const Tensor& a, const Tensor& b);

}  // namespace capstan
