// The attributes of an op as a map, without those that have their defaults.
#pragma once

#include "capstan/registry.h"
#include "src/core/op_def.h"

namespace capstan::saved_model {

AttributeValue attributes_form(const OpDef& op, const void* attributes);

}  // namespace capstan::saved_model
