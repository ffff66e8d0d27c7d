// What goes between the parentheses of `x(...)`.
#pragma once

#include <cstdint>
#include <type_traits>

#include "capstan/export.h"
#include "capstan/shape.h"

namespace capstan {

/// Begin, end and step of one axis; anything left out means "from the edge". As NumPy's `begin:end:step`.
struct CAPSTAN_EXPORT Slice {
  static constexpr std::int64_t kEdge = INT64_MIN;
  std::int64_t begin = kEdge;
  std::int64_t end = kEdge;
  std::int64_t step = 1;
};
constexpr Slice slice() { return {}; }
constexpr Slice slice(std::int64_t begin, std::int64_t end = Slice::kEdge, std::int64_t step = 1) {
  return {begin, end, step};
}

/// The types of `ellipsis` and `newaxis`.
struct Ellipsis {};
struct NewAxis {};
/// All axes that are not mentioned.
inline constexpr Ellipsis ellipsis;
/// A new axis of length 1.
inline constexpr NewAxis newaxis;

/// One item between the parentheses of `x(...)`: a number (which drops the axis), a slice, `ellipsis` or `newaxis`.
class Index {
 public:
  enum class Kind : std::uint8_t { kNumber, kSlice, kEllipsis, kNewAxis };
  template <detail::Integer T>
  Index(T number) : slice{detail::to_int64(number), Slice::kEdge, 1}, kind(Kind::kNumber) {}
  template <class E>
  requires(std::is_enum_v<E>&& std::is_convertible_v<E, int>) Index(E number)
      : Index(static_cast<std::int64_t>(number)) {}
  Index(Slice range) : slice(range), kind(Kind::kSlice) {}
  Index(Ellipsis) : kind(Kind::kEllipsis) {}
  Index(NewAxis) : kind(Kind::kNewAxis) {}

  Slice slice;
  Kind kind;
};

}  // namespace capstan
