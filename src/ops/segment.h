// The ops of the family of segment.cc that stand in partition.cc.
#pragma once

#include "src/core/op_def.h"

namespace capstan {

extern const OpDef kDynamicPartition;
extern const OpDef kDynamicStitch;

}  // namespace capstan
