// Attributes: the arguments of an op that are not tensors.
//
// An op's attributes are a trivially copyable struct of at most 64 bytes with a table of named fields, from which
// equality, printing and the call by name are derived (capstan/fields.h):
//
//     struct ReduceAttributes {
//       Axes axis;
//       bool keepdims = false;
//     };
//     constexpr AttributeType kReduceAttributes = attribute_type<ReduceAttributes>(
//         {field<&ReduceAttributes::axis>("axis"), field<&ReduceAttributes::keepdims>("keepdims")});
//
// Lists too long for the struct are interned: IntList is a pointer to an immutable list that lives as long as the
// process and is shared by equal lists.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "capstan/fields.h"
#include "capstan/registry.h"
#include "capstan/shape.h"

namespace capstan {

// An interned list of integers, or "none given" (null).
struct IntList {
  const std::vector<std::int64_t>* list = nullptr;

  bool has_value() const { return list != nullptr; }
  std::span<const std::int64_t> span() const {
    return list == nullptr ? std::span<const std::int64_t>() : std::span<const std::int64_t>(*list);
  }
  std::size_t size() const { return list == nullptr ? 0 : list->size(); }
  std::int64_t operator[](std::size_t i) const { return (*list)[i]; }
  friend bool operator==(const IntList&, const IntList&) = default;  // interned: equal lists are one
};
IntList intern(std::span<const std::int64_t> values);

// An interned text.
struct Text {
  const std::string* text = nullptr;
  std::string_view view() const { return text == nullptr ? std::string_view() : std::string_view(*text); }
  friend bool operator==(const Text&, const Text&) = default;
};
Text intern(std::string_view text);

// An integer that may be absent.
struct OptionalInt {
  std::int64_t value = 0;
  bool has_value = false;
  constexpr OptionalInt() = default;
  constexpr OptionalInt(std::int64_t number) : value(number), has_value(true) {}
};

struct AttributeType {
  std::uint32_t size;
  void (*construct)(void* attributes);  // writes the defaults
  AttributeField fields[8];
  int field_count;
};

// Further types of fields (attributes.cc).
void set_field(Axes& field, const AttributeValue& value, std::string_view op, std::string_view name);
void set_field(OptionalInt& field, const AttributeValue& value, std::string_view op, std::string_view name);
void set_field(IntList& field, const AttributeValue& value, std::string_view op, std::string_view name);
void set_field(Text& field, const AttributeValue& value, std::string_view op, std::string_view name);
AttributeValue get_field(const Axes& field);
AttributeValue get_field(const OptionalInt& field);
AttributeValue get_field(const IntList& field);
AttributeValue get_field(const Text& field);

// Axes of which one alone is written as a number, as Keras does.
inline constexpr FieldType kOneAxisOrList = {field_type<Axes>.set, [](const void* member) {
                                               const Axes& axes = *static_cast<const Axes*>(member);
                                               return axes.size() == 1 ? AttributeValue(axes[0]) : get_field(axes);
                                             }};
// A number that no value leaves as it is.
inline constexpr FieldType kNumberOrDefault = {
    [](void* member, const AttributeValue& value, std::string_view op, std::string_view name) {
      if (value.has_value()) set_field(*static_cast<double*>(member), value, op, name);
    },
    field_type<double>.get};

// How a parameter of type T of a function is kept as an attribute, which is trivially copyable, and given back. A type
// of its own beside the parameter's has a specialisation.
template <class T>
struct AttributeOf {
  using Type = T;
  static T keep(const T& parameter) { return parameter; }
  static T give(const T& attribute) { return attribute; }
};
template <>
struct AttributeOf<std::string_view> {
  using Type = Text;
  static std::string_view give(const Text& attribute) { return attribute.view(); }
};
template <>
struct AttributeOf<std::string> {
  using Type = Text;
  static std::string give(const Text& attribute) { return std::string(attribute.view()); }
};
template <>
struct AttributeOf<std::optional<std::int64_t>> {
  using Type = OptionalInt;
  static Type keep(std::optional<std::int64_t> parameter) { return parameter ? Type(*parameter) : Type(); }
  static std::optional<std::int64_t> give(Type attribute) {
    return attribute.has_value ? std::optional(attribute.value) : std::nullopt;
  }
};
template <>
struct AttributeOf<std::span<const std::int64_t>> {
  using Type = IntList;
  static std::span<const std::int64_t> give(const IntList& attribute) { return attribute.span(); }
};

template <class A, std::size_t N>
constexpr AttributeType attribute_type(const AttributeField (&fields)[N]) {
  static_assert(std::is_trivially_copyable_v<A> && sizeof(A) <= 64 && N <= 8);
  AttributeType type{sizeof(A), [](void* attributes) { new (attributes) A(); }, {}, static_cast<int>(N)};
  for (std::size_t i = 0; i < N; ++i) type.fields[i] = fields[i];
  return type;
}

}  // namespace capstan
