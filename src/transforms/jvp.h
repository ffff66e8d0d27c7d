// Tangents of an op: its jvp, which nobody has to write.
//
// It follows from what is known of an op for reverse mode. The derivative of an elementwise op is diagonal, so
// its rule, applied to the tangent of an input instead of the cotangent of the output, gives the tangent of the output.
// An op that says that it is linear is applied to the tangents. For any other op the rule is transposed: as a function
// of the cotangents u of the outputs it is linear, u -> J^T u, so its own reverse pass turns the tangents t of the
// inputs into J t. What the rule computes from u alone is not needed, and a trace drops it.
//
// Everything runs through `apply`, so whoever watches can differentiate it again.
#pragma once

#include <span>
#include <vector>

#include "src/core/context.h"

namespace capstan {

// The tangents of the outputs, given those of the inputs; an empty tensor is one that is missing.
std::vector<Tensor> jvp_of(const ObservedCall& call, std::span<const Tensor> tangents);
std::vector<Tensor> jvp_of(const CustomCall& call, std::span<const Tensor> tangents);

}  // namespace capstan
