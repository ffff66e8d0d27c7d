// Losses as functions: what Keras computes from labels and predictions of one shape, over the last axis.
//
// They are composites, and so are their gradients. At the kinks the choice is that of the ops they are made of: hinge
// passes the gradient where labels * predictions is exactly 1, the absolute value has the gradient 0 at 0.

#include "capstan/ops/activation.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/loss.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/axis.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

// Keras's smallest number that still counts.
constexpr double kEpsilon = 1e-7;

struct Pair {
  Tensor labels;
  Tensor predictions;
};

// Both as tensors of one dtype.
Pair pair_of(Operand labels, Operand predictions) {
  if (labels.is_literal() && !predictions.is_literal()) {
    const Tensor p = to_tensor(predictions);
    return {to_tensor(labels, p.dtype()), p};
  }
  const Tensor t = to_tensor(labels);
  return {t, predictions.is_literal() ? to_tensor(predictions, t.dtype()) : to_tensor(predictions)};
}

// These are functions of `losses::` for programs, which do not broadcast.
Tensor mean_squared_error(Operand labels, Operand predictions) {
  return with_errors_of("mean_squared_error", [&] { return reduce_mean(squared_difference(predictions, labels), -1); });
}
Tensor mean_absolute_error(Operand labels, Operand predictions) {
  return with_errors_of("mean_absolute_error", [&] { return reduce_mean(abs(subtract(predictions, labels)), -1); });
}
Tensor huber(Operand labels, Operand predictions, double delta) {
  CAPSTAN_CHECK(delta >= 0, ValueError, "huber: delta must not be negative, it is ", delta);
  return with_errors_of("huber", [&] {
    const Tensor error = subtract(predictions, labels);
    const Tensor size = abs(error);
    return reduce_mean(where(less_equal(size, delta), 0.5 * square(error), delta * size - 0.5 * delta * delta), -1);
  });
}

}  // namespace

constinit const OpDef kMeanSquaredError =
    composite<&mean_squared_error, "labels, predictions">("mean_squared_error", "The mean of squared differences.");
constinit const OpDef kMeanAbsoluteError =
    composite<&mean_absolute_error, "labels, predictions">("mean_absolute_error", "The mean of absolute differences.");
constinit const OpDef kMeanAbsolutePercentageError = composite<&mean_absolute_percentage_error, "labels, predictions">(
    "mean_absolute_percentage_error", "The mean of absolute differences in percent of the labels.");
constinit const OpDef kMeanSquaredLogarithmicError = composite<&mean_squared_logarithmic_error, "labels, predictions">(
    "mean_squared_logarithmic_error", "The mean of squared differences of logarithms.");
constinit const OpDef kHinge =
    composite<&hinge, "labels, predictions">("hinge", "The mean of max(1 - labels * predictions, 0).");
constinit const OpDef kSquaredHinge = composite<&squared_hinge, "labels, predictions">(
    "squared_hinge", "The mean of max(1 - labels * predictions, 0)^2.");
constinit const OpDef kCategoricalHinge = composite<&categorical_hinge, "labels, predictions">(
    "categorical_hinge", "The margin between the right class and the best wrong one.");
constinit const OpDef kLogCosh =
    composite<&log_cosh, "labels, predictions">("log_cosh", "The mean of log(cosh(predictions - labels)).");
constinit const OpDef kKlDivergence =
    composite<&kl_divergence, "labels, predictions">("kl_divergence", "The sum of labels * log(labels / predictions).");
constinit const OpDef kPoissonLoss = composite<&poisson_loss, "labels, predictions">(
    "poisson_loss", "The mean of predictions - labels * log(predictions).");

Tensor mean_absolute_percentage_error(Operand labels, Operand predictions) {
  return with_errors_of("mean_absolute_percentage_error", [&] {
    const auto [t, p] = pair_of(labels, predictions);
    return 100.0 * reduce_mean(abs((t - p) / maximum(abs(t), kEpsilon)), -1);
  });
}
Tensor mean_squared_logarithmic_error(Operand labels, Operand predictions) {
  return with_errors_of("mean_squared_logarithmic_error", [&] {
    return reduce_mean(squared_difference(log1p(maximum(predictions, kEpsilon)), log1p(maximum(labels, kEpsilon))), -1);
  });
}
Tensor hinge(Operand labels, Operand predictions) {
  return with_errors_of("hinge", [&] { return reduce_mean(maximum(1.0 - multiply(labels, predictions), 0.0), -1); });
}
Tensor squared_hinge(Operand labels, Operand predictions) {
  return with_errors_of("squared_hinge",
                        [&] { return reduce_mean(square(maximum(1.0 - multiply(labels, predictions), 0.0)), -1); });
}
Tensor categorical_hinge(Operand labels, Operand predictions) {
  return with_errors_of("categorical_hinge", [&] {
    const auto [t, p] = pair_of(labels, predictions);
    return maximum(reduce_max((1.0 - t) * p, -1) - reduce_sum(t * p, -1) + 1.0, 0.0);
  });
}
Tensor log_cosh(Operand labels, Operand predictions) {
  return with_errors_of("log_cosh", [&] {
    constexpr double kLog2 = 0.69314718055994530942;
    const Tensor error = subtract(predictions, labels);
    return reduce_mean(error + softplus(-2.0 * error) - kLog2, -1);
  });
}
Tensor kl_divergence(Operand labels, Operand predictions) {
  return with_errors_of("kl_divergence", [&] {
    const auto [t, p] = pair_of(labels, predictions);
    const Tensor wanted = clip_by_value(t, kEpsilon, 1.0);
    return reduce_sum(wanted * log(wanted / clip_by_value(p, kEpsilon, 1.0)), -1);
  });
}
Tensor poisson_loss(Operand labels, Operand predictions) {
  return with_errors_of("poisson_loss", [&] {
    const auto [t, p] = pair_of(labels, predictions);
    return reduce_mean(p - t * log(p + kEpsilon), -1);
  });
}

// --- Losses with attributes ---

constinit const OpDef kHuber = composite<&huber, "labels, predictions, delta", 1.0>(
    "huber", "The mean of squares of small errors and absolute values of large ones.");

constinit const OpDef kCosineSimilarity = composite<&cosine_similarity, "labels, predictions, axis", -1>(
    "cosine_similarity", "Minus the cosine of the angle between labels and predictions.");

Tensor cosine_similarity(Operand labels, Operand predictions, int axis) {
  return with_errors_of("cosine_similarity", [&] {
    const auto [t, p] = pair_of(labels, predictions);
    return -reduce_sum(l2_normalize(t, axis) * l2_normalize(p, axis), axis);
  });
}

constinit const OpDef kLogPoissonLoss = composite<&log_poisson_loss, "targets, log_input, compute_full_loss">(
    "log_poisson_loss", "The loss of counts whose mean is exp(log_input), elementwise.");

Tensor log_poisson_loss(Operand targets, Operand log_input, const LogPoissonOptions& options) {
  return with_errors_of("log_poisson_loss", [&] {
    const auto [t, x] = pair_of(targets, log_input);
    CAPSTAN_CHECK(t.shape() == x.shape(), ShapeError, "log_poisson_loss: shapes differ, ", t.shape(), " and ",
                  x.shape(), arguments({{"targets", t}, {"log_input", x}}));
    const Tensor loss = exp(x) - x * t;
    if (!options.compute_full_loss) return loss;
    const Tensor stirling = t * log(t) - t + 0.5 * log(2 * 3.14159265358979323846 * t);
    return loss + where(logical_and(greater_equal(t, 0.0), less_equal(t, 1.0)), zeros_like(t), stirling);
  });
}

CAPSTAN_OPS(loss_functions, &kMeanSquaredError, &kMeanAbsoluteError, &kMeanAbsolutePercentageError,
            &kMeanSquaredLogarithmicError, &kHinge, &kSquaredHinge, &kCategoricalHinge, &kLogCosh, &kKlDivergence,
            &kPoissonLoss, &kHuber, &kCosineSimilarity, &kLogPoissonLoss);

}  // namespace capstan
