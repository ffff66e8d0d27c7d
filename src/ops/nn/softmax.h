// What the softmax and the cross entropies of it share.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/core/attributes.h"
#include "src/ops/axes.h"
#include "src/ops/axis.h"

namespace capstan {

struct SoftmaxAttributes {
  AxisOr<-1> axis;
};
constexpr const AttributeType& kSoftmaxAttributes = attribute_table<SoftmaxAttributes, "axis">;

}  // namespace capstan
