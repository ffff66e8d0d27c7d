#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capstan/tensor.h"

namespace capstan {

/// A dynamic value: nothing, a truth value, an integer, a number, a text, a list of these, or a map from texts to
/// these; what JSON can say. Bindings and importers call ops with it, configurations of optimizers and the like are
/// made of it (see capstan/config.h); C++ programs use the typed functions and options.
struct CAPSTAN_EXPORT AttributeValue {
  enum class Kind : std::uint8_t { kNone, kBool, kInt, kFloat, kString, kList, kMap };
  Kind kind = Kind::kNone;
  bool truth = false;
  std::int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<AttributeValue> list;
  std::vector<std::pair<std::string, AttributeValue>> items;  ///< of a map, in their order

  AttributeValue() = default;
  AttributeValue(bool value) : kind(Kind::kBool), truth(value) {}
  AttributeValue(int value) : AttributeValue(static_cast<std::int64_t>(value)) {}
  AttributeValue(std::int64_t value) : kind(Kind::kInt), integer(value), number(static_cast<double>(value)) {}
  AttributeValue(double value) : kind(Kind::kFloat), number(value) {}
  AttributeValue(std::string value) : kind(Kind::kString), text(std::move(value)) {}
  AttributeValue(const char* value) : kind(Kind::kString), text(value) {}
  AttributeValue(std::vector<AttributeValue> value) : kind(Kind::kList), list(std::move(value)) {}

  /// A map without items.
  static AttributeValue map();

  bool is_number() const { return kind == Kind::kInt || kind == Kind::kFloat; }
  bool has_value() const { return kind != Kind::kNone; }

  /// What a map has under a key, or null; null for any other value.
  const AttributeValue* find(std::string_view key) const;
  /// Replaces what a map has under a key, or adds it at the end.
  void set(std::string_view key, AttributeValue value);

  /// For people: none, true, 3, 0.5, "text", [1, 2], {key: value}.
  std::string to_string() const;

  /// JSON text on one line, with the shortest numbers that read back as the same; infinities and NaN, which JSON lacks,
  /// are the texts "inf", "-inf" and "nan".
  std::string to_json() const;
  /// The value of a JSON text. Numbers with a point or an exponent are kFloat, others kInt. Errors: ValueError for
  /// anything that is not JSON, with the place.
  ///
  ///     AttributeValue::from_json(R"({"momentum": 0.9})").find("momentum")->number;  // 0.9
  static AttributeValue from_json(std::string_view json);
};

using AttributeMap = std::map<std::string, AttributeValue, std::less<>>;

/// What is known of an op without calling it.
struct CAPSTAN_EXPORT OpInfo {
  std::string_view name;
  std::string_view text;
  std::string_view input_names;
  int inputs;   ///< -1: any number
  int outputs;  ///< -1: depends on the arguments
  bool differentiable;
  std::vector<std::string_view> attributes;
};

/// All ops, in the order of their families.
///
///     for (const OpInfo& op : list_ops()) std::cout << op.name << "\n";
CAPSTAN_EXPORT std::vector<OpInfo> list_ops();

/// True if an op has this name.
///
///     has_op("matmul");  // true
CAPSTAN_EXPORT bool has_op(std::string_view name);

/// Calls an op by its name: the road that bindings and importers take. Attributes that are not given have their
/// defaults. Errors: ValueError for an unknown op or attribute, or a value that does not fit; what the op itself
/// throws.
///
///     call("reduce_sum", std::array{x}, {{"axis", 0}, {"keepdims", true}});
CAPSTAN_EXPORT std::vector<Tensor> call(std::string_view name, std::span<const Tensor> inputs,
                                        const AttributeMap& attributes = {});

}  // namespace capstan
