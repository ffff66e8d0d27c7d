// The ops of scatter.cc, for the list of the family.
#pragma once

#include "src/core/op_def.h"

namespace capstan {

extern const OpDef kGatherNd;
extern const OpDef kScatterNd;
extern const OpDef kTensorScatterNdAdd;
extern const OpDef kTensorScatterNdSub;
extern const OpDef kTensorScatterNdUpdate;
extern const OpDef kTensorScatterNdMax;
extern const OpDef kTensorScatterNdMin;

}  // namespace capstan
