// The layers of the library, under the names of Keras. What a layer is, and how to write one: capstan/layer.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capstan/activations.h"
#include "capstan/layer.h"

namespace capstan {

/// Two lengths, of height and width; one number is used for both.
struct Size2D {
  Size2D(std::int64_t both) : height(both), width(both) {}
  Size2D(std::int64_t rows, std::int64_t columns) : height(rows), width(columns) {}
  std::int64_t height;
  std::int64_t width;
};

/// Layers under the names of Keras.
namespace layers {

/// Options of Dense.
struct DenseOptions {
  ActivationFunction activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = floatx();
};

/// activation(x . kernel + bias) over the last axis: [..., in] to [..., units].
/// Weights: kernel [in, units], bias [units]. Errors: ValueError for units < 1; ShapeError for an input of rank below 2
/// or with another last axis than that of the first call.
class CAPSTAN_EXPORT Dense final : public Layer {
 public:
  explicit Dense(std::int64_t units, const DenseOptions& options = {});
};

/// Options of Conv2D.
struct Conv2DOptions {
  Size2D strides = 1;
  std::string padding = "valid";  ///< or "same"
  std::string data_format = "channels_last";
  Size2D dilation_rate = 1;  ///< how far apart the elements of the kernel lie; with strides of 1 only
  std::int64_t groups = 1;   ///< runs of channels that are convolved apart
  ActivationFunction activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = floatx();
};

/// Convolution of images [batch, height, width, channels].
/// Weights: kernel [height, width, channels / groups, filters], bias [filters]. Errors: ValueError for lengths below 1,
/// an unknown padding, filters that do not divide into groups, or strides and dilations above 1 together; ShapeError
/// for an input of another rank, channels that do not divide into groups, or a kernel larger than the image.
class CAPSTAN_EXPORT Conv2D final : public Layer {
 public:
  Conv2D(std::int64_t filters, Size2D kernel_size, const Conv2DOptions& options = {});
};

/// Options of MaxPooling2D and AveragePooling2D.
struct Pooling2DOptions {
  std::optional<Size2D> strides = {};  ///< the pool's size unless given
  std::string padding = "valid";       ///< or "same"
  std::string data_format = "channels_last";
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = floatx();
};

/// The largest element of each window of an image. Errors: as Conv2D.
class CAPSTAN_EXPORT MaxPooling2D final : public Layer {
 public:
  explicit MaxPooling2D(Size2D pool_size = 2, const Pooling2DOptions& options = {});
};

/// The mean of each window of an image; cells that padding added do not count. Errors: as Conv2D.
class CAPSTAN_EXPORT AveragePooling2D final : public Layer {
 public:
  explicit AveragePooling2D(Size2D pool_size, const Pooling2DOptions& options = {});
};

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

/// Options of layers that have none of their own.
using ActivationOptions = LayerOptions;

/// Applies a function, given by name or as such.
class CAPSTAN_EXPORT Activation final : public Layer {
 public:
  explicit Activation(ActivationFunction function, const ActivationOptions& options = {});
};

/// Options of ReLU.
struct ReLUOptions {
  std::optional<double> max_value = {};
  double negative_slope = 0;
  double threshold = 0;
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = floatx();
};

/// max(x, 0); with options x from `threshold` up to `max_value`, which is not exceeded, and
/// negative_slope * (x - threshold) below. Errors: ValueError for options that are negative.
class CAPSTAN_EXPORT ReLU final : public Layer {
 public:
  explicit ReLU(const ReLUOptions& options = {});
};

/// Options of Flatten.
struct FlattenOptions {
  std::string data_format = "channels_last";
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = floatx();
};

/// [batch, ...] to [batch, everything else]; [batch] to [batch, 1].
class CAPSTAN_EXPORT Flatten final : public Layer {
 public:
  explicit Flatten(const FlattenOptions& options = {});
};

/// Options of Dropout.
struct DropoutOptions {
  /// The lengths of the mask that is drawn: -1 means the input's, 1 is broadcast.
  std::optional<Shape> noise_shape = {};
  /// With a seed the layer drops what Keras's layer with this seed drops on TensorFlow, call for call. Without one it
  /// takes the next of the process's stream, see set_seed, and is faster.
  std::optional<std::uint64_t> seed = {};
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = floatx();
};

/// When training, zeroes a fraction `rate` of the elements and scales the others by 1 / (1 - rate); otherwise the
/// identity. Every call draws anew. Errors: ValueError for a rate outside [0, 1].
class CAPSTAN_EXPORT Dropout final : public Layer {
 public:
  explicit Dropout(double rate, const DropoutOptions& options = {});
};

static_assert(detail::kAddNothing<Dense, Conv2D, MaxPooling2D, AveragePooling2D, BatchNormalization, Activation, ReLU,
                                  Flatten, Dropout>);

}  // namespace layers
}  // namespace capstan
