// How losses and metrics bring labels, predictions and weights together.
#pragma once

#include "capstan/tensor.h"

namespace capstan::detail {

// Labels in the dtype of the predictions.
Tensor floating_labels(const Tensor& y_true, const Tensor& y_pred);

// Predictions in float32 or float64; the same tensor if it is that already.
Tensor floating_predictions(const Tensor& y_pred);

// If one rank is larger by one, and that last axis has length 1: a shorter tensor of rank 1 gets such an axis,
// otherwise the longer one loses it.
void fit_ranks(Tensor& a, Tensor& b);

}  // namespace capstan::detail
