// Elementwise ops whose loops are not defined for all integers: divisions by zero, negative powers.
#pragma once

#include "src/core/op_def.h"

namespace capstan {

// Whether the loops of the op throw for some elements.
bool refuses_elements(const OpDef& op);

}  // namespace capstan
