// Attributes: the arguments of an op that are not tensors.
//
// An op's attributes are a trivially copyable struct of at most 64 bytes with a table of named fields, from which
// equality, printing and the call by name are derived (capstan/fields.h):
//
//     struct ReduceAttributes {
//       Axes axis;
//       bool keepdims = false;
//     };
//     constexpr OpDef kReduceSum = {..., .attributes = &attribute_table<ReduceAttributes, "axis, keepdims">, ...};
//
// Lists too long for the struct are interned: IntList is a pointer to an immutable list that lives as long as the
// process and is shared by equal lists.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
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
  const AttributeField* fields;
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

// A text as an argument of a template: names, separated by ", ".
template <std::size_t kSize>
struct NameList {
  char text[kSize] = {};

  consteval NameList(const char (&literal)[kSize]) { std::copy_n(literal, kSize, text); }
  constexpr std::string_view view() const { return {text, kSize - 1}; }
  constexpr std::size_t count() const {
    return view().empty() ? 0 : 1 + static_cast<std::size_t>(std::count(text, text + kSize, ','));
  }
  // The names from one to another. By indices, since g++ 12 with -fsanitize=undefined does not take find() for a
  // constant.
  constexpr std::string_view part(std::size_t from, std::size_t to) const {
    if (from == to) return {};
    std::size_t begin = 0, end = 0;
    for (std::size_t name = 0; end < kSize - 1; ++end) {
      if (text[end] != ',') continue;
      ++name;
      if (name == to) break;
      if (name == from) begin = end + 2;
    }
    return {text + begin, end - begin};
  }
};

namespace detail {

// The fields of a struct.
template <std::size_t kFields, class T>
constexpr auto fields_of(T& value) {
  static_assert(kFields >= 1 && kFields <= 8);
  if constexpr (kFields == 1) {
    auto& [a] = value;
    return std::tie(a);
  } else if constexpr (kFields == 2) {
    auto& [a, b] = value;
    return std::tie(a, b);
  } else if constexpr (kFields == 3) {
    auto& [a, b, c] = value;
    return std::tie(a, b, c);
  } else if constexpr (kFields == 4) {
    auto& [a, b, c, d] = value;
    return std::tie(a, b, c, d);
  } else if constexpr (kFields == 5) {
    auto& [a, b, c, d, e] = value;
    return std::tie(a, b, c, d, e);
  } else if constexpr (kFields == 6) {
    auto& [a, b, c, d, e, f] = value;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (kFields == 7) {
    auto& [a, b, c, d, e, f, g] = value;
    return std::tie(a, b, c, d, e, f, g);
  } else {
    auto& [a, b, c, d, e, f, g, h] = value;
    return std::tie(a, b, c, d, e, f, g, h);
  }
}

template <class A, std::size_t kFields, std::size_t kField>
static constexpr AttributeField field_of(std::string_view name, bool required) {
  constexpr auto member = [](A & attributes) -> auto& { return std::get<kField>(fields_of<kFields>(attributes)); };
  return {name, required, offset_of<A>(member), &field_type<std::remove_cvref_t<decltype(member(std::declval<A&>()))>>};
}

// Static: as field().
template <class A, NameList kNames, std::size_t kRequired>
static constexpr auto named_fields = []<std::size_t... kFields>(std::index_sequence<kFields...>) {
  return std::array{field_of<A, kNames.count(), kFields>(kNames.part(kFields, kFields + 1), kFields < kRequired)...};
}
(std::make_index_sequence<kNames.count()>());

template <class A>
void construct(void* attributes) {
  new (attributes) A();
}

}  // namespace detail

// A table whose rows are written by hand, for a struct that inherits fields, or has others or another order than
// callers see:
//
//     constexpr AttributeField kFields[] = {field<&RangeAttributes::start>("start"), ...};
//     constexpr OpDef kRange = {..., .attributes = &attribute_type<RangeAttributes, kFields>, ...};
template <class A, const auto& kFields>
static constexpr AttributeType attribute_type = [] {
  static_assert(std::is_trivially_copyable_v<A> && sizeof(A) <= 64 && std::size(kFields) <= 8);
  return AttributeType{sizeof(A), &detail::construct<A>, std::data(kFields), static_cast<int>(std::size(kFields))};
}();

// The table of a struct whose fields have these names, in their order; the first `kRequired` have no defaults.
template <class A, NameList kNames, std::size_t kRequired = 0>
static constexpr AttributeType attribute_table = attribute_type<A, detail::named_fields<A, kNames, kRequired>>;

}  // namespace capstan
