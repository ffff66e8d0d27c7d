#pragma once

#include <cstdint>

#include "capstan/tensor.h"

namespace capstan {

// Losses as functions of tensors of one shape, as Keras defines them: the mean (or sum) over the last axis, [..., n] to
// [...]. float32, float64, bfloat16; the two operands broadcast. Errors: DTypeError, ShapeError, IndexError for
// scalars. mean_squared_error, mean_absolute_error and huber are in `losses::` (losses.h).

/// 100 times the mean of |labels - predictions| / max(|labels|, 1e-7).
///
///     mean_absolute_percentage_error(constant({1.0, 2.0}), constant({1.5, 2.0}));  // 25
CAPSTAN_EXPORT Tensor mean_absolute_percentage_error(Operand labels, Operand predictions);
/// The mean of (log(max(predictions, 1e-7) + 1) - log(max(labels, 1e-7) + 1))^2.
///
///     mean_squared_logarithmic_error(constant({0.0, 1.0}), constant({1.0, 1.0}));  // 0.2402264
CAPSTAN_EXPORT Tensor mean_squared_logarithmic_error(Operand labels, Operand predictions);
/// The mean of max(1 - labels * predictions, 0), for labels -1 and 1.
///
///     hinge(constant({-1.0, 1.0}), constant({0.5, 2.0}));  // 0.75
CAPSTAN_EXPORT Tensor hinge(Operand labels, Operand predictions);
/// The mean of max(1 - labels * predictions, 0)^2.
///
///     squared_hinge(constant({-1.0, 1.0}), constant({0.5, 2.0}));  // 1.125
CAPSTAN_EXPORT Tensor squared_hinge(Operand labels, Operand predictions);
/// max(1 + the largest (1 - labels) * predictions - the sum of labels * predictions, 0).
///
///     categorical_hinge(constant({0.0, 1.0}), constant({0.75, 0.25}));  // 1.5
CAPSTAN_EXPORT Tensor categorical_hinge(Operand labels, Operand predictions);
/// The mean of log(cosh(predictions - labels)), without overflow.
///
///     log_cosh(constant({0.0, 0.0}), constant({1.0, 100.0}));  // 49.87032
CAPSTAN_EXPORT Tensor log_cosh(Operand labels, Operand predictions);
/// The sum of labels * log(labels / predictions), both limited to the range from 1e-7 to 1.
///
///     kl_divergence(constant({0.5, 0.5}), constant({0.25, 0.75}));  // 0.1438411
CAPSTAN_EXPORT Tensor kl_divergence(Operand labels, Operand predictions);
/// The mean of predictions - labels * log(predictions + 1e-7).
///
///     poisson_loss(constant({0.0, 1.0}), constant({1.0, 1.0}));  // 0.9999999
CAPSTAN_EXPORT Tensor poisson_loss(Operand labels, Operand predictions);
/// Minus the cosine of the angle between labels and predictions along an axis.
///
///     cosine_similarity(constant({3.0, 4.0}), constant({4.0, 3.0}));  // -0.96
CAPSTAN_EXPORT Tensor cosine_similarity(Operand labels, Operand predictions, int axis = -1);

/// Options of log_poisson_loss.
struct LogPoissonOptions {
  bool compute_full_loss = false;
};
/// exp(log_input) - log_input * targets, elementwise: the loss of counts whose mean is exp(log_input). With
/// `compute_full_loss` Stirling's approximation of log(targets!) is added where targets are above 1; it has no gradient
/// where they are 0. Errors: DTypeError, ShapeError unless the shapes are equal.
///
///     log_poisson_loss(constant({2.0}), constant({1.0}));  // [0.7182818]
CAPSTAN_EXPORT Tensor log_poisson_loss(Operand targets, Operand log_input, const LogPoissonOptions& options = {});

// --- Connectionist temporal classification (Graves, Fernandez, Gomez, Schmidhuber 2006) ---

/// Options of ctc_loss.
struct CtcOptions {
  /// logits are [time, batch, classes], else [batch, time, classes].
  bool logits_time_major = true;
  /// The class that means no label; negative numbers count from the end.
  std::int64_t blank_index = 0;
};
/// Minus the logarithm of the probability that a sequence of logits spells the labels, repeated and with blanks between
/// them: one loss per sequence, [batch].
///
/// labels [batch, length], int32 or int64, of which the first label_length [batch] count; of logits the first
/// logit_length [batch] frames count. A sequence too short for its labels has the loss infinity and the gradient 0.
/// Second derivatives exist, third ones do not. Errors: ShapeError, DTypeError, IndexError for a label that is no class
/// or is the blank, ValueError for a length out of range.
///
///     ctc_loss(constant({{1, 2}}), zeros({4, 1, 3}), constant({2}), constant({4}));  // [1.686399]
CAPSTAN_EXPORT Tensor ctc_loss(Operand labels, Operand logits, Operand label_length, Operand logit_length,
                               const CtcOptions& options = {});
/// What ctc_loss is made of, for logits [batch, time, classes]: the losses with the gradient of each for its logits,
/// softmax minus the expected number of visits.
struct CtcLoss {
  Tensor loss;
  Tensor gradient;
};
/// Errors: as ctc_loss.
///
///     Tensor logits = zeros({1, 4, 3});
///     ctc_loss_and_gradient(constant({{1, 2}}), logits, constant({2}), constant({4})).gradient;  // float32[1, 4, 3]
CAPSTAN_EXPORT CtcLoss ctc_loss_and_gradient(Operand labels, Operand logits, Operand label_length, Operand logit_length,
                                             std::int64_t blank_index = 0);
/// The derivative of that gradient along `direction`, a tensor like logits. Not differentiable.
///
///     Tensor logits = zeros({1, 4, 3}), direction = ones({1, 4, 3});
///     ctc_loss_curvature(constant({{1, 2}}), logits, constant({2}), constant({4}), direction);  // float32[1, 4, 3]
CAPSTAN_EXPORT Tensor ctc_loss_curvature(Operand labels, Operand logits, Operand label_length, Operand logit_length,
                                         Operand direction, std::int64_t blank_index = 0);

}  // namespace capstan
