// Ops that other files of the library run without going through their functions.
#pragma once

#include "src/core/op_def.h"

namespace capstan {

// Made for fused loops; it has no function.
extern const OpDef kCopy;
extern const OpDef kAdd;
extern const OpDef kSubtract;

}  // namespace capstan
