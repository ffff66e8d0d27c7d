// Axes as options of layers: their checks, and the orders that move some of them to the end and back.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"

namespace capstan::detail {

// Throws ValueError unless there is one at least.
inline void check_axes(const char* layer, const Axes& axes) {
  CAPSTAN_CHECK(!axes.all() && axes.size() > 0, ValueError, layer, ": axis must be one axis or several, not none");
}

inline int positive_axis(const std::string& layer, int axis, const Shape& shape) {
  const int rank = shape.rank();
  CAPSTAN_CHECK(axis >= -rank && axis < rank, IndexError, layer, ": axis ", axis,
                " is out of range for an input of shape ", shape);
  return axis < 0 ? axis + rank : axis;
}

// Counted from the front, in the order in which they are given. IndexError for one out of range or given twice.
inline std::vector<int> positive_axes(const std::string& layer, const Axes& axes, const Shape& shape) {
  std::vector<int> result;
  for (int i = 0; i < axes.size(); ++i) {
    const int axis = positive_axis(layer, axes[i], shape);
    CAPSTAN_CHECK(std::find(result.begin(), result.end(), axis) == result.end(), IndexError, layer, ": axis ", axes[i],
                  " is given twice");
    result.push_back(axis);
  }
  return result;
}

// Puts `last`, which ascend, after the other axes.
inline std::vector<int> order_with_last(int rank, const std::vector<int>& last) {
  std::vector<int> order;
  for (int i = 0; i < rank; ++i) {
    if (std::find(last.begin(), last.end(), i) == last.end()) order.push_back(i);
  }
  order.insert(order.end(), last.begin(), last.end());
  return order;
}

inline std::vector<int> inverse_order(const std::vector<int>& order) {
  std::vector<int> inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) inverse[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  return inverse;
}

// Sums over many elements in bfloat16 would lose what they are for.
inline DType working_dtype(DType dtype) { return dtype == DType::kBFloat16 ? DType::kFloat32 : dtype; }

inline Tensor in_dtype(const Tensor& x, DType dtype) { return x.dtype() == dtype ? x : cast(x, dtype); }

}  // namespace capstan::detail
