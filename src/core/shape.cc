#include "capstan/shape.h"

#include <algorithm>
#include <cstring>

#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/dims.h"

namespace capstan {

Shape::Shape(std::span<const std::int64_t> dims) {
  CAPSTAN_CHECK(dims.size() <= kMaxRank, ShapeError, "shape: rank ", dims.size(), " exceeds the largest rank, ",
                kMaxRank);
  for (std::int64_t length : dims) dims_[rank_++] = length;
}

std::int64_t Shape::size() const {
  std::int64_t size = 1;
  bool overflow = false;
  for (int i = 0; i < rank_; ++i) {
    CAPSTAN_CHECK(dims_[i] >= 0, ShapeError, "shape: negative length ", dims_[i], " in ", to_string());
    overflow |= __builtin_mul_overflow(size, dims_[i] == 0 ? 1 : dims_[i], &size);
  }
  CAPSTAN_CHECK(!overflow && size < (std::int64_t{1} << 62), ShapeError, "shape: ", to_string(),
                " has too many elements");
  for (int i = 0; i < rank_; ++i) {
    if (dims_[i] == 0) return 0;
  }
  return size;
}

void Shape::too_many_axes() const {
  throw ShapeError(detail::join("shape: rank ", rank_ + 1, " exceeds the largest rank, ", kMaxRank));
}

void Shape::axis_out_of_range(int axis) const {
  throw IndexError(detail::join("shape: axis ", axis, " is out of range for ", to_string()));
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (int i = 0; i < rank_; ++i) text += (i == 0 ? "" : ", ") + std::to_string(dims_[i]);
  return text + "]";
}

namespace {

[[noreturn, gnu::cold, gnu::noinline]] void too_long(const Shape& shape) {
  int axis = 0;
  while (shape[axis] <= kMaxLength) ++axis;
  throw ShapeError(detail::join("shape: axis ", axis, " of ", shape, " is longer than ", kMaxLength));
}

}  // namespace

void write_dims(const Shape& shape, std::uint32_t* dims) {
  std::memset(dims, 0, kMaxRank * sizeof(*dims));
  for (const std::int64_t length : shape) {
    if (length > kMaxLength) [[unlikely]]
      too_long(shape);
    *dims++ = static_cast<std::uint32_t>(length);
  }
}

void Axes::too_many_axes(std::size_t count) {
  throw ValueError(detail::join("axes: ", count, " axes exceed the largest rank, ", kMaxRank));
}

void detail::throw_beyond_int64(std::uint64_t number) {
  throw ValueError(detail::join("the number ", number, " does not fit int64, whose largest is ", INT64_MAX));
}

Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape shape;
  for (int i = 0; i < rank; ++i) {
    const int in_a = i - (rank - a.rank());
    const int in_b = i - (rank - b.rank());
    const std::int64_t length_a = in_a < 0 ? 1 : a[in_a];
    const std::int64_t length_b = in_b < 0 ? 1 : b[in_b];
    CAPSTAN_CHECK(length_a == length_b || length_a == 1 || length_b == 1, ShapeError, op, ": shapes do not broadcast, ",
                  a, " and ", b);
    shape.push_back(length_a == 1 ? length_b : length_a);
  }
  return shape;
}

}  // namespace capstan
