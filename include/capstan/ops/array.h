#pragma once

#include <optional>
#include <string_view>

#include "capstan/tensor.h"

namespace capstan {

// --- Creation ---

/// Tensors of one value. Errors: ShapeError for a negative length or too many elements.
///
///     zeros({2, 3});  // [[0, 0, 0], [0, 0, 0]]
///     ones({3}, int32);  // [1, 1, 1]
CAPSTAN_EXPORT Tensor zeros(const Shape& shape, DType dtype = floatx());
CAPSTAN_EXPORT Tensor ones(const Shape& shape, DType dtype = floatx());
/// `value` is a scalar; its gradient is the sum of the cotangent.
///
///     fill({3}, 7.5);  // [7.5, 7.5, 7.5]
CAPSTAN_EXPORT Tensor fill(const Shape& shape, Operand value);
/// Zeros and ones in the shape and dtype of x.
///
///     zeros_like(constant({1.0, 2.0}));  // [0, 0]
///     ones_like(constant({1, 2}));  // [1, 1]
CAPSTAN_EXPORT Tensor zeros_like(Operand x);
CAPSTAN_EXPORT Tensor ones_like(Operand x);
/// The identity matrix, [rows, columns]; square unless columns is given.
///
///     eye(2);  // [[1, 0], [0, 1]]
CAPSTAN_EXPORT Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns = {}, DType dtype = floatx());
/// start, start + delta, ... below limit (above it for a negative delta). Numbers: integers make
/// int32.
///
///     range(4);  // [0, 1, 2, 3]
///     range(3, 10, 2);  // [3, 5, 7, 9]
CAPSTAN_EXPORT Tensor range(Operand limit);
CAPSTAN_EXPORT Tensor range(Operand start, Operand limit, Operand delta = 1);
/// `num` evenly spaced values from start to stop, both included; between tensors of integers float64.
///
///     linspace(0.0, 1.0, 5);  // [0, 0.25, 0.5, 0.75, 1]
CAPSTAN_EXPORT Tensor linspace(Operand start, Operand stop, std::int64_t num, int axis = 0);

// --- Shape ---

/// The same elements in another shape; one length may be -1. Shares storage.
///
///     reshape(range(6), {2, -1});  // [[0, 1, 2], [3, 4, 5]]
CAPSTAN_EXPORT Tensor reshape(Operand x, const Shape& shape);
/// A new axis of length 1 at the place `axis`; negative ones count from the end of the result. Errors: IndexError.
///
///     expand_dims(zeros({2, 3}), 0);  // float32[1, 2, 3]
CAPSTAN_EXPORT Tensor expand_dims(Operand x, int axis);
/// Drops axes of length 1: all of them, or those given.
///
///     squeeze(zeros({1, 3, 1}));  // [0, 0, 0]
CAPSTAN_EXPORT Tensor squeeze(Operand x, Axes axes = {});
/// Options of transpose.
struct TransposeOptions {
  bool conjugate = false;  ///< whether complex numbers are conjugated as well
};
/// Axes in another order; reversed unless `perm` is given. `conjugate` takes the conjugate of complex numbers as well.
///
///     transpose(constant({{1, 2, 3}, {4, 5, 6}}));  // [[1, 4], [2, 5], [3, 6]]
///     transpose(zeros({2, 3, 4}), {0, 2, 1});  // float32[2, 4, 3]
CAPSTAN_EXPORT Tensor transpose(Operand x, Axes perm = {}, const TransposeOptions& options = {});
/// x repeated along axes of length 1 and along new leading ones. Errors: ShapeError for a shape that x does not
/// broadcast to.
///
///     broadcast_to(constant({1, 2}), {2, 2});  // [[1, 2], [1, 2]]
CAPSTAN_EXPORT Tensor broadcast_to(Operand x, const Shape& shape);
/// The lengths of the axes, the number of elements, the number of axes, as tensors without
/// gradient.
///
///     shape(zeros({2, 3}));  // [2, 3]
///     size(zeros({2, 3}));  // 6
///     rank(zeros({2, 3}));  // 2
CAPSTAN_EXPORT Tensor shape(Operand x, DType out_type = int32);
CAPSTAN_EXPORT Tensor size(Operand x, DType out_type = int32);
CAPSTAN_EXPORT Tensor rank(Operand x, DType out_type = int32);

// --- In the shape of another tensor: what gradient rules use, so that they hold for any shape ---

/// `x` broadcast to, reshaped to, or summed down to the shape of `like`; only the shape of `like`
/// is read.
///
///     broadcast_like(constant({1.0, 2.0}), zeros({3, 2}));  // [[1, 2], [1, 2], [1, 2]]
///     reshape_like(range(6), zeros({2, 3}));  // [[0, 1, 2], [3, 4, 5]]
///     sum_like(constant({{1.0, 2.0}, {3.0, 4.0}}), zeros({2}));  // [4, 6]
CAPSTAN_EXPORT Tensor broadcast_like(Operand x, Operand like);
CAPSTAN_EXPORT Tensor reshape_like(Operand x, Operand like);
CAPSTAN_EXPORT Tensor sum_like(Operand x, Operand like);

// --- Joining and cutting ---

/// Tensors joined along an axis that they have. Errors: ShapeError if they differ elsewhere.
///
///     concat({constant({1, 2}), constant({3})}, 0);  // [1, 2, 3]
CAPSTAN_EXPORT Tensor concat(Operands tensors, int axis);
/// Tensors of one shape side by side along a new axis.
///
///     stack({constant({1, 2}), constant({3, 4})});  // [[1, 2], [3, 4]]
CAPSTAN_EXPORT Tensor stack(Operands tensors, int axis = 0);
/// The slices along an axis, without that axis.
///
///     unstack(constant({{1, 2}, {3, 4}}));  // [1, 2], [3, 4]
CAPSTAN_EXPORT std::vector<Tensor> unstack(Operand x, int axis = 0);
/// `parts` equal parts.
///
///     split(range(6), 3);  // [0, 1], [2, 3], [4, 5]
CAPSTAN_EXPORT std::vector<Tensor> split(Operand x, int parts, int axis = 0);
/// Parts of the given sizes, one of which may be -1.
///
///     split(range(6), {1, -1, 2});  // [0], [1, 2, 3], [4, 5]
CAPSTAN_EXPORT std::vector<Tensor> split(Operand x, std::span<const std::int64_t> sizes, int axis = 0);
inline std::vector<Tensor> split(Operand x, std::initializer_list<std::int64_t> sizes, int axis = 0) {
  return split(x, std::span(sizes.begin(), sizes.size()), axis);
}

/// The contents of the padding: one value, or the elements mirrored at the edge without (kReflect)
/// or with (kSymmetric) the edge itself.
enum class PadMode : std::uint8_t { kConstant, kReflect, kSymmetric };
struct PadWidth {
  std::int64_t before = 0;
  std::int64_t after = 0;
};
/// One PadWidth per axis.
///
///     pad(constant({1, 2}), {{1, 2}});  // [0, 1, 2, 0, 0]
///     pad(constant({1, 2, 3}), {{2, 0}}, PadMode::kReflect);  // [3, 2, 1, 2, 3]
CAPSTAN_EXPORT Tensor pad(Operand x, std::span<const PadWidth> paddings, PadMode mode = PadMode::kConstant,
                          double constant_value = 0);
inline Tensor pad(Operand x, std::initializer_list<PadWidth> paddings, PadMode mode = PadMode::kConstant,
                  double constant_value = 0) {
  return pad(x, std::span(paddings.begin(), paddings.size()), mode, constant_value);
}
/// Copies side by side: multiples[i] of them along axis i.
///
///     tile(constant({1, 2}), {3});  // [1, 2, 1, 2, 1, 2]
CAPSTAN_EXPORT Tensor tile(Operand x, const Shape& multiples);
/// Every element along an axis repeated in its place; without an axis those of the flattened
/// tensor.
///
///     repeat(constant({1, 2}), 2);  // [1, 1, 2, 2]
CAPSTAN_EXPORT Tensor repeat(Operand x, std::int64_t repeats, std::optional<int> axis = {});
/// As above, each element its own number of times.
CAPSTAN_EXPORT Tensor repeat(Operand x, std::span<const std::int64_t> repeats, std::optional<int> axis = {});
/// The elements along the given axes in opposite order. Errors: IndexError for an axis out of range or given twice.
///
///     reverse(constant({{1, 2}, {3, 4}}), 1);  // [[2, 1], [4, 3]]
CAPSTAN_EXPORT Tensor reverse(Operand x, Axes axes);
/// Shifts along axes; what leaves at one end comes in at the other. An axis given twice is shifted
/// twice.
///
///     roll(constant({1, 2, 3, 4}), 1, 0);  // [4, 1, 2, 3]
CAPSTAN_EXPORT Tensor roll(Operand x, std::span<const std::int64_t> shifts, Axes axes);
inline Tensor roll(Operand x, std::int64_t shift, int axis) { return roll(x, std::span(&shift, 1), axis); }
/// Grids of coordinates from vectors; "xy" swaps the first two axes, "ij" does not.
///
///     meshgrid({constant({1, 2}), constant({3, 4})});  // [[1, 2], [1, 2]], [[3, 3], [4, 4]]
CAPSTAN_EXPORT std::vector<Tensor> meshgrid(Operands tensors, std::string_view indexing = "xy");
/// `x[begin : begin + size]` on every axis; a size of -1 means to the end.
///
///     slice(constant({{1, 2, 3}, {4, 5, 6}}), {0, 1}, {2, -1});  // [[2, 3], [5, 6]]
CAPSTAN_EXPORT Tensor slice(Operand x, const Shape& begin, const Shape& size);
/// Bit i of a mask changes item i: `begin` and `end` leave it out, `ellipsis` means all axes
/// that are not mentioned, `new_axis` adds one of length 1, `shrink_axis` takes one element and
/// drops the axis.
struct StridedSliceMasks {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t ellipsis = 0;
  std::int64_t new_axis = 0;
  std::int64_t shrink_axis = 0;
};
/// `x[begin : end : strides]` per axis; without `strides` every step is 1. `x(...)` is easier to
/// read.
///
///     const std::int64_t begin[] = {1}, end[] = {8}, strides[] = {3};
///     strided_slice(range(10), begin, end, strides);  // [1, 4, 7]
CAPSTAN_EXPORT Tensor strided_slice(Operand x, std::span<const std::int64_t> begin, std::span<const std::int64_t> end,
                                    std::span<const std::int64_t> strides = {}, const StridedSliceMasks& masks = {});
/// Zeros in the shape of `like`, with the elements of `x` where `like(indices...)` selects: the
/// gradient of getitem.
///
///     const Index indices[] = {slice(1, 3)};
///     getitem_adjoint(constant({5.0, 6.0}), zeros({4}), indices);  // [0, 5, 6, 0]
CAPSTAN_EXPORT Tensor getitem_adjoint(Operand x, Operand like, std::span<const Index> indices);

// --- Indexing ---

/// Rows of `params` along `axis` by integer indices. The first `batch_dims` axes run along with
/// those of the indices; the axis is the one after them unless given. Along axis 0 the gradient is
/// row-sparse. Errors: IndexError for an index that is negative or not below the length.
///
///     gather(constant({{1, 2}, {3, 4}, {5, 6}}), constant({2, 0}));  // [[5, 6], [1, 2]]
///     gather(constant({{1, 2}, {3, 4}}), constant({1}), 1);  // [[2], [4]]
CAPSTAN_EXPORT Tensor gather(Operand params, Operand indices, std::optional<int> axis = {}, int batch_dims = 0);
/// Rows of a table by integer ids; the gradient is row-sparse.
///
///     embedding_lookup(constant({{1.0, 2.0}, {3.0, 4.0}}), constant({1, 1}));  // [[3, 4], [3, 4]]
CAPSTAN_EXPORT Tensor embedding_lookup(Operand params, Operand ids);
/// The last axis of `indices` holds coordinates; the result has what lies there in place of that
/// axis.
///
///     gather_nd(constant({{1, 2}, {3, 4}}), constant({{0, 1}, {1, 0}}));  // [2, 3]
CAPSTAN_EXPORT Tensor gather_nd(Operand params, Operand indices, int batch_dims = 0);
/// Zeros with `updates` added at `indices`; repeated indices add up.
///
///     scatter_nd(constant({{1}, {3}, {1}}), constant({10, 20, 30}), {5});  // [0, 40, 0, 20, 0]
CAPSTAN_EXPORT Tensor scatter_nd(Operand indices, Operand updates, const Shape& shape);
/// `tensor` with `updates` added, subtracted, put in place, or compared at `indices`. Of repeated
/// updates in place the last one wins; at ties of an extremum the gradient is shared.
///
///     tensor_scatter_nd_add(constant({1, 1, 1}), constant({{0}, {0}}), constant({5, 6}));  // [12, 1, 1]
///     tensor_scatter_nd_sub(constant({1, 1, 1}), constant({{0}, {0}}), constant({5, 6}));  // [-10, 1, 1]
///     tensor_scatter_nd_update(constant({1, 1, 1}), constant({{0}, {0}}), constant({5, 6}));  // [6, 1, 1]
///     tensor_scatter_nd_max(constant({1, 1, 1}), constant({{0}, {2}}), constant({5, -6}));  // [5, 1, 1]
///     tensor_scatter_nd_min(constant({1, 1, 1}), constant({{0}, {2}}), constant({5, -6}));  // [1, 1, -6]
CAPSTAN_EXPORT Tensor tensor_scatter_nd_add(Operand tensor, Operand indices, Operand updates);
CAPSTAN_EXPORT Tensor tensor_scatter_nd_sub(Operand tensor, Operand indices, Operand updates);
CAPSTAN_EXPORT Tensor tensor_scatter_nd_update(Operand tensor, Operand indices, Operand updates);
CAPSTAN_EXPORT Tensor tensor_scatter_nd_max(Operand tensor, Operand indices, Operand updates);
CAPSTAN_EXPORT Tensor tensor_scatter_nd_min(Operand tensor, Operand indices, Operand updates);
/// A new axis of length `depth` with on_value at the index; an index out of range has off_value
/// everywhere.
///
///     one_hot(constant({2, 0}), 3);  // [[0, 0, 1], [1, 0, 0]]
CAPSTAN_EXPORT Tensor one_hot(Operand indices, std::int64_t depth, double on_value = 1, double off_value = 0,
                              int axis = -1, DType dtype = floatx());
/// int64[count, rank]: the coordinates of the elements that are true or not zero.
///
///     where_indices(constant({{true, false}, {false, true}}));  // [[0, 0], [1, 1]]
CAPSTAN_EXPORT Tensor where_indices(Operand condition);
/// What lies where the mask is true, as one axis in place of the mask's axes, which begin at
/// `axis`.
///
///     boolean_mask(constant({1, 2, 3}), constant({true, false, true}));  // [1, 3]
CAPSTAN_EXPORT Tensor boolean_mask(Operand x, Operand mask, int axis = 0);
/// A new last axis of length `maxlen` (the largest length unless given), true as far as each length
/// reaches.
///
///     sequence_mask(constant({1, 3}), 3);  // [[true, false, false], [true, true, true]]
CAPSTAN_EXPORT Tensor sequence_mask(Operand lengths, std::optional<std::int64_t> maxlen = {}, DType dtype = bool_);

}  // namespace capstan
