// What the softmax and the cross entropies of it share.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/core/attributes.h"
#include "src/core/op_test.h"
#include "src/ops/axes.h"
#include "src/ops/axis.h"
#include "src/ops/reference.h"

namespace capstan {

struct SoftmaxAttributes {
  AxisOr<-1> axis;
};
constexpr AttributeType kSoftmaxAttributes =
    attribute_type<SoftmaxAttributes>({field<&SoftmaxAttributes::axis>("axis")});

#if CAPSTAN_TESTING
// The slow softmax, or its logarithm.
template <bool kLog>
void softmax_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                       std::vector<ReferenceTensor>& outputs) {
  const auto found = attributes.find("axis");
  const Shape& shape = inputs[0].shape;
  const int axis = normalize_axis(
      "reference", found == attributes.end() || !found->second.is_number() ? -1 : found->second.integer, shape.rank());
  std::int64_t inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  outputs = {inputs[0]};
  for (std::size_t i = 0; i < inputs[0].values.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t first = at / (inner * shape[axis]) * inner * shape[axis] + at % inner;
    double largest = -INFINITY;
    for (std::int64_t k = 0; k < shape[axis]; ++k) {
      largest = std::max(largest, inputs[0].values[static_cast<std::size_t>(first + k * inner)]);
    }
    double sum = 0;
    for (std::int64_t k = 0; k < shape[axis]; ++k) {
      sum += std::exp(inputs[0].values[static_cast<std::size_t>(first + k * inner)] - largest);
    }
    const double shifted = inputs[0].values[i] - largest;
    outputs[0].values[i] = kLog ? shifted - std::log(sum) : std::exp(shifted) / sum;
  }
}
#endif

}  // namespace capstan
