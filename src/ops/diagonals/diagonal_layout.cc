#include "src/ops/diagonals/diagonal_layout.h"

#include <algorithm>

namespace capstan {

namespace {

// Far outside of any matrix, and far from overflow.
std::int64_t bounded(std::int64_t diagonal) {
  constexpr std::int64_t kFarthest = std::int64_t{1} << 40;
  return std::clamp(diagonal, -kFarthest, kFarthest);
}

}  // namespace

Diagonals::Diagonals(DiagonalRange range)
    : lower(bounded(range.lower)), upper(bounded(range.upper)), is_pair(range.lower != range.upper) {}

DiagonalAlignment::DiagonalAlignment(std::string_view op, std::string_view text) {
  const std::size_t middle = text.find('_');
  const std::string_view above = text.substr(0, middle);
  const std::string_view below = middle == std::string_view::npos ? std::string_view() : text.substr(middle + 1);
  CAPSTAN_CHECK((above == "LEFT" || above == "RIGHT") && (below == "LEFT" || below == "RIGHT"), ValueError, op,
                ": align must be \"RIGHT_LEFT\", \"LEFT_RIGHT\", \"LEFT_LEFT\" or \"RIGHT_RIGHT\", not \"", text, "\"");
  upper_left = above == "LEFT";
  lower_left = below == "LEFT";
}

void set_field(DiagonalAlignment& field, const AttributeValue& value, std::string_view op, std::string_view) {
  field = DiagonalAlignment(op, value.kind == AttributeValue::Kind::kString ? value.text : value.to_string());
}
AttributeValue get_field(const DiagonalAlignment& field) {
  return {std::string(field.upper_left ? "LEFT" : "RIGHT") + (field.lower_left ? "_LEFT" : "_RIGHT")};
}

void set_field(Diagonals& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  using Kind = AttributeValue::Kind;
  const bool pair = value.kind == Kind::kList && value.list.size() == 2 && value.list[0].kind == Kind::kInt &&
                    value.list[1].kind == Kind::kInt;
  CAPSTAN_CHECK(pair || value.kind == Kind::kInt, ValueError, op, ": attribute \"", name,
                "\" must be a number or two, not ", value.to_string());
  field.lower = bounded((pair ? value.list[0] : value).integer);
  field.upper = bounded((pair ? value.list[1] : value).integer);
  field.is_pair = pair;
}
AttributeValue get_field(const Diagonals& field) {
  if (!field.is_pair) return {field.lower};
  return {std::vector<AttributeValue>{field.lower, field.upper}};
}

void check_diagonals(std::string_view op, std::int64_t rows, std::int64_t columns, const Diagonals& diagonals) {
  CAPSTAN_CHECK(diagonals.lower <= diagonals.upper, ValueError, op, ": the lowest diagonal, ", diagonals.lower,
                ", is above the highest, ", diagonals.upper);
  // The main diagonal exists even of an empty matrix.
  const auto inside = [&](std::int64_t k) { return k == 0 || (k > -rows && k < columns); };
  CAPSTAN_CHECK(inside(diagonals.lower) && inside(diagonals.upper), ValueError, op, ": diagonals ", diagonals.lower,
                " to ", diagonals.upper, " are outside of a matrix of ", rows, " by ", columns);
}

}  // namespace capstan
