// Lengths of windows, strides and paddings.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "capstan/layer.h"
#include "capstan/ops/array.h"

namespace capstan {

namespace detail {
CAPSTAN_EXPORT void set_lengths(std::span<std::int64_t> lengths, const AttributeValue& value, std::string_view owner,
                                std::string_view name);
CAPSTAN_EXPORT AttributeValue get_lengths(std::span<const std::int64_t> lengths);
CAPSTAN_EXPORT void set_widths(std::span<PadWidth> widths, const AttributeValue& value, std::string_view owner,
                               std::string_view name);
CAPSTAN_EXPORT AttributeValue get_widths(std::span<const PadWidth> widths);
}  // namespace detail

/// One length for each of N axes, in the order depth, height, width; one number is used for all.
template <std::size_t N>
struct SizeOf {
  SizeOf(std::int64_t all = 1) { lengths.fill(all); }
  SizeOf(std::int64_t rows, std::int64_t columns) requires(N == 2) : lengths{rows, columns} {}
  SizeOf(std::int64_t planes, std::int64_t rows, std::int64_t columns) requires(N == 3)
      : lengths{planes, rows, columns} {}
  std::array<std::int64_t, N> lengths;
};
using Size1D = SizeOf<1>;
using Size2D = SizeOf<2>;
using Size3D = SizeOf<3>;

/// In configurations: a list of N integers, or one integer for all. Errors: ValueError for anything else.
template <std::size_t N>
void set_field(SizeOf<N>& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  detail::set_lengths(field.lengths, value, owner, name);
}
template <std::size_t N>
AttributeValue get_field(const SizeOf<N>& field) {
  return detail::get_lengths(field.lengths);
}

/// How many elements at both ends of N axes: one number for all, one for each axis, or one for each end.
///
///     layers::ZeroPadding2D(1);                  // on all sides
///     layers::ZeroPadding2D({1, 2});             // 1 above and below, 2 left and right
///     layers::ZeroPadding2D({{1, 0}, {0, 2}});   // 1 above, 2 right
///     layers::ZeroPadding1D({2, 0});             // 2 in front
template <std::size_t N>
struct BordersOf {
  BordersOf(std::int64_t all = 1) { widths.fill({all, all}); }
  BordersOf(std::int64_t before, std::int64_t after) requires(N == 1) : widths{PadWidth{before, after}} {}
  BordersOf(std::int64_t rows, std::int64_t columns) requires(N == 2)
      : widths{PadWidth{rows, rows}, PadWidth{columns, columns}} {}
  BordersOf(std::int64_t planes, std::int64_t rows, std::int64_t columns) requires(N == 3)
      : widths{PadWidth{planes, planes}, PadWidth{rows, rows}, PadWidth{columns, columns}} {}
  BordersOf(PadWidth rows, PadWidth columns) requires(N == 2) : widths{rows, columns} {}
  BordersOf(PadWidth planes, PadWidth rows, PadWidth columns) requires(N == 3) : widths{planes, rows, columns} {}
  std::array<PadWidth, N> widths;
};
using Borders1D = BordersOf<1>;
using Borders2D = BordersOf<2>;
using Borders3D = BordersOf<3>;

/// In configurations: as in the constructors, with lists. Errors: ValueError for anything else.
template <std::size_t N>
void set_field(BordersOf<N>& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  detail::set_widths(field.widths, value, owner, name);
}
template <std::size_t N>
AttributeValue get_field(const BordersOf<N>& field) {
  return detail::get_widths(field.widths);
}

}  // namespace capstan
