// The derivative of an elementwise op as an op of its own, for traces.
//
// A rule that is traced in library ops makes several nodes of it; this is one, and runs the same loop as the reverse
// pass does outside of a trace, with the same bits.
#pragma once

#include <cstdint>
#include <vector>

#include "src/core/apply.h"
#include "src/core/op_def.h"

namespace capstan {

// What stands for a tensor of which only shape and dtype are read: a symbolic one stands for itself.
inline Tensor stand_in(const Tensor& like) { return is_symbolic(like.block()) ? like : shape_only(like); }

// Whether there is such an op for this one: its attributes must have room in those of the derivative.
bool can_be_derived(const OpDef& op);

// Whether this is it: operand 0 is the cotangent, in which it is linear, and the result has its shape.
CAPSTAN_EXPORT bool is_derived(const OpDef& op);

// What such a node is the derivative of.
struct DerivedFrom {
  const OpDef* op;
  const void* attributes;
};
CAPSTAN_EXPORT DerivedFrom derived_from(const void* attributes);

// The same in library ops, whatever they are given: the operands are the cotangent and what the derivative reads.
// Throws ValueError for an op that has none for this input, and for another number of operands.
CAPSTAN_EXPORT Tensor derive_by_rule(const OpDef& op, std::int64_t k, const void* attributes,
                                     std::vector<Tensor> operands);

// The cotangent of input `k`, given that of the output and what a record has saved of inputs and output. `attributes`
// are the op's.
Tensor apply_derived(const OpDef& op, int k, const void* attributes, const Tensor& cotangent,
                     detail::Block* const* inputs, detail::Block* output);

}  // namespace capstan
