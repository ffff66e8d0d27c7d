// How losses and metrics bring labels, predictions and weights together.
#pragma once

#include <cstdint>
#include <string_view>

#include "capstan/tensor.h"

namespace capstan::detail {

// Labels in the dtype of the predictions.
Tensor floating_labels(const Tensor& y_true, const Tensor& y_pred);

// Predictions in float32 or float64; the same tensor if it is that already.
Tensor floating_predictions(const Tensor& y_pred);

// If one rank is larger by one, and that last axis has length 1: a shorter tensor of rank 1 gets such an axis,
// otherwise the longer one loses it.
void fit_ranks(Tensor& a, Tensor& b);

// An input of a model whose inputs have this shape, whose first axis is the batch: as in Keras a last axis of length 1
// is added if the model has one, or taken off if it has none.
Tensor fit_input(const Tensor& x, const Shape& due);

// A tensor in another dtype, "labels" or what else it is. Errors: DTypeError for complex numbers, which would lose a
// part.
Tensor as_real(std::string_view what, const Tensor& x, DType dtype);

// Labels without a last axis of length 1 beside predictions of the same rank.
Tensor class_labels(const Tensor& y_true, const Tensor& y_pred);
// The same as class numbers, int32 or int64.
Tensor class_numbers(const Tensor& y_true, const Tensor& y_pred);

// Which labels count, all but those that are `ignore_class`, without a last axis of length 1 beyond this rank.
Tensor counted_labels(const Tensor& y_true, std::int64_t ignore_class, int rank);

// Weights for values of this rank: without a last axis of length 1 beyond it, or with such axes up to it. A scalar
// stays.
Tensor fit_weights(const Tensor& sample_weight, int rank);

// What a loss or a metric was given, for its errors.
struct Given {
  const char* kind;  // "loss"
  std::string_view name;
  const Tensor& y_true;
  const Tensor& y_pred;
  const Tensor& sample_weight = Tensor();
  const Tensor& mask = Tensor();
};

// Within a handler: throws the error on with the name of the loss or metric and what it was given.
[[noreturn, gnu::cold]] void rethrow_with(const Given& given);

}  // namespace capstan::detail
