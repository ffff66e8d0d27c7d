// Lengths of windows and borders in configurations.
#include "capstan/layers/sizes.h"

#include <algorithm>

#include "src/core/check.h"

namespace capstan::detail {

namespace {

using Kind = AttributeValue::Kind;

[[noreturn, gnu::cold]] void refuse(std::string_view owner, std::string_view name, const std::string& wanted,
                                    const AttributeValue& value) {
  throw ValueError(join(owner, ": option \"", name, "\" must be ", wanted, ", not ", value.to_string()));
}

bool is_pair(const AttributeValue& value) {
  return value.kind == Kind::kList && value.list.size() == 2 && value.list[0].kind == Kind::kInt &&
         value.list[1].kind == Kind::kInt;
}

}  // namespace

void set_lengths(std::span<std::int64_t> lengths, const AttributeValue& value, std::string_view owner,
                 std::string_view name) {
  const bool is_list = value.kind == Kind::kList && value.list.size() == lengths.size();
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const AttributeValue& item = is_list ? value.list[i] : value;
    if (item.kind != Kind::kInt) refuse(owner, name, join("an integer or a list of ", lengths.size()), value);
    lengths[i] = item.integer;
  }
}

AttributeValue get_lengths(std::span<const std::int64_t> lengths) {
  return std::vector<AttributeValue>(lengths.begin(), lengths.end());
}

void set_widths(std::span<PadWidth> widths, const AttributeValue& value, std::string_view owner,
                std::string_view name) {
  // Of one axis the pair stands for the axis itself.
  const bool is_own_pair = widths.size() == 1 && is_pair(value);
  const bool is_list = !is_own_pair && value.kind == Kind::kList && value.list.size() == widths.size();
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const AttributeValue& item = is_list ? value.list[i] : value;
    if (item.kind == Kind::kInt) {
      widths[i] = {item.integer, item.integer};
    } else if (is_pair(item) && (is_list || is_own_pair)) {
      widths[i] = {item.list[0].integer, item.list[1].integer};
    } else {
      refuse(owner, name, join("an integer, or ", widths.size(), " integers or pairs of integers"), value);
    }
  }
}

AttributeValue get_widths(std::span<const PadWidth> widths) {
  std::vector<AttributeValue> list;
  for (const PadWidth& width : widths) list.push_back(std::vector<AttributeValue>{width.before, width.after});
  return widths.size() == 1 ? list[0] : AttributeValue(list);
}

}  // namespace capstan::detail
