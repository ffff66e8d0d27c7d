// One axis as an attribute, counted from either end.
//
// It has the width of an int from where a call by name sets it, so nothing on its way into an op can cut a larger
// number to one that is an axis.
#pragma once

#include <string_view>
#include <utility>

#include "src/core/attributes.h"
#include "src/core/check.h"

namespace capstan {

struct Axis {
  int number = 0;
  constexpr Axis() = default;
  constexpr Axis(int axis) : number(axis) {}
  constexpr operator int() const { return number; }
};

// The axis kAbsent if none is given.
template <int kAbsent>
struct AxisOr : Axis {
  constexpr AxisOr() : Axis(kAbsent) {}
  constexpr AxisOr(int axis) : Axis(axis) {}
  constexpr AxisOr(Axis axis) : Axis(axis) {}
};

// An axis that may be absent.
struct OptionalAxis {
  Axis value;
  bool has_value = false;
  constexpr OptionalAxis() = default;
  constexpr OptionalAxis(int axis) : value(axis), has_value(true) {}
  constexpr int value_or(int otherwise) const { return has_value ? int{value} : otherwise; }
};

inline void set_field(Axis& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  std::int64_t axis = 0;
  set_field(axis, value, op, name);
  CAPSTAN_CHECK(std::in_range<int>(axis), IndexError, op, ": axis ", axis, " is out of range for every rank");
  field = Axis(static_cast<int>(axis));
}
template <int kAbsent>
void set_field(AxisOr<kAbsent>& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  field = AxisOr<kAbsent>();
  if (value.kind != AttributeValue::Kind::kNone) set_field(static_cast<Axis&>(field), value, op, name);
}
inline void set_field(OptionalAxis& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  field.has_value = value.kind != AttributeValue::Kind::kNone;
  if (field.has_value) set_field(field.value, value, op, name);
}
inline AttributeValue get_field(const Axis& field) { return field.number; }
inline AttributeValue get_field(const OptionalAxis& field) {
  return field.has_value ? get_field(field.value) : AttributeValue();
}

// An axis of an item as one of the batched input (see batching.h).
inline Axis item_axis(Axis axis, int = 0) { return axis < 0 ? axis : Axis(axis + 1); }

}  // namespace capstan
