#pragma once

#include <optional>
#include <string_view>

#include "capstan/tensor.h"

namespace capstan {

// Order and counting. A NaN counts as larger than every number, as in NumPy; equal elements keep their order, so every
// result is determined. Integer results have no gradient. Positions are int32, so an axis has at most 2^31 - 1
// elements.

// --- Order ---

/// The elements along an axis in "ASCENDING" or "DESCENDING" order; any dtype. The gradient goes back to the places
/// that the elements came from. Errors: IndexError for the axis, ValueError for another direction.
///
///     sort(constant({3, 1, 2}));                       // 1 2 3
///     sort(constant({3, 1, 2}), -1, "DESCENDING");     // 3 2 1
CAPSTAN_EXPORT Tensor sort(Operand x, int axis = -1, std::string_view direction = "ASCENDING");
/// int32: the indices in x of the elements of the sorted tensor. Always stable, in either direction.
///
///     argsort(constant({3, 1, 2}));                    // 1 2 0
CAPSTAN_EXPORT Tensor argsort(Operand x, int axis = -1, std::string_view direction = "ASCENDING");

/// What top_k returns.
struct TopK {
  Tensor values;   ///< [..., k], largest first
  Tensor indices;  ///< int32[..., k]
};
/// The k largest elements along the last axis, largest first, and their indices; of equal ones the first come first.
/// Errors: ShapeError for a scalar, ValueError for a negative k or one above the length.
///
///     top_k(constant({3, 1, 2}), 2).values;  // [3, 2]
CAPSTAN_EXPORT TopK top_k(Operand x, std::int64_t k = 1);
/// bool[batch]: whether fewer than k classes have a larger prediction than the target. `targets` is int32 or int64
/// [batch], `predictions` [batch, classes]. False for a target that is no class and for rows that are not finite.
///
///     in_top_k(constant({1, 0}), constant({{0.1, 0.9}, {0.2, 0.8}}), 1);  // [true, false]
CAPSTAN_EXPORT Tensor in_top_k(Operand targets, Operand predictions, std::int64_t k);

/// Where each value would be inserted into the sorted last axis of `sorted_sequence` [..., n]: before elements that
/// equal it ("left") or after them ("right"). `values` is [..., m] with the same leading axes and dtype; the result
/// has its shape. Errors: ShapeError, DTypeError, ValueError for another side.
///
///     searchsorted(constant({1, 3, 5}), constant({0, 3, 9}));  // [0, 1, 3]
CAPSTAN_EXPORT Tensor searchsorted(Operand sorted_sequence, Operand values, std::string_view side = "left",
                                   DType out_type = int32);

/// The values below which q percent of the elements over the axes (all unless given) lie. q is a number or a vector of
/// them, from 0 to 100; the result is [q's axis, remaining axes...]. A place between two elements gives the "nearest"
/// of them (the even one of two), the "lower", the "higher", their "midpoint", or is "linear" between them. A NaN among
/// the elements counts as the largest. Errors: DTypeError for integers, ValueError for q out of range, ShapeError for
/// no elements.
///
///     percentile(x, 50.0);                             // the median
CAPSTAN_EXPORT Tensor percentile(Operand x, Operand q, Axes axis = {}, std::string_view interpolation = "nearest",
                                 const KeepdimsOptions& options = {});
/// The num_quantiles + 1 places that cut the elements into parts of equal count, the smallest and the largest element
/// among them: percentile at 0, 100 / num_quantiles, ..., 100.
///
///     quantiles(constant({1.0, 2.0, 3.0, 4.0, 5.0}), 4);  // [1, 2, 3, 4, 5]
CAPSTAN_EXPORT Tensor quantiles(Operand x, std::int64_t num_quantiles, Axes axis = {},
                                std::string_view interpolation = "nearest", const KeepdimsOptions& options = {});

// --- Counting ---

/// What unique and unique_with_counts return.
struct Unique {
  Tensor y;       ///< the different values, in the order in which they first appear
  Tensor idx;     ///< for each element the number of its value in y
  Tensor counts;  ///< for each value how often it appears; empty from unique
};
/// The different values of a vector. NaNs are one value, and so are zeros of either sign. No gradient.
/// Errors: ShapeError if x is not a vector, DTypeError for an out_idx that is not int32 or int64.
///
///     unique(constant({7, 3, 7})).y;  // [7, 3]
CAPSTAN_EXPORT Unique unique(Operand x, DType out_idx = int32);
/// The same, with how often each value appears.
///
///     unique_with_counts(constant({7, 3, 7})).counts;  // [2, 1]
CAPSTAN_EXPORT Unique unique_with_counts(Operand x, DType out_idx = int32);

/// Options of bincount.
struct BincountOptions {
  Tensor weights = {};                         ///< of the shape of x: what to add up instead of ones
  std::optional<std::int64_t> minlength = {};  ///< the result has at least so many elements
  std::optional<std::int64_t> maxlength = {};  ///< and at most so many; larger elements of x are dropped
  DType dtype = int32;                         ///< of counts: int32, int64, float32, float64
};
/// How often each of 0, 1, 2, ... appears among the elements of x (int32 or int64), as long as the largest asks for.
/// Sums of weights have a gradient. Errors: ValueError for a negative element, DTypeError, ShapeError.
///
///     bincount(constant({1, 1, 3}));                   // 0 2 0 1
CAPSTAN_EXPORT Tensor bincount(Operand x, const BincountOptions& options = {});
/// How many values lie in each of nbins parts of equal width from `low` to `high`; what lies beyond counts in the first
/// or the last. Errors: ValueError for an empty range, no bins, or a NaN.
///
///     histogram_fixed_width(constant({0.5, 1.5, 1.6, 9.0}), 0, 3, 3);  // [1, 2, 1]
CAPSTAN_EXPORT Tensor histogram_fixed_width(Operand values, double low, double high, std::int64_t nbins = 100,
                                            DType dtype = int32);
/// Options of confusion_matrix.
struct ConfusionMatrixOptions {
  std::optional<std::int64_t> num_classes = {};  ///< one more than the largest label and prediction unless given
  Tensor weights = {};                           ///< what each element counts; 1 unless given
  DType dtype = int32;                           ///< of counts without weights
};
/// [classes, classes]: how many elements have the label of the row and the prediction of the column. Labels and
/// predictions are vectors of int32 or int64. Errors: ShapeError, DTypeError, IndexError for a class out of range.
///
///     confusion_matrix(constant({0, 1, 1}), constant({0, 1, 0}));  // [[1, 0], [1, 1]]
CAPSTAN_EXPORT Tensor confusion_matrix(Operand labels, Operand predictions, const ConfusionMatrixOptions& options = {});

}  // namespace capstan
