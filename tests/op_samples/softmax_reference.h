// The slow softmax, which the references of cross entropies use as well.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

// The slow softmax, or its logarithm.
template <bool kLog>
void softmax_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                       std::vector<ReferenceTensor>& outputs) {
  const Shape& shape = inputs[0].shape;
  const int axis = reference::axis_or_last(attributes, shape);
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

}  // namespace capstan::testing
