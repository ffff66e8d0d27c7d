// Short names of losses and metrics, and the names in configurations.
#pragma once

#include <string>
#include <string_view>

#include "capstan/registry.h"

namespace capstan::detail {

// "MeanSquaredError" for "mse" and "MSE"; any other name as it is.
std::string without_alias(std::string_view name);

// The option "name" of what serialize() gave; empty if it has none.
std::string name_in(const AttributeValue& serialized);

}  // namespace capstan::detail
