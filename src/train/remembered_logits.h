// Logits that a softmax or sigmoid remembers.
//
// Cross entropies of probabilities that come straight from an activation are computed from their logits, as
// Keras does: exact where probabilities have been rounded to 0 or 1, and without the clipping. The logits are noted on
// the tensor itself (notes.h), so any op in between forgets them.
#pragma once

#include "capstan/tensor.h"

namespace capstan::detail {

inline constexpr int kSigmoidAxis = -128;  // stands for "elementwise"

// The same tensor as `probabilities`, for tapes too, which remembers `logits`. `axis` is that of the softmax (not
// negative), or kSigmoidAxis.
Tensor remember_logits(const Tensor& probabilities, const Tensor& logits, int axis);

// What remember_logits was given, or an empty tensor.
Tensor remembered_logits(const Tensor& probabilities, int axis);

}  // namespace capstan::detail
