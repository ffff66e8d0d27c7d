// Ops whose results are sums over the rows of an operand, for programs that take them while that operand is made.
#pragma once

#include <span>

#include "src/core/op_def.h"
#include "src/kernels/row_sums.h"

namespace capstan {

// What is done with the sums of a call: run(), or the chunks one by one and finish().
struct TakeRowSums {
  void (*take)(void* context, const RowSums& sums);
  void* context;
  void operator()(const RowSums& sums) const { take(context, sums); }
};

struct RowSumsOfOp {
  const OpDef* op;
  int input;  // the operand that is summed: float32 or float64, [..., columns]
  // Has the sums of a call taken, and computes its outputs from them.
  void (*with_sums)(const Call& call, std::span<Tensor> outputs, const TakeRowSums& take);
};

// The families that have some.
std::span<const RowSumsOfOp> batch_norm_row_sums();

// Null if the op is none of them.
const RowSumsOfOp* row_sums_of(const OpDef& op);

}  // namespace capstan
