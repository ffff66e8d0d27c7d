// The ops of broadcast.cc, for the list of the family.
#pragma once

#include "src/core/op_def.h"

namespace capstan {

extern const OpDef kBroadcastTo;
extern const OpDef kBroadcastLike;
extern const OpDef kSumLike;

}  // namespace capstan
