// The ops of mask.cc, for the list of the family.
#pragma once

#include "src/core/op_def.h"

namespace capstan {

extern const OpDef kOneHot;
extern const OpDef kWhereIndices;
extern const OpDef kBooleanMask;
extern const OpDef kSequenceMask;

}  // namespace capstan
