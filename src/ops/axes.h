// Axes of a tensor as users give them: counted from either end, checked, and brought into one form.
#pragma once

#include <string_view>

#include "capstan/tensor.h"
#include "src/core/check.h"
#include "src/kernels/axis_view.h"

namespace capstan {

[[noreturn, gnu::cold, gnu::noinline]] inline void throw_axis_out_of_range(std::string_view op, std::int64_t axis,
                                                                           int rank) {
  throw IndexError(detail::join(op, ": axis ", axis, " is out of range for rank ", rank));
}

// The axis counted from the front. Throws IndexError naming the op, the axis and the rank.
inline int normalize_axis(std::string_view op, std::int64_t axis, int rank) {
  const std::int64_t normal = axis < 0 ? axis + rank : axis;
  if (normal < 0 || normal >= rank) throw_axis_out_of_range(op, axis, rank);
  return static_cast<int>(normal);
}

// The product of the lengths of axes of a tensor that there is, which is below 2^62.
inline std::int64_t product(const Shape& shape, int begin, int end) {
  std::int64_t size = 1;
  for (int i = begin; i < end; ++i) size *= shape[i];
  return size;
}

// A tensor of that shape around one of its axes, counted from the front. One without elements has none,
// however long its other axes are.
inline AxisView view_around(const Shape& shape, int axis) {
  const AxisView view = {product(shape, 0, axis), shape[axis], product(shape, axis + 1, shape.rank())};
  return view.outer == 0 || view.n == 0 || view.inner == 0 ? AxisView{0, view.n, 0} : view;
}

// The same around an axis as users give it. Throws what normalize_axis throws.
inline AxisView view_around(std::string_view op, const TensorRef& x, std::int64_t axis) {
  return view_around(x.shape(), normalize_axis(op, axis, x.rank()));
}

// Which of a tensor's axes are meant.
struct AxisSet {
  bool on[kMaxRank] = {};
  int count = 0;
};

// All axes, or those given. Throws IndexError for an axis out of range or given twice.
inline AxisSet normalize_axes(std::string_view op, const Axes& axes, int rank) {
  AxisSet set;
  if (axes.all()) {
    for (int i = 0; i < rank; ++i) set.on[i] = true;
    set.count = rank;
    return set;
  }
  for (int i = 0; i < axes.size(); ++i) {
    const int axis = normalize_axis(op, axes[i], rank);
    CAPSTAN_CHECK(!set.on[axis], IndexError, op, ": axis ", axis, " is given twice");
    set.on[axis] = true;
    ++set.count;
  }
  return set;
}

}  // namespace capstan
