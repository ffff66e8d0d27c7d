// Layers: functions of a tensor with weights of their own.
//
// A layer is a handle to shared state: copies share weights, name and settings, so layers can be put into initializer
// lists, are members of models, and are captured by value. Weights are made at the first call, when the shape of the
// input is known, or at once in a Sequential whose first layer has an `input_shape`. Formulas, defaults and names are
// those of Keras 3.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capstan/activations.h"
#include "capstan/constraints.h"
#include "capstan/dtype_policy.h"
#include "capstan/initializers.h"
#include "capstan/regularizers.h"
#include "capstan/variable.h"

namespace capstan {

namespace detail {
struct LayerState;
}

/// Whether a call trains: what dropout and batch normalisation ask. Not given means "as the layer around this one", and
/// at the top inference. A tape being active has no influence.
class Training {
 public:
  Training() = default;
  Training(bool training) : state_(training ? 1 : 0) {}
  bool is_given() const { return state_ >= 0; }
  operator bool() const { return state_ == 1; }

 private:
  signed char state_ = -1;
};

/// Options of a call.
///
///     model(images, {.training = true});
struct CallOptions {
  Training training = {};
  /// A boolean mask with the input's shape minus its last axis. Only BatchNormalization reads it.
  Tensor mask = {};
};

/// The shape of one example, without the batch axis.
class InputShape {
 public:
  InputShape() = default;
  InputShape(std::initializer_list<std::int64_t> dims) : shape_(dims), given_(true) {}
  InputShape(const Shape& shape) : shape_(shape), given_(true) {}
  template <detail::Integers R>
  InputShape(const R& dims) : shape_(dims), given_(true) {}
  bool is_given() const { return given_; }
  const Shape& shape() const { return shape_; }

 private:
  Shape shape_;
  bool given_ = false;
};

/// What every layer takes.
struct LayerOptions {
  /// Made from the class's name unless given: "dense", "dense_1", ... Must not contain '/'.
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  /// The dtype of weights and results; a floating input of another dtype is converted. "mixed_bfloat16" computes in
  /// bfloat16 with weights in float32.
  DTypePolicy dtype = floatx();
};

/// Options of Layer::add_weight.
struct WeightOptions {
  std::string name = "variable";
  Shape shape = {};
  Initializer initializer = "glorot_uniform";
  bool trainable = true;
  Regularizer regularizer = {};
  Constraint constraint = {};
};

/// The base of all layers and models, and a handle to any of them.
///
/// A layer of your own derives from it, makes its weights in `build` and computes in `call`:
///
///     class Scale : public Layer {
///      public:
///       void build(const Shape& input_shape) override {
///         factor_ = add_weight({.name = "factor", .shape = {input_shape[-1]}, .initializer = "ones"});
///       }
///       Tensor call(const Tensor& x, const CallOptions& options) override { return x * factor_; }
///
///      private:
///       Variable factor_;
///     };
///
/// Layers that are called inside `call` become its sublayers, in the order in which they were made, that is, of the
/// members of a class: C++ does not say which of the calls in `a(x) + b(x)` comes first. The seeds of what `build`
/// draws come from that order, too. A call belongs to one thread at a time.
///
/// A plain Layer is a handle to a layer of any class. Put layers of your own classes into a std::vector<Layer> with
/// emplace_back: push_back would copy the base only, and calling the result is an error.
class CAPSTAN_EXPORT Layer {
 public:
  explicit Layer(const LayerOptions& options = {});
  /// A handle to a layer of any class; it shares the layer's state.
  template <std::derived_from<Layer> L>
  requires(!std::same_as<L, Layer>) Layer(L layer)
      : state_(layer.state_), body_(std::make_shared<L>(std::move(layer))) {}
  Layer(const Layer&) = default;
  Layer(Layer&&) = default;
  Layer& operator=(const Layer&) = default;
  Layer& operator=(Layer&&) = default;
  virtual ~Layer();

  /// Computes the layer's result, and makes its weights if this is the first call.
  Tensor operator()(const Tensor& x, const CallOptions& options = {}) const;

  /// Makes the weights for inputs of this shape, whose first axis is the batch (-1 if unknown).
  virtual void build(const Shape& input_shape);

  /// The name, unique in the process unless given.
  const std::string& name() const;
  /// The name of the class: "Dense".
  std::string type_name() const;
  bool is_built() const;

  /// Own weights first (trainable ones before the others, in the order in which they were made), then those of the
  /// sublayers. The lists stay valid until weights or sublayers are added or `trainable` changes.
  const std::vector<Variable>& weights() const;
  const std::vector<Variable>& trainable_variables() const;
  const std::vector<Variable>& non_trainable_variables() const;

  /// Copies of all weights, in the order of weights().
  std::vector<Tensor> get_weights() const;
  /// Errors, before anything is changed: ValueError for another number of tensors, ShapeError for another shape.
  void set_weights(const std::vector<Tensor>& values) const;

  /// The number of elements of all weights. Errors: ValueError if there are none yet.
  std::int64_t count_params() const;

  bool trainable() const;
  /// Freezes or unfreezes the weights of this layer and of all sublayers.
  void set_trainable(bool trainable) const;

  /// The dtype of the weights.
  DType dtype() const;
  /// The dtype that inputs are converted to; it differs from dtype() for a mixed policy, and a layer of your own then
  /// casts the weights that it reads.
  DType compute_dtype() const;

  /// The sublayers.
  const std::vector<Layer>& sublayers() const;

  /// What regularizers and add_loss contributed to the latest call: add their sum to the loss.
  std::vector<Tensor> losses() const;

 protected:
  /// The result for one input; `options.training` is resolved. Must be overridden.
  virtual Tensor call(const Tensor& x, const CallOptions& options);

  /// Makes a weight; for use in `build`, or in a constructor.
  Variable add_weight(const WeightOptions& options);
  /// Adds a scalar to losses(); for use in `call`.
  void add_loss(Tensor loss);
  /// Makes layers sublayers before they are called, in this order, before those that calls find.
  void track(std::initializer_list<Layer> layers);
  /// Weight number i of this layer itself, in the order in which they were made.
  const Variable& own_weight(std::size_t i) const;
  /// Its value in compute_dtype().
  Tensor own_value(std::size_t i) const;

  /// For final classes of the library, at the end of their constructors: `layer` is a copy of this layer, to which
  /// plain handles that were copied from the base lead.
  void keep_class(std::shared_ptr<Layer> layer);
  /// For classes of the library: `type_name` is the class in snake case.
  Layer(const char* type_name, const LayerOptions& options);

 private:
  friend struct detail::LayerState;
  friend class Model;
  friend class Sequential;

  void ensure_built(const Shape& input_shape);
  const std::string& resolve_name() const;

  std::shared_ptr<detail::LayerState> state_;
  std::shared_ptr<Layer> body_;  // a plain Layer forwards to it
  bool built_here_ = false;      // this object has run `build`; its copies share the weights
};

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
  void build(const Shape& input_shape) override;

 protected:
  Tensor call(const Tensor& x, const CallOptions& options) override;

 private:
  std::int64_t units_;
  std::shared_ptr<const DenseOptions> options_;
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
  void build(const Shape& input_shape) override;

 protected:
  Tensor call(const Tensor& x, const CallOptions& options) override;

 private:
  std::int64_t filters_;
  Size2D kernel_size_;
  std::shared_ptr<const Conv2DOptions> options_;
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

 protected:
  Tensor call(const Tensor& x, const CallOptions& options) override;

 private:
  Size2D pool_size_;
  std::shared_ptr<const Pooling2DOptions> options_;
};

/// The mean of each window of an image; cells that padding added do not count. Errors: as Conv2D.
class CAPSTAN_EXPORT AveragePooling2D final : public Layer {
 public:
  explicit AveragePooling2D(Size2D pool_size, const Pooling2DOptions& options = {});

 protected:
  Tensor call(const Tensor& x, const CallOptions& options) override;

 private:
  Size2D pool_size_;
  std::shared_ptr<const Pooling2DOptions> options_;
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
  void build(const Shape& input_shape) override;

 protected:
  Tensor call(const Tensor& x, const CallOptions& options) override;

 private:
  struct Weights;
  Weights weights_in(DType working) const;
  Tensor normalize_batch(const Tensor& x, const Weights& weights, const Tensor& mask) const;
  Tensor renormalize_batch(const Tensor& x, const Weights& weights, const Tensor& mask) const;

  std::shared_ptr<const BatchNormalizationOptions> options_;
};

/// Options of layers that have none of their own.
using ActivationOptions = LayerOptions;

/// Applies a function, given by name or as such.
class CAPSTAN_EXPORT Activation final : public Layer {
 public:
  explicit Activation(ActivationFunction function, const ActivationOptions& options = {});

 protected:
  Tensor call(const Tensor& x, const CallOptions& options) override;

 private:
  ActivationFunction function_;
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

 protected:
  Tensor call(const Tensor& x, const CallOptions& options) override;

 private:
  std::optional<double> max_value_;
  double negative_slope_;
  double threshold_;
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

 protected:
  Tensor call(const Tensor& x, const CallOptions& options) override;

 private:
  bool channels_first_;
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

 protected:
  Tensor call(const Tensor& x, const CallOptions& options) override;

 private:
  double rate_;
  std::optional<Shape> noise_shape_;
  std::optional<std::uint64_t> seed_;
  std::shared_ptr<std::uint64_t> key_;  // changes with every draw: counts them if there is a seed; shared by the copies
};

}  // namespace layers
}  // namespace capstan
