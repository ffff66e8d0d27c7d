// The derivative of an elementwise op as an op of its own, for traces.
//
// A rule that is traced in library ops makes several nodes of it; this is one, and runs the same loop as the reverse
// pass does outside of a trace, with the same bits.
#pragma once

#include "src/core/op_def.h"

namespace capstan {

struct DerivedAttributes {
  const OpDef* op;     // what it is derived from
  std::int32_t input;  // by which input
  std::int32_t
      reads;  // bits of what the operands are: the cotangent, always, then inputs and the output, as they are read
  double parameters[5];  // the attributes of the op
};
static_assert(sizeof(DerivedAttributes) <= 64);

// Its operands are the cotangent and what the derivative reads, in the order of the bits.
extern const OpDef kDerived;

// Whether the attributes of an op have room in DerivedAttributes.
bool can_be_derived(const OpDef& op);

// The attributes for input `k` of an op with these attributes (null if it has none).
DerivedAttributes derived_attributes(const OpDef& op, int k, const void* attributes);

}  // namespace capstan
