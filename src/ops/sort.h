// The ops of the family of sort.cc that stand in other files.
#pragma once

#include "src/core/op_def.h"

namespace capstan {

extern const OpDef kPercentile;           // quantile.cc
extern const OpDef kQuantiles;            // quantile.cc
extern const OpDef kUnique;               // count.cc
extern const OpDef kUniqueWithCounts;     // count.cc
extern const OpDef kBincount;             // count.cc
extern const OpDef kHistogramFixedWidth;  // count.cc
extern const OpDef kConfusionMatrix;      // count.cc

}  // namespace capstan
