// Lists of lengths along the axes of images, as attributes of windowed ops: strides, dilations, window and
// image sizes, for any number of axes.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "src/ops/window.h"

namespace capstan {

// One number per axis of an image, R axes. As a dynamic value: one number for all, one per axis, or one per axis
// between ones for batch and channels.
template <int R>
struct PerAxis {
  std::int32_t at[R];

  constexpr PerAxis() { std::fill_n(at, R, 1); }
  PerAxis(const std::array<std::int64_t, R>& numbers) {
    for (std::size_t i = 0; i < R; ++i) at[i] = small_integer(numbers[i]);
  }
  std::array<std::int64_t, R> numbers() const {
    std::array<std::int64_t, R> result;
    std::copy_n(at, R, result.begin());
    return result;
  }
  bool all_one() const {
    return std::all_of(at, at + R, [](std::int32_t n) { return n == 1; });
  }
  bool all_positive() const {
    return std::all_of(at, at + R, [](std::int32_t n) { return n >= 1; });
  }
  // "2 and 3"
  std::string text() const {
    std::string result;
    for (int i = 0; i < R; ++i) result += (i == 0 ? "" : i + 1 < R ? ", " : " and ") + std::to_string(at[i]);
    return result;
  }
};

template <int R>
void set_field(PerAxis<R>& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  const std::vector<std::int64_t> numbers = integers_of(value, op, name);
  const bool framed = numbers.size() == R + 2 && numbers.front() == 1 && numbers.back() == 1;
  CAPSTAN_CHECK(numbers.size() == 1 || numbers.size() == R || framed, ValueError, op, ": attribute \"", name,
                "\" must be one number, ", R == 1 ? "" : std::to_string(R) + " numbers, ",
                R == 1 ? "or [1, width, 1]" : "or those between two ones", ", not ", value.to_string());
  for (std::size_t i = 0; i < R; ++i) {
    field.at[i] = small_integer(numbers[numbers.size() == 1 ? 0 : framed ? i + 1 : i]);
  }
}
template <int R>
AttributeValue get_field(const PerAxis<R>& field) {
  const auto numbers = field.numbers();
  return list_of(numbers);
}

template <std::size_t R>
struct AttributeOf<std::array<std::int64_t, R>> {
  using Type = PerAxis<static_cast<int>(R)>;
  static std::array<std::int64_t, R> give(const Type& attribute) { return attribute.numbers(); }
};

// The N lengths of a tensor that the operands do not tell.
template <int N>
struct ExactLengths {
  std::uint32_t lengths[N] = {};

  ExactLengths() = default;
  ExactLengths(std::string_view op, const Shape& shape) {
    CAPSTAN_CHECK(shape.rank() == N, ShapeError, op, ": the result needs ", N, " lengths, not ", shape);
    const Lengths packed = pack_lengths(op, shape, shape.rank() > 0 && shape[0] == -1);
    for (int i = 1; i < N; ++i) {
      CAPSTAN_CHECK(shape[i] >= 0, ShapeError, op, ": negative length ", shape[i], " in ", shape);
    }
    std::copy_n(packed.packed, N, lengths);
  }
  // The first length may be open.
  Shape shape() const {
    Shape result;
    for (std::uint32_t length : lengths) result.push_back(length == Lengths::kAny ? -1 : std::int64_t{length});
    return result;
  }
};

template <int N>
void set_field(ExactLengths<N>& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  field = ExactLengths<N>(op, Shape(integers_of(value, op, name)));
}
template <int N>
AttributeValue get_field(const ExactLengths<N>& field) {
  return list_of(field.shape());
}

// A window whose elements are `dilation` apart covers this many elements. Throws ShapeError for sizes that no memory
// holds, so that positions can be computed without overflow.
inline std::int64_t dilated_window(std::string_view op, std::int64_t window, std::int64_t dilation) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 40;
  CAPSTAN_CHECK(window - 1 <= kLargest / dilation, ShapeError, op, ": a window of ", window, " elements ", dilation,
                " apart is too large");
  return (window - 1) * dilation + 1;
}

}  // namespace capstan
