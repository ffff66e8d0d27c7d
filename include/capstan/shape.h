#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>

#include "capstan/export.h"

namespace capstan {

/// The largest rank of a tensor.
inline constexpr int kMaxRank = 8;

/// The lengths of a tensor's axes. `Shape{}` is that of a scalar.
///
/// A small value without allocation. Where an operation allows it, -1 stands for "whatever fits".
/// Errors: ShapeError for more than 8 axes.
///
///     Shape shape{32, 784};
///     shape.rank();   // 2
///     shape[-1];      // 784
class CAPSTAN_EXPORT Shape {
 public:
  constexpr Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims);

  int rank() const { return rank_; }

  /// The length of one axis; negative positions count from the end. Errors: IndexError.
  std::int64_t operator[](int axis) const {
    if (axis < 0) axis += rank_;
    if (axis < 0 || axis >= rank_) axis_out_of_range(axis);
    return dims_[axis];
  }

  /// The number of elements: the product of all lengths. Errors: ShapeError if it exceeds 2^62 or a length is negative.
  std::int64_t size() const;

  /// Appends an axis. Errors: ShapeError beyond rank 8.
  void push_back(std::int64_t length) {
    if (rank_ >= kMaxRank) too_many_axes();
    dims_[rank_++] = length;
  }

  void set(int axis, std::int64_t length) { dims_[axis < 0 ? axis + rank_ : axis] = length; }

  const std::int64_t* begin() const { return dims_; }
  const std::int64_t* end() const { return dims_ + rank_; }
  std::span<const std::int64_t> dims() const { return {dims_, static_cast<std::size_t>(rank_)}; }

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i) {
      if (a.dims_[i] != b.dims_[i]) return false;
    }
    return true;
  }

  /// "[32, 784]"
  std::string to_string() const;

 private:
  [[noreturn]] void axis_out_of_range(int axis) const;
  [[noreturn]] void too_many_axes() const;

  std::int64_t dims_[kMaxRank] = {};
  int rank_ = 0;
};

/// Writes what to_string() has.
CAPSTAN_EXPORT std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// The axes that a reduction runs over: none given means all of them.
///
///     reduce_sum(x);                // all axes
///     reduce_sum(x, 0);             // one
///     reduce_sum(x, {0, -1}, true); // two, kept with length 1
class CAPSTAN_EXPORT Axes {
 public:
  constexpr Axes() = default;
  constexpr Axes(int axis) : count_(1), all_(false) { axes_[0] = static_cast<std::int8_t>(clamp(axis)); }
  Axes(std::initializer_list<int> axes) : Axes(std::span(axes.begin(), axes.size())) {}
  /// An empty span means no axis at all. Errors: ValueError for more than 8 axes.
  explicit Axes(std::span<const int> axes);

  bool all() const { return all_; }
  int size() const { return count_; }
  int operator[](int i) const { return axes_[i]; }

 private:
  // Any axis outside -128 to 127 is out of range for every rank, and stays so when clamped.
  static constexpr int clamp(int axis) { return axis < -128 ? -128 : axis > 127 ? 127 : axis; }

  std::int8_t axes_[kMaxRank] = {};
  std::int8_t count_ = 0;
  bool all_ = true;
};

}  // namespace capstan
