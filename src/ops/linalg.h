// The ops of linear algebra that do not stand in linalg.cc with the list of the family.
#pragma once

#include "src/core/op_def.h"

namespace capstan {

extern const OpDef kEinsum;             // einsum.cc
extern const OpDef kNorm;               // norm.cc
extern const OpDef kNormalize;          // norm.cc
extern const OpDef kL2Normalize;        // norm.cc
extern const OpDef kGlobalNorm;         // norm.cc
extern const OpDef kClipByNorm;         // norm.cc
extern const OpDef kClipByAverageNorm;  // norm.cc
extern const OpDef kClipByGlobalNorm;   // norm.cc

}  // namespace capstan
