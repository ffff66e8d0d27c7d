// Ops on the state of variables that other layers use directly.
#pragma once

#include "src/core/op_def.h"

namespace capstan {

// A snapshot of a variable's value as a tensor of its own.
extern const OpDef kReadVariable;

}  // namespace capstan
