// Normalisations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "capstan/layer.h"

namespace capstan {
namespace layers {

/// Limits of batch renormalisation; what is not given does not limit.
struct RenormClipping {
  std::optional<double> rmax = {};
  std::optional<double> rmin = {};
  std::optional<double> dmax = {};
};

/// In configurations: a map of those that are given, or none. Errors: ValueError for anything else, naming the option.
CAPSTAN_EXPORT void set_field(RenormClipping& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const RenormClipping& field);

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
  bool synchronized = false;  ///< no difference: there is one device
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
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

/// Options of LayerNormalization.
struct LayerNormalizationOptions {
  Axes axis = -1;  ///< one, or several together
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  Constraint beta_constraint = {};
  Constraint gamma_constraint = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// (x - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance (divided by the count) over `axis`, of
/// each example by itself, in training and inference alike. Weights: gamma, beta, with the lengths of these axes in
/// the order of the list. In bfloat16 the arithmetic is in float32. Errors: IndexError for an axis out of range.
///
///     layers::LayerNormalization()(x);                    // over the features
///     layers::LayerNormalization({.axis = {1, 2}})(x);
class CAPSTAN_EXPORT LayerNormalization final : public Layer {
 public:
  explicit LayerNormalization(const LayerNormalizationOptions& options = {});
};

/// Options of GroupNormalization.
struct GroupNormalizationOptions {
  int axis = -1;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  Constraint beta_constraint = {};
  Constraint gamma_constraint = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Normalises as LayerNormalization does, over runs of channels and all axes between batch and channels: channel c
/// belongs to group c / (channels / groups). -1 groups make each channel one. Weights: gamma, beta [channels]. Errors:
/// ValueError for 0 groups; ShapeError for channels that do not divide into groups; IndexError for an axis out of range
/// or that of the batch.
class CAPSTAN_EXPORT GroupNormalization final : public Layer {
 public:
  explicit GroupNormalization(std::int64_t groups = 32, const GroupNormalizationOptions& options = {});
};

/// Options of RMSNormalization.
struct RMSNormalizationOptions {
  Axes axis = -1;  ///< one, or several together
  double epsilon = 1e-6;
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// x / sqrt(mean(x^2) + epsilon) * scale, with the mean over `axis`. Weights: scale, with the lengths of these axes. In
/// bfloat16 the arithmetic is in float32. Errors: IndexError for an axis out of range.
class CAPSTAN_EXPORT RMSNormalization final : public Layer {
 public:
  explicit RMSNormalization(const RMSNormalizationOptions& options = {});
};

/// Options of UnitNormalization.
struct UnitNormalizationOptions {
  Axes axis = -1;  ///< one, or several together
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// x divided by its Euclidean norm over `axis`; where that is below 1e-12, by 1e-12. Errors: IndexError for an axis out
/// of range.
class CAPSTAN_EXPORT UnitNormalization final : public Layer {
 public:
  explicit UnitNormalization(const UnitNormalizationOptions& options = {});
};

/// Options of SpectralNormalization.
struct SpectralNormalizationOptions {
  std::int64_t power_iterations = 1;
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Keeps the spectral norm of a layer's kernel near 1. A training call first divides the kernel, as a matrix
/// [everything else, last], by its largest singular value, which some steps of the power iteration estimate from where
/// the last call ended; a kernel of zeros stays. Then the layer runs. Source: Miyato et al., "Spectral normalization
/// for generative adversarial networks".
///
///     layers::SpectralNormalization critic(layers::Dense(64));
///
/// Weights: the layer's kernel or embeddings, vector_u [1, last], the layer's other weights. Errors: ValueError for a
/// layer without a kernel or embeddings, for power_iterations < 1.
class CAPSTAN_EXPORT SpectralNormalization final : public Layer {
 public:
  explicit SpectralNormalization(const Layer& layer, const SpectralNormalizationOptions& options = {});
};

static_assert(detail::kAddNothing<BatchNormalization, LayerNormalization, GroupNormalization, RMSNormalization,
                                  UnitNormalization, SpectralNormalization>);

}  // namespace layers
}  // namespace capstan
