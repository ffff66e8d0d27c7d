// Tensors and attributes from the JSON files of golden values; their format is described in
// tests/golden/README.md.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "capstan/registry.h"
#include "capstan/tensor.h"

namespace capstan::testing {

using Json = nlohmann::json;

// A case needs what the library does not have yet.
struct Lacking {
  std::string reason;
};

Json read_json(const std::string& path);

// Throws Lacking for a dtype that the library does not have. An absent tensor (null) is an empty
// handle.
Tensor tensor_from_json(const Json& json);

AttributeValue attribute_from_json(const Json& json);
AttributeMap attributes_from_json(const Json& json);

}  // namespace capstan::testing
