// Ops that change along which paths a gradient flows, and nothing else. Traces and control flow make them.
#pragma once

#include <span>

#include "capstan/tensor.h"
#include "src/core/op_def.h"

namespace capstan {

// What a variable holds after an assignment: the elements of the first input, the gradient of the second, which is what
// the variable held at first. A write cuts the path of gradients, and all reads of a variable count as one source.
extern const OpDef kReread;
CAPSTAN_EXPORT Tensor reread(const Tensor& value, const Tensor& begin);

// The elements and the gradient of `value`; the gradients of `others` are zeros instead of missing, because they would
// have been read on a path that was not taken. The gradient of such a path may depend on all that it reads, so the
// derivatives of the gradient, and theirs, by the others and by `in_derivatives` are zeros as well.
Tensor also_depends_on(const Tensor& value, std::span<const Tensor> others,
                       std::span<const Tensor> in_derivatives = {});

}  // namespace capstan
