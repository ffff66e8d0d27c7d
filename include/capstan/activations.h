// Activation functions by name, as layers take them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "capstan/config.h"
#include "capstan/ops/activation.h"
#include "capstan/registry.h"
#include "capstan/tensor.h"

namespace capstan {

/// What a class of activation functions implements; see capstan/config.h for its options.
class CAPSTAN_EXPORT ActivationBody : public Configurable {
 public:
  static constexpr std::string_view kKind = "activation", kModule = "keras.activations";
  virtual Tensor call(Tensor x) const = 0;
};

/// What a layer does to its result: a name ("relu", "softmax", ...), a function of namespace activations, any other
/// function of a tensor, or nothing. Copies share their body. Errors: ValueError for an unknown name or option.
///
///     layers::Dense(10, {.activation = "softmax"});
///     layers::Dense(10, {.activation = {"leaky_relu", {{"negative_slope", 0.1}}}});
///     layers::Dense(10, {.activation = activations::gelu});
///     layers::Dense(10, {.activation = [](Tensor x) { return x * sigmoid(x); }});
class CAPSTAN_EXPORT ActivationFunction {
 public:
  ActivationFunction() = default;
  ActivationFunction(const char* name) : ActivationFunction(std::string_view(name)) {}
  ActivationFunction(const std::string& name) : ActivationFunction(std::string_view(name)) {}
  ActivationFunction(std::string_view name);
  /// With options under the names that the functions of namespace activations have for them.
  ActivationFunction(std::string_view name, const AttributeMap& options);
  /// A function of namespace activations is known by its name, any other is one of the program.
  ActivationFunction(Tensor (*function)(const Tensor&));
  template <class F>
  requires(!std::is_base_of_v<ActivationFunction, F> && std::is_invocable_r_v<Tensor, const F&, Tensor>)
      ActivationFunction(F function)
      : ActivationFunction(of_function(std::move(function))) {}
  explicit ActivationFunction(std::shared_ptr<const ActivationBody> body);

  /// False for "linear" and for none: the layer's result is left as it is.
  bool has_value() const { return body_ != nullptr; }
  /// "linear" for none, "function" for a function of the program.
  std::string name() const;
  Tensor operator()(Tensor x) const { return body_ ? body_->call(std::move(x)) : x; }

  /// Null for "linear" and for none.
  const std::shared_ptr<const ActivationBody>& body() const { return body_; }

 private:
  static std::shared_ptr<const ActivationBody> of_function(std::function<Tensor(Tensor)> function);

  std::shared_ptr<const ActivationBody> body_;
};

/// An activation in configurations: its name, as Keras writes it, "linear" for none; with options that are not the
/// defaults, or of a class of the program, what serialize() gives. Read are these and none. Errors: ValueError for
/// anything else, naming the option; when written, for a function of the program.
CAPSTAN_EXPORT void set_field(ActivationFunction& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const ActivationFunction& field);

/// Activation functions under the names and with the formulas of Keras, elementwise unless said otherwise: any shape,
/// a floating dtype, and the result has both. Each is also made by its name, with the options that it has here.
///
///     ActivationFunction f = "elu", g = {"elu", {{"alpha", 0.5}}};
namespace activations {

/// An activation from its name with its defaults, or from what serialize() gave; none gives nothing. Errors: ValueError
/// for an unknown name or option, or a value that does not fit, naming them.
///
///     activations::get("relu")(constant({-1.0, 3.0}));  // [0, 3]
CAPSTAN_EXPORT ActivationFunction get(const AttributeValue& value);

/// x itself.
///
///     activations::linear(constant({-1.0, 3.0}));  // [-1, 3]
CAPSTAN_EXPORT Tensor linear(const Tensor& x);
/// Options of relu.
struct ReluOptions {
  double negative_slope = 0;
  std::optional<double> max_value = {};
  double threshold = 0;
};
/// The larger of x and 0.
///
///     activations::relu(constant({-1.0, 3.0}));  // [0, 3]
CAPSTAN_EXPORT Tensor relu(const Tensor& x);
/// x from `threshold` on and `negative_slope * (x - threshold)` below it, limited to `max_value`. Errors: ValueError
/// for a negative option.
CAPSTAN_EXPORT Tensor relu(const Tensor& x, const ReluOptions& options);
/// x limited to the range from 0 to 6.
///
///     activations::relu6(constant({-1.0, 8.0}));  // [0, 6]
CAPSTAN_EXPORT Tensor relu6(const Tensor& x);
/// x where it is positive, `negative_slope * x` elsewhere; the slope is 0.2 unless given.
///
///     activations::leaky_relu(constant({-1.0, 3.0}));  // [-0.2, 3]
CAPSTAN_EXPORT Tensor leaky_relu(const Tensor& x);
CAPSTAN_EXPORT Tensor leaky_relu(const Tensor& x, double negative_slope);
/// x where it is positive, `alpha * (exp(x) - 1)` elsewhere; alpha is 1 unless given.
///
///     activations::elu(constant({-1.0, 3.0}));  // [-0.6321206, 3]
CAPSTAN_EXPORT Tensor elu(const Tensor& x);
CAPSTAN_EXPORT Tensor elu(const Tensor& x, double alpha);
/// Elu with the two constants for which activations keep mean 0 and variance 1 from layer to layer.
///
///     activations::selu(constant({-1.0, 3.0}));  // [-1.111331, 3.152103]
CAPSTAN_EXPORT Tensor selu(const Tensor& x);
/// max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0); alpha is 1 unless given.
///
///     activations::celu(constant({-1.0, 3.0}));  // [-0.6321206, 3]
CAPSTAN_EXPORT Tensor celu(const Tensor& x);
CAPSTAN_EXPORT Tensor celu(const Tensor& x, double alpha);
/// x times the probability that a normal number is below x: 0.5 x (1 + erf(x / sqrt(2))); `approximate` has a tanh
/// instead.
///
///     activations::gelu(constant({-1.0, 1.0}));  // [-0.1586553, 0.8413447]
CAPSTAN_EXPORT Tensor gelu(const Tensor& x);
CAPSTAN_EXPORT Tensor gelu(const Tensor& x, const GeluOptions& options);
/// x * sigmoid(x); "swish" is the same.
///
///     activations::silu(constant({-1.0, 1.0}));  // [-0.2689414, 0.7310586]
CAPSTAN_EXPORT Tensor silu(const Tensor& x);
/// x / 6 + 0.5 limited to the range from 0 to 1.
///
///     activations::hard_sigmoid(constant({-4.0, 1.5}));  // [0, 0.75]
CAPSTAN_EXPORT Tensor hard_sigmoid(const Tensor& x);
/// x * hard_sigmoid(x); "hard_swish" is the same.
///
///     activations::hard_silu(constant({-4.0, 1.5}));  // [0, 1.125]
CAPSTAN_EXPORT Tensor hard_silu(const Tensor& x);
/// x limited to the range from -1 to 1.
///
///     activations::hard_tanh(constant({-4.0, 0.5}));  // [-1, 0.5]
CAPSTAN_EXPORT Tensor hard_tanh(const Tensor& x);
/// log(1 + exp(x)).
///
///     activations::softplus(constant({-1.0, 1.0}));  // [0.3132617, 1.313262]
CAPSTAN_EXPORT Tensor softplus(const Tensor& x);
/// x / (1 + |x|).
///
///     activations::softsign(constant({-1.0, 3.0}));  // [-0.5, 0.75]
CAPSTAN_EXPORT Tensor softsign(const Tensor& x);
/// (x + sqrt(x^2 + b)) / 2; b is 4 unless given.
///
///     activations::squareplus(constant({-1.0, 1.0}));  // [0.618034, 1.618034]
CAPSTAN_EXPORT Tensor squareplus(const Tensor& x);
CAPSTAN_EXPORT Tensor squareplus(const Tensor& x, double b);
/// 0 up to -1, (x + 1)^2 / 4 up to 1, x from there.
///
///     activations::sparse_plus(constant({-2.0, 0.0, 3.0}));  // [0, 0.25, 3]
CAPSTAN_EXPORT Tensor sparse_plus(const Tensor& x);
/// (x + 1) / 2 limited to the range from 0 to 1.
///
///     activations::sparse_sigmoid(constant({-2.0, 0.5}));  // [0, 0.75]
CAPSTAN_EXPORT Tensor sparse_sigmoid(const Tensor& x);
/// sign(x) * max(|x| - threshold, 0); the threshold is 0.5 unless given.
///
///     activations::soft_shrink(constant({-1.0, 0.2}));  // [-0.5, 0]
CAPSTAN_EXPORT Tensor soft_shrink(const Tensor& x);
CAPSTAN_EXPORT Tensor soft_shrink(const Tensor& x, double threshold);
/// x where |x| is more than the threshold, 0 elsewhere; it is 0.5 unless given.
///
///     activations::hard_shrink(constant({-1.0, 0.2}));  // [-1, 0]
CAPSTAN_EXPORT Tensor hard_shrink(const Tensor& x);
CAPSTAN_EXPORT Tensor hard_shrink(const Tensor& x, double threshold);
/// x - tanh(x).
///
///     activations::tanh_shrink(constant({0.0, 1.0}));  // [0, 0.2384058]
CAPSTAN_EXPORT Tensor tanh_shrink(const Tensor& x);
/// The hyperbolic tangent.
///
///     activations::tanh(constant({0.0, 1.0}));  // [0, 0.7615942]
CAPSTAN_EXPORT Tensor tanh(const Tensor& x);
/// The exponential function.
///
///     activations::exponential(constant({0.0, 1.0}));  // [1, 2.718282]
CAPSTAN_EXPORT Tensor exponential(const Tensor& x);
/// x * tanh(softplus(x)).
///
///     activations::mish(constant({0.0, 1.0}));  // [0, 0.8650984]
CAPSTAN_EXPORT Tensor mish(const Tensor& x);
/// log(sigmoid(x)).
///
///     activations::log_sigmoid(constant({-100.0, 0.0}));  // [-100, -0.6931472]
CAPSTAN_EXPORT Tensor log_sigmoid(const Tensor& x);
/// Logarithms of probabilities along an axis, the last one unless given.
///
///     activations::log_softmax(constant({{0.0, 1000.0}}));  // [[-1000, 0]]
CAPSTAN_EXPORT Tensor log_softmax(const Tensor& logits);
CAPSTAN_EXPORT Tensor log_softmax(const Tensor& logits, int axis);
/// The nearest point of the simplex: probabilities along an axis of which many are 0.
///
///     activations::sparsemax(constant({{0.5, 0.75, -1.0}}));  // [[0.375, 0.625, 0]]
CAPSTAN_EXPORT Tensor sparsemax(const Tensor& x);
CAPSTAN_EXPORT Tensor sparsemax(const Tensor& x, int axis);
/// Halves an axis, the last one unless given, into a and b, and gives a * sigmoid(b). Errors: ShapeError for an odd
/// length.
///
///     activations::glu(constant({{1.0, 2.0, 0.0, 1.0}}));  // [[0.5, 1.462117]]
CAPSTAN_EXPORT Tensor glu(const Tensor& x);
CAPSTAN_EXPORT Tensor glu(const Tensor& x, int axis);
/// x where it is more than `threshold`, `default_value` elsewhere.
///
///     activations::threshold(constant({0.5, 2.0}), 1.0, -7.0);  // [-7, 2]
CAPSTAN_EXPORT Tensor threshold(const Tensor& x, double threshold, double default_value);
/// Probabilities along an axis, the last one unless given. The result remembers its logits: a cross entropy that is
/// given exactly this tensor computes from them, which is exact where the probabilities have been rounded to 0 or 1.
/// Any op in between forgets.
///
///     activations::softmax(constant({{0.0, 1.0}}));  // [[0.2689414, 0.7310586]]
CAPSTAN_EXPORT Tensor softmax(const Tensor& logits);
CAPSTAN_EXPORT Tensor softmax(const Tensor& logits, int axis);
/// 1 / (1 + exp(-x)); remembers its logits as softmax does.
///
///     activations::sigmoid(constant({{0.0, 1.0}}));  // [[0.5, 0.7310586]]
CAPSTAN_EXPORT Tensor sigmoid(const Tensor& logits);

}  // namespace activations
}  // namespace capstan
