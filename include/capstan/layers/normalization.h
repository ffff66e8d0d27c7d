// Normalisations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capstan/activations.h"
#include "capstan/layer.h"

namespace capstan {
namespace layers {

/// Limits of batch renormalisation; what is not given does not limit.
struct RenormClipping {
  std::optional<double> rmax = {};
  std::optional<double> rmin = {};
  std::optional<double> dmax = {};
};

/// Options of BatchNormalization.
struct BatchNormalizationOptions {
  int axis = -1;
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Initializer moving_mean_initializer = "zeros";
  Initializer moving_variance_initializer = "ones";
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  Constraint beta_constraint = {};
  Constraint gamma_constraint = {};
  bool renorm = false;
  RenormClipping renorm_clipping = {};
  double renorm_momentum = 0.99;
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = floatx();
};

/// (x - mean) / sqrt(variance + epsilon) * gamma + beta, over all axes but one.
///
/// When training, mean and variance are those of the batch (the variance divided by the count), and the moving averages
/// move: moving = moving * momentum + batch * (1 - momentum). Otherwise the moving averages are used and stay. A layer
/// that is not trainable always does the latter. Weights: gamma, beta, moving_mean, moving_variance, each [channels].
/// In bfloat16 the statistics and the normalisation are computed in float32.
///
/// With `renorm` (batch renormalisation) a training batch is moved close to what inference will see: its result is
/// scaled by r = stddev / renorm_stddev and shifted by d = (mean - renorm_mean) / renorm_stddev before gamma and beta,
/// both limited by `renorm_clipping` and without gradients; renorm_mean and renorm_stddev are averages that move with
/// `renorm_momentum`. Then moving_variance follows from an average of the standard deviation. Three more weights:
/// moving_stddev, renorm_mean, renorm_stddev. Errors: ValueError for rmax < rmin or a negative dmax.
class CAPSTAN_EXPORT BatchNormalization final : public Layer {
 public:
  explicit BatchNormalization(const BatchNormalizationOptions& options = {});
};

static_assert(detail::kAddNothing<BatchNormalization>);

}  // namespace layers
}  // namespace capstan
