// The shape of one example in configurations.
#include "capstan/layer.h"
#include "src/core/check.h"

namespace capstan {

void set_field(InputShape& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  if (!value.has_value()) {
    field = InputShape();
    return;
  }
  const auto refuse = [&] {
    throw ValueError(detail::join(owner, ": option \"", name, "\" must be a list of lengths, not ", value.to_string()));
  };
  if (value.kind != AttributeValue::Kind::kList) refuse();
  Shape shape;
  for (const AttributeValue& item : value.list) {
    if (item.has_value() && (item.kind != AttributeValue::Kind::kInt || item.integer < -1)) refuse();
    shape.push_back(item.has_value() ? item.integer : -1);
  }
  field = shape;
}

AttributeValue get_field(const InputShape& field) {
  if (!field.is_given()) return {};
  std::vector<AttributeValue> lengths;
  for (const std::int64_t length : field.shape()) {
    lengths.push_back(length < 0 ? AttributeValue() : AttributeValue(length));
  }
  return lengths;
}

}  // namespace capstan
