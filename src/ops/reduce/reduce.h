// What ops that reduce over axes share.
#pragma once

#include "capstan/tensor.h"
#include "src/core/attributes.h"
#include "src/core/op_def.h"
#include "src/kernels/reduce/reduce.h"
#include "src/ops/axes.h"

namespace capstan {

struct ReduceAttributes {
  Axes axis;
  bool keepdims = false;
};

// The shape that a reduction leaves.
inline Shape reduced_shape(const Shape& shape, const AxisSet& axes, bool keepdims) {
  Shape result;
  for (int i = 0; i < shape.rank(); ++i) {
    if (!axes.on[i]) {
      result.push_back(shape[i]);
    } else if (keepdims) {
      result.push_back(1);
    }
  }
  return result;
}

inline ReduceShape reduce_shape(const Shape& shape, const AxisSet& axes) {
  ReduceShape result;
  for (int i = 0; i < shape.rank(); ++i) result.add(shape[i], axes.on[i]);
  return result;
}

// A reduction's result (or its cotangent) in a shape that broadcasts against the input: the reduced
// axes come back with length 1 where broadcasting would not find their place by itself. Of `x` only
// the rank is read.
Tensor restore_axes(const Tensor& reduced, const Tensor& x, const ReduceAttributes& attributes);

extern const OpDef kReduceSum;
extern const OpDef kReduceMean;

// Whether an op sums its first input (of shape x) into `out`; then over which axes, and whether it is the mean.
bool is_sum(const OpDef& op, const void* attributes, const Shape& x, const Shape& out, ReduceShape* shape, bool* mean);

}  // namespace capstan
