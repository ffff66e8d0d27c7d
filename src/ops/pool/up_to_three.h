// One number per image axis, for ops that take images of one to three axes.
#pragma once

#include <string_view>
#include <vector>

#include "src/ops/window.h"

namespace capstan {

struct UpToThree {
  std::int32_t at[3] = {};
  std::int32_t count = 0;  // 0: not given

  std::vector<std::int64_t> numbers() const { return {at, at + count}; }
};

inline void set_field(UpToThree& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  field = {};
  if (value.kind == AttributeValue::Kind::kNone) return;
  const std::vector<std::int64_t> numbers = integers_of(value, op, name);
  CAPSTAN_CHECK(!numbers.empty() && numbers.size() <= 3, ValueError, op, ": attribute \"", name,
                "\" must be one to three numbers, not ", value.to_string());
  for (std::int64_t number : numbers) field.at[field.count++] = small_integer(number);
}
inline AttributeValue get_field(const UpToThree& field) {
  return field.count == 0 ? AttributeValue() : list_of(field.numbers());
}

}  // namespace capstan
