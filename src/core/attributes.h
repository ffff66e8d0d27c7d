// Attributes: the arguments of an op that are not tensors.
//
// An op's attributes are a trivially copyable struct of at most 64 bytes with a table of named fields, from which
// equality, printing and the call by name are derived:
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
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

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

struct AttributeField {
  std::string_view name;
  bool required;
  // Sets the field from a dynamic value; throws ValueError if it does not fit. `op` is for the message.
  void (*set)(void* attributes, const AttributeValue& value, std::string_view op, std::string_view field);
  AttributeValue (*get)(const void* attributes);
};

struct AttributeType {
  std::uint32_t size;
  void (*construct)(void* attributes);  // writes the defaults
  AttributeField fields[8];
  int field_count;
};

// Conversions between field types and dynamic values, one overload per field type (attributes.cc).
void set_field(bool& field, const AttributeValue& value, std::string_view op, std::string_view name);
void set_field(std::int64_t& field, const AttributeValue& value, std::string_view op, std::string_view name);
void set_field(double& field, const AttributeValue& value, std::string_view op, std::string_view name);
void set_field(DType& field, const AttributeValue& value, std::string_view op, std::string_view name);
void set_field(Axes& field, const AttributeValue& value, std::string_view op, std::string_view name);
void set_field(OptionalInt& field, const AttributeValue& value, std::string_view op, std::string_view name);
void set_field(IntList& field, const AttributeValue& value, std::string_view op, std::string_view name);
void set_field(Text& field, const AttributeValue& value, std::string_view op, std::string_view name);
AttributeValue get_field(bool field);
AttributeValue get_field(std::int64_t field);
AttributeValue get_field(double field);
AttributeValue get_field(DType field);
AttributeValue get_field(const Axes& field);
AttributeValue get_field(const OptionalInt& field);
AttributeValue get_field(const IntList& field);
AttributeValue get_field(const Text& field);

template <auto Member>
struct MemberOf;
template <class A, class F, F A::*Member>
struct MemberOf<Member> {
  using Struct = A;
  using Field = F;
};

// Static: g++ 12 gives the functions below external names that do not tell apart structs of unnamed namespaces, so two
// files with a struct of the same name would share them.
template <auto Member>
static constexpr AttributeField field(std::string_view name, bool required = false) {
  using A = typename MemberOf<Member>::Struct;
  return {name, required,
          [](void* attributes, const AttributeValue& value, std::string_view op, std::string_view field_name) {
            set_field(static_cast<A*>(attributes)->*Member, value, op, field_name);
          },
          [](const void* attributes) { return get_field(static_cast<const A*>(attributes)->*Member); }};
}

template <class A, std::size_t N>
constexpr AttributeType attribute_type(const AttributeField (&fields)[N]) {
  static_assert(std::is_trivially_copyable_v<A> && sizeof(A) <= 64 && N <= 8);
  AttributeType type{sizeof(A), [](void* attributes) { new (attributes) A(); }, {}, static_cast<int>(N)};
  for (std::size_t i = 0; i < N; ++i) type.fields[i] = fields[i];
  return type;
}

}  // namespace capstan
