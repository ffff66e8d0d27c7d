// A tensor as rows along one of its axes, and back: how ops on rows serve every axis.
#pragma once

#include <span>
#include <vector>

#include "capstan/ops/array.h"
#include "src/core/apply.h"

namespace capstan {

// The order of axes that puts `axis` last.
inline std::vector<int> axis_last(int rank, int axis) {
  std::vector<int> order;
  for (int i = 0; i < rank; ++i) {
    if (i != axis) order.push_back(i);
  }
  order.push_back(axis);
  return order;
}

// [rows, length of the axis]; x has elements.
inline Tensor rows_along(const Tensor& x, int axis) {
  const std::int64_t length = x.dim(axis);
  const Tensor moved = axis == x.rank() - 1 ? x : transpose(x, Axes(std::span<const int>(axis_last(x.rank(), axis))));
  return reshape(moved, {x.size() / length, length});
}

// The inverse, in the shape of `like` but for the length of the axis.
inline Tensor rows_back(const Tensor& rows, const Shape& like, int axis) {
  const std::vector<int> order = axis_last(like.rank(), axis);
  Shape moved;
  std::vector<int> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    moved.push_back(order[i] == axis ? rows.dim(1) : like[order[i]]);
    back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  }
  const Tensor shaped = reshape(rows, moved);
  return axis == like.rank() - 1 ? shaped : transpose(shaped, Axes(std::span<const int>(back)));
}

// Each row's elements at that row's indices: x [rows, n], indices [rows, k].
inline Tensor take_in_rows(const Tensor& x, const Tensor& indices) { return gather(x, indices, 1, 1); }

// Rows of x [n, width...] at `indices`, with a dense gradient: for uses in which most rows are picked.
inline Tensor take_rows(const Tensor& x, const Tensor& indices) {
  return reshape(gather(expand_dims(x, 0), reshape(indices, {1, indices.size()}), 1, 1), [&] {
    Shape shape{indices.size()};
    for (int i = 1; i < x.rank(); ++i) shape.push_back(x.dim(i));
    return shape;
  }());
}

}  // namespace capstan
