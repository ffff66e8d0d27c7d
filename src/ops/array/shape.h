// What other files know of the ops of shapes: those of broadcast.cc, and how to make a reshape.
#pragma once

#include <span>

#include "src/core/op_def.h"

namespace capstan {

extern const OpDef kSumLike;

// Whether an op on a tensor of as many axes is the transpose with this permutation.
bool is_transpose(const OpDef& op, const void* attributes, std::span<const int> perm);

// The op that gives the same elements in a shape without open lengths, and its attributes.
const OpDef& reshape_to(const Shape& shape, void* attributes);

// The shape rule and the kernel of ops that give the elements of their first input as they are.
void infer_first(const Call& call, OutputSpecs& outputs);
void view_first(const Call& call, std::span<Tensor> outputs);

}  // namespace capstan
