#include "src/train/aliases.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace capstan::detail {

std::string without_alias(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
      {"mse", "MeanSquaredError"},
      {"mae", "MeanAbsoluteError"},
      {"mape", "MeanAbsolutePercentageError"},
      {"msle", "MeanSquaredLogarithmicError"},
      {"bce", "BinaryCrossentropy"},
      {"kld", "KLDivergence"},
  };
  for (const auto& [alias, of] : kAliases) {
    // "mse" and "MSE", not "Mse".
    const bool is_upper = !name.empty() && std::isupper(static_cast<unsigned char>(name[0])) != 0;
    const bool fits = std::equal(name.begin(), name.end(), alias.begin(), alias.end(), [is_upper](char a, char b) {
      return a == (is_upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(b))) : b);
    });
    if (fits) return std::string(of);
  }
  return std::string(name);
}

std::string name_in(const AttributeValue& serialized) {
  const AttributeValue* const config = serialized.find("config");
  const AttributeValue* const name = config == nullptr ? nullptr : config->find("name");
  return name != nullptr && name->kind == AttributeValue::Kind::kString ? name->text : "";
}

}  // namespace capstan::detail
