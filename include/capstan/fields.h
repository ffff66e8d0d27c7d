// Fields: the members of a struct under their names.
//
// What has arguments (an op, an optimizer, a schedule) has them as a struct, and a table of its members, from which
// follow their values as dynamic ones and back, and with that the call by name, checks, printing and configurations:
//
//     struct Options {
//       double rate = 0.5;
//       std::optional<std::int64_t> seed;
//     };
//     constexpr AttributeField kFields[] = {field<&Options::rate>("rate"), field<&Options::seed>("seed")};
//
// A member may have any type for which set_field() and get_field() exist: those below, and a program's own beside its
// type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capstan/dtype.h"
#include "capstan/export.h"
#include "capstan/registry.h"
#include "capstan/shape.h"

namespace capstan {

/// How members of one type become dynamic values and back.
struct FieldType {
  /// Errors: ValueError if the value does not fit; `owner` and `name` are for the message.
  void (*set)(void* member, const AttributeValue& value, std::string_view owner, std::string_view name);
  AttributeValue (*get)(const void* member);
};

/// A member of a struct.
struct AttributeField {
  std::string_view name;
  bool required;         ///< has no default
  std::uint32_t offset;  ///< of the member in the struct
  const FieldType* type;

  /// The row of the same member with other conversions.
  constexpr AttributeField with_type(const FieldType& other) const { return {name, required, offset, &other}; }
  /// Sets it from a dynamic value. Errors: ValueError if that does not fit; `owner` is for the message.
  void set(void* attributes, const AttributeValue& value, std::string_view owner) const {
    type->set(static_cast<std::byte*>(attributes) + offset, value, owner, name);
  }
  AttributeValue get(const void* attributes) const {
    return type->get(static_cast<const std::byte*>(attributes) + offset);
  }
};

/// Conversions between members and dynamic values, one overload for each type. A value fits if nothing is lost: a
/// number takes an integer, an integer takes no fraction. Errors: ValueError if it does not fit.
CAPSTAN_EXPORT void set_field(bool& field, const AttributeValue& value, std::string_view owner, std::string_view name);
CAPSTAN_EXPORT void set_field(int& field, const AttributeValue& value, std::string_view owner, std::string_view name);
CAPSTAN_EXPORT void set_field(std::int64_t& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT void set_field(std::uint64_t& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT void set_field(double& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT void set_field(std::string& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT void set_field(DType& field, const AttributeValue& value, std::string_view owner, std::string_view name);
CAPSTAN_EXPORT void set_field(Shape& field, const AttributeValue& value, std::string_view owner, std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(bool field);
CAPSTAN_EXPORT AttributeValue get_field(int field);
CAPSTAN_EXPORT AttributeValue get_field(std::int64_t field);
CAPSTAN_EXPORT AttributeValue get_field(std::uint64_t field);  ///< Errors: ValueError beyond the largest int64.
CAPSTAN_EXPORT AttributeValue get_field(double field);
CAPSTAN_EXPORT AttributeValue get_field(const std::string& field);
CAPSTAN_EXPORT AttributeValue get_field(DType field);
CAPSTAN_EXPORT AttributeValue get_field(const Shape& field);

// Lists may be absent, too; these are below.
template <class T>
void set_field(std::vector<T>& field, const AttributeValue& value, std::string_view owner, std::string_view name);
template <class T>
AttributeValue get_field(const std::vector<T>& field);

/// What may be absent; none stands for that.
template <class T>
void set_field(std::optional<T>& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  if (value.has_value()) {
    set_field(field.emplace(), value, owner, name);
  } else {
    field.reset();
  }
}
template <class T>
AttributeValue get_field(const std::optional<T>& field) {
  return field ? get_field(*field) : AttributeValue();
}

/// Lists; a single value is a list of one.
template <class T>
void set_field(std::vector<T>& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  field.clear();
  if (value.kind != AttributeValue::Kind::kList) {
    set_field(field.emplace_back(), value, owner, name);
    return;
  }
  for (const AttributeValue& item : value.list) set_field(field.emplace_back(), item, owner, name);
}
template <class T>
AttributeValue get_field(const std::vector<T>& field) {
  std::vector<AttributeValue> list;
  for (const T& item : field) list.push_back(get_field(item));
  return list;
}

/// That of the members of type `T`.
template <class T>
inline constexpr FieldType field_type = {
    [](void* member, const AttributeValue& value, std::string_view owner, std::string_view name) {
      set_field(*static_cast<T*>(member), value, owner, name);
    },
    [](const void* member) { return get_field(*static_cast<const T*>(member)); }};

namespace detail {
template <auto Member>
struct MemberOf;
template <class A, class F, F A::*Member>
struct MemberOf<Member> {
  using Struct = A;
  using Field = F;
};

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif
// Where an object would lie. Addresses in it are compared when the program is compiled; it has no definition.
template <class A>
struct Anywhere {
  union Place {
    Place() {}
    ~Place() {}
    unsigned char bytes[sizeof(A)];
    A object;
  };
  static Place place;
};

// Where the member that `member_of(object)` gives lies in an A. offsetof() takes names, not pointers to members.
template <class A, class MemberFunction>
consteval std::uint32_t offset_of(MemberFunction member_of) {
  auto& member = member_of(Anywhere<A>::place.object);
  std::uint32_t offset = 0;
  while (static_cast<const void*>(&Anywhere<A>::place.bytes[offset]) != static_cast<const void*>(&member)) {
    offset += alignof(decltype(member));
  }
  return offset;
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
}  // namespace detail

/// The row of a member in a table; `A` is the struct, if the member is one of a base of it.
// Static: g++ 12 gives it an external name that does not tell apart structs of unnamed namespaces, so two files with a
// struct of the same name would share it.
template <auto Member, class A = typename detail::MemberOf<Member>::Struct>
static constexpr AttributeField field(std::string_view name, bool required = false) {
  return {name, required, detail::offset_of<A>([](A & object) -> auto& { return object.*Member; }),
          &field_type<typename detail::MemberOf<Member>::Field>};
}

}  // namespace capstan
