// The ops of the family of scan.cc that stand in scan_extremum.cc.
#pragma once

#include "src/core/op_def.h"

namespace capstan {

extern const OpDef kCummax;
extern const OpDef kCummin;

}  // namespace capstan
