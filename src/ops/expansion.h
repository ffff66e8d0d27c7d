// Ops that programs take apart.
//
// A kernel that ends in elementwise work keeps it from being fused with what follows. Such an op says what it is made
// of: sums and the like, which stay whole, and elementwise ops, in just the order of its kernel, so that the bits are
// the same. Only programs are written in these; gradients are those of the op.
#pragma once

#include <span>
#include <vector>

#include "src/core/op_def.h"

namespace capstan {

// Computes the outputs of an op in other ops, for float32 and float64.
using Expand = void (*)(std::span<const Tensor> inputs, const void* attributes, std::vector<Tensor>& outputs);
struct Expansion {
  const OpDef* op;
  Expand expand;
};

// The families that have some.
std::span<const Expansion> batch_norm_expansions();
std::span<const Expansion> creation_expansions();

// How an op is taken apart, or null.
Expand expansion_of(const OpDef& op);

}  // namespace capstan
