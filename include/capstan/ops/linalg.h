#pragma once

#include <string_view>

#include "capstan/tensor.h"

namespace capstan {

struct MatmulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
};
/// Matrix product over the last two axes; the leading ones broadcast.
CAPSTAN_EXPORT Tensor matmul(Operand a, Operand b, MatmulOptions options = {});
CAPSTAN_EXPORT Tensor matvec(Operand a, Operand x, bool transpose_a = false);
CAPSTAN_EXPORT Tensor tensordot(Operand a, Operand b, int axes);
CAPSTAN_EXPORT Tensor tensordot(Operand a, Operand b, std::span<const int> axes_a, std::span<const int> axes_b);
CAPSTAN_EXPORT Tensor einsum(std::string_view equation, Operands tensors);
CAPSTAN_EXPORT Tensor norm(Operand x, Axes axis = {}, bool keepdims = false);
CAPSTAN_EXPORT Tensor l2_normalize(Operand x, Axes axis = {}, double epsilon = 1e-12);
/// The square root of the sum of all squares of all tensors; empty ones are skipped.
CAPSTAN_EXPORT Tensor global_norm(std::span<const Tensor> tensors);

CAPSTAN_EXPORT Tensor clip_by_norm(Operand x, Operand clip_norm, Axes axes = {});
struct ClippedByGlobalNorm {
  std::vector<Tensor> tensors;
  Tensor global_norm;
};
/// Missing gradients (empty tensors) pass through.
CAPSTAN_EXPORT ClippedByGlobalNorm clip_by_global_norm(std::span<const Tensor> tensors, Operand clip_norm);

}  // namespace capstan
