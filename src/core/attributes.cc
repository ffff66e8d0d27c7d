// Attributes as dynamic values: what the call by name, printing and comparing of attributes are built
// on.
//
// A value fits a field if nothing is lost: a number field takes an integer, an integer field takes
// no fraction. A list field takes a single integer as a list of one, and nested lists row by row,
// so that `strides = 2` and `paddings = [[1, 1], [0, 2]]` can be given as they are written.
#include "src/core/attributes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "src/core/check.h"

namespace capstan {

namespace {

[[noreturn, gnu::cold]] void does_not_fit(std::string_view op, std::string_view name, std::string_view wanted,
                                          const AttributeValue& value) {
  throw ValueError(detail::join(op, ": attribute \"", name, "\" must be ", wanted, ", not ", value.to_string()));
}

void append_integers(std::vector<std::int64_t>& integers, const AttributeValue& value, std::string_view op,
                     std::string_view name, const AttributeValue& whole) {
  if (value.kind == AttributeValue::Kind::kList) {
    for (const AttributeValue& item : value.list) append_integers(integers, item, op, name, whole);
  } else if (value.kind == AttributeValue::Kind::kInt) {
    integers.push_back(value.integer);
  } else {
    does_not_fit(op, name, "a list of integers", whole);
  }
}

std::string number_to_string(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  char buffer[32];
  const std::to_chars_result end = std::to_chars(buffer, buffer + sizeof buffer, number);
  std::string text(buffer, end.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

AttributeValue list_of(std::span<const std::int64_t> integers) {
  return std::vector<AttributeValue>(integers.begin(), integers.end());
}

}  // namespace

AttributeValue AttributeValue::map() {
  AttributeValue value;
  value.kind = Kind::kMap;
  return value;
}

const AttributeValue* AttributeValue::find(std::string_view key) const {
  const auto found = std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.first == key; });
  return found == items.end() ? nullptr : &found->second;
}

void AttributeValue::set(std::string_view key, AttributeValue value) {
  for (auto& [name, present] : items) {
    if (name != key) continue;
    present = std::move(value);
    return;
  }
  items.emplace_back(std::string(key), std::move(value));
}

std::string AttributeValue::to_string() const {
  switch (kind) {
    case Kind::kNone:
      return "none";
    case Kind::kBool:
      return truth ? "true" : "false";
    case Kind::kInt:
      return std::to_string(integer);
    case Kind::kFloat:
      return number_to_string(number);
    case Kind::kString:
      return "\"" + text + "\"";
    case Kind::kMap: {
      std::string result = "{";
      for (const auto& [key, value] : items)
        result += (result.size() == 1 ? "" : ", ") + key + ": " + value.to_string();
      return result + "}";
    }
    case Kind::kList:
      break;
  }
  std::string result = "[";
  for (std::size_t i = 0; i < list.size(); ++i) result += (i == 0 ? "" : ", ") + list[i].to_string();
  return result + "]";
}

// --- From dynamic values ---

void set_field(bool& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  if (value.kind != AttributeValue::Kind::kBool) does_not_fit(op, name, "true or false", value);
  field = value.truth;
}

void set_field(std::int64_t& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  if (value.kind != AttributeValue::Kind::kInt) does_not_fit(op, name, "an integer", value);
  field = value.integer;
}

void set_field(std::uint64_t& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  if (value.kind != AttributeValue::Kind::kInt || value.integer < 0) {
    does_not_fit(op, name, "an integer that is not negative", value);
  }
  field = static_cast<std::uint64_t>(value.integer);
}

void set_field(int& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  std::int64_t wide = 0;
  set_field(wide, value, op, name);
  if (wide != static_cast<int>(wide)) does_not_fit(op, name, "an integer of 32 bits", value);
  field = static_cast<int>(wide);
}

void set_field(std::string& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  if (value.kind != AttributeValue::Kind::kString) does_not_fit(op, name, "a text", value);
  field = value.text;
}

void set_field(double& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  if (value.is_number()) {
    field = value.number;
  } else if (value.text == "inf" || value.text == "-inf") {  // as files that cannot write them hold them
    field = value.text == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  } else if (value.text == "nan") {
    field = std::numeric_limits<double>::quiet_NaN();
  } else {
    does_not_fit(op, name, "a number", value);
  }
}

void set_field(DType& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  if (value.kind == AttributeValue::Kind::kString) {
    for (int i = 0; i < kDTypes; ++i) {
      if (name_of(static_cast<DType>(i)) != value.text) continue;
      field = static_cast<DType>(i);
      return;
    }
  }
  does_not_fit(op, name, "the name of a dtype", value);
}

void set_field(Axes& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  if (value.kind == AttributeValue::Kind::kNone) {
    field = Axes();
    return;
  }
  const auto is_axis = [](const AttributeValue& item) { return item.kind == AttributeValue::Kind::kInt; };
  const std::span<const AttributeValue> items =
      value.kind == AttributeValue::Kind::kList ? std::span<const AttributeValue>(value.list) : std::span(&value, 1);
  std::vector<int> axes;
  for (const AttributeValue& item : items) {
    if (!is_axis(item)) does_not_fit(op, name, "an axis, a list of axes, or none", value);
    const std::int64_t limit = std::numeric_limits<int>::max();
    axes.push_back(static_cast<int>(std::clamp(item.integer, -limit, limit)));  // clamped: out of range for every rank
  }
  CAPSTAN_CHECK(axes.size() <= kMaxRank, ValueError, op, ": attribute \"", name, "\" has ", axes.size(),
                " axes, a tensor at most ", kMaxRank);
  field = Axes(axes);
}

void set_field(Shape& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  if (value.kind != AttributeValue::Kind::kList) does_not_fit(op, name, "a list of lengths", value);
  Shape shape;
  for (const AttributeValue& item : value.list) {
    if (item.kind != AttributeValue::Kind::kInt) does_not_fit(op, name, "a list of lengths", value);
    shape.push_back(item.integer);
  }
  field = shape;
}

void set_field(OptionalInt& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  if (value.kind == AttributeValue::Kind::kNone) {
    field = OptionalInt();
  } else {
    if (value.kind != AttributeValue::Kind::kInt) does_not_fit(op, name, "an integer or none", value);
    field = OptionalInt(value.integer);
  }
}

void set_field(IntList& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  if (value.kind == AttributeValue::Kind::kNone) {
    field = IntList();
    return;
  }
  std::vector<std::int64_t> integers;
  append_integers(integers, value, op, name, value);
  field = intern(integers);
}

void set_field(Text& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  if (value.kind == AttributeValue::Kind::kNone) {
    field = Text();
  } else {
    if (value.kind != AttributeValue::Kind::kString) does_not_fit(op, name, "a text", value);
    field = intern(value.text);
  }
}

// --- To dynamic values ---

AttributeValue get_field(bool field) { return field; }
AttributeValue get_field(std::int64_t field) { return field; }
AttributeValue get_field(int field) { return field; }
AttributeValue get_field(std::uint64_t field) {
  CAPSTAN_CHECK(field <= static_cast<std::uint64_t>(INT64_MAX), ValueError, "configuration: ", field,
                " is more than 2^63 - 1, the largest integer that a configuration holds");
  return static_cast<std::int64_t>(field);
}
AttributeValue get_field(double field) { return field; }
AttributeValue get_field(const std::string& field) { return field; }
AttributeValue get_field(DType field) { return std::string(name_of(field)); }

AttributeValue get_field(const Axes& field) {
  if (field.all()) return {};
  std::vector<AttributeValue> axes;
  for (int i = 0; i < field.size(); ++i) axes.emplace_back(field[i]);
  return axes;
}

AttributeValue get_field(const Shape& field) { return list_of(field.dims()); }

AttributeValue get_field(const OptionalInt& field) {
  return field.has_value ? AttributeValue(field.value) : AttributeValue();
}

AttributeValue get_field(const IntList& field) { return field.has_value() ? list_of(field.span()) : AttributeValue(); }

AttributeValue get_field(const Text& field) {
  return field.text == nullptr ? AttributeValue() : AttributeValue(*field.text);
}

}  // namespace capstan
