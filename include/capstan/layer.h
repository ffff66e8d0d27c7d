// What a layer is: a handle that programs pass around, and the body behind it.
//
// A layer is a function of a tensor with weights of its own. `Layer` is a handle: copies of it, whenever they are
// taken, are the same layer, as with variables, so layers can be put into initializer lists and containers, are members
// of models, and are captured by value. What a layer remembers and how it computes is in its body, a class derived from
// `LayerBody`. A body is made once, inside of a handle, and is neither copied nor moved; `LayerOf<Body>` makes it.
//
// Weights are made at the first call, when the shape of the input is known, or before it by `build`. Formulas, defaults
// and names are those of Keras 3.
//
// Other ways were rejected. An object that is handle and body loses its class when it is copied as a Layer, and its
// copies have members that only a `build` of their own can fill. A body as a plain object or member would be outlived
// by handles to it, such as those in the list of sublayers; calling one or putting it into a list does not compile, and
// the message says how a layer is made. A function that makes layers would stand beside a type that members need
// anyway, and a macro that declares the handle of a body could not forward its members.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/constraints.h"
#include "capstan/dtype_policy.h"
#include "capstan/initializers.h"
#include "capstan/regularizers.h"
#include "capstan/variable.h"

namespace capstan {

class Layer;
class LayerBody;

namespace detail {
struct LayerState;
[[noreturn]] CAPSTAN_EXPORT void throw_empty_layer();
// A class of handles has constructors and functions only: stored as a Layer it loses nothing.
template <class... Handles>
inline constexpr bool kAddNothing = ((sizeof(Handles) == sizeof(std::shared_ptr<LayerBody>)) && ...);
}  // namespace detail

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

/// In configurations: none if it is not given, else a list in which null stands for a length that is open (-1). Errors:
/// ValueError for anything else, naming the option.
CAPSTAN_EXPORT void set_field(InputShape& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const InputShape& field);

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

/// A layer of any class, and a handle to it: a copy is the same layer. Layers of the library (`layers::Dense`,
/// `Sequential`, ...) and those of your own (`LayerOf`) are layers with constructors and members of their own; stored
/// as a Layer they lose nothing.
///
///     std::vector<Layer> stack = {layers::Dense(64), LayerOf<Scale>()};
///     stack.push_back(layers::Dense(5));
///     Tensor y = x;
///     for (const Layer& layer : stack) y = layer(y);
///
/// A Layer that was made without a body or moved from is an empty handle; any use of it is an error. A call belongs to
/// one thread at a time.
class CAPSTAN_EXPORT Layer {
 public:
  /// An empty handle.
  Layer() = default;
  /// A body is no layer by itself; this explains how to make one.
  template <std::derived_from<LayerBody> Body>
  Layer(const Body&) {
    static_assert(detail::kNever<Body>, "a layer of your own is made by LayerOf<Class>(arguments of the constructor)");
  }

  /// False for an empty handle.
  bool has_value() const { return body_ != nullptr; }

  /// Computes the layer's result, and makes its weights if this is the first call.
  Tensor operator()(const Tensor& x, const CallOptions& options = {}) const;

  /// Makes the weights for inputs of this shape, whose first axis is the batch (-1 if unknown), unless they are there.
  /// A layer whose class has no `build`, such as a model, is run once on zeros, which makes those of its sublayers.
  void build(const Shape& input_shape) const;

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
  /// The dtype that inputs are converted to; it differs from dtype() for a mixed policy.
  DType compute_dtype() const;

  /// The sublayers.
  const std::vector<Layer>& sublayers() const;

  /// What regularizers and add_loss contributed to the latest call: add their sum to the loss.
  std::vector<Tensor> losses() const;

 protected:
  /// The first handle of a body.
  explicit Layer(std::shared_ptr<LayerBody> body);
  /// Errors: ValueError for an empty handle.
  LayerBody& body() const {
    if (body_ == nullptr) detail::throw_empty_layer();
    return *body_;
  }

 private:
  friend class LayerBody;
  friend struct detail::LayerState;

  std::shared_ptr<LayerBody> body_;
};

/// What a layer of your own derives from. It has members, makes its weights in `build` and computes in `call`:
///
///     class Scale : public LayerBody {
///       void build(const Shape& input_shape) override {
///         factor_ = add_weight({.name = "factor", .shape = {input_shape[-1]}, .initializer = "ones"});
///       }
///       Tensor call(const Tensor& x, const CallOptions& options) override { return x * factor_; }
///
///       Variable factor_;
///     };
///     LayerOf<Scale> scale;
///     Tensor y = scale(x);
///
/// Layers that are called inside `call` become its sublayers, in the order in which they were made, that is, of the
/// members of a class: C++ does not say which of the calls in `a(x) + b(x)` comes first. The seeds of what `build`
/// draws come from that order, too.
///
/// A body cannot be copied, moved or called: that is what its handles are for.
class CAPSTAN_EXPORT LayerBody {
 public:
  /// What handles to layers of this class are.
  using Handle = Layer;

  LayerBody(const LayerBody&) = delete;
  LayerBody& operator=(const LayerBody&) = delete;
  virtual ~LayerBody();

  /// A body is called through a handle; this explains how.
  template <class X>
  void operator()(const X&, const CallOptions& = {}) const {
    static_assert(detail::kNever<X>,
                  "a layer of your own is made by LayerOf<Class> layer(arguments of the constructor)");
  }

 protected:
  explicit LayerBody(const LayerOptions& options = {});
  /// For classes of the library: the name of the class, which the handles show.
  LayerBody(const char* type_name, const LayerOptions& options);

  /// Makes the weights for inputs of this shape. It runs once, before the first call; if it throws, the weights that it
  /// made are gone, and the next call tries again. A class without weights of its own does not override it.
  virtual void build(const Shape& input_shape);
  /// The result for one input; `options.training` is resolved.
  virtual Tensor call(const Tensor& x, const CallOptions& options) = 0;

  /// Makes a weight; for use in `build`, or in a constructor.
  Variable add_weight(const WeightOptions& options);
  /// The value of a weight in compute_dtype(), for layers that follow a mixed policy.
  Tensor value_of(const Variable& weight) const;
  /// Adds a scalar to losses(); for use in `call`.
  void add_loss(Tensor loss);
  /// Makes layers sublayers before they are called, in this order, before those that calls find.
  void track(std::initializer_list<Layer> layers);

  /// A handle to this layer, for its weights, sublayers and losses; in a member it would keep the layer alive for ever.
  /// Errors: ValueError in a constructor, where there is none yet.
  Layer self() const;
  const std::string& name() const;
  bool trainable() const;
  DType dtype() const;
  DType compute_dtype() const;

 private:
  friend class Layer;
  friend struct detail::LayerState;

  std::string type_name() const;
  const std::string& resolve_name() const;
  void make_weights(const Shape& input_shape);

  std::unique_ptr<detail::LayerState> state_;
};

template <class Body>
class LayerOf;

namespace detail {
// What a handle of such a body is. In a class of its own, for LayerOf<Body> can be named inside of Body.
template <class Body>
struct HandleOf {
  static_assert(std::derived_from<Body, LayerBody>,
                "the class of a layer derives publicly from LayerBody or ModelBody");
  using type = typename Body::Handle;
};

// One handle of the same layer, whose copy is no new layer.
template <class Body, class... Arguments>
inline constexpr bool kIsCopy = std::same_as<std::tuple<std::remove_cvref_t<Arguments>...>, std::tuple<LayerOf<Body>>>;
// What a constructor of the body takes. A class without `call` gets a message of its own.
template <class Body, class... Arguments>
concept MakesLayer =
    !kIsCopy<Body, Arguments...> && (std::is_abstract_v<Body> || std::constructible_from<Body, Arguments...>);
}  // namespace detail

/// A layer of your own: makes its body from the arguments of the constructor and is a handle to it, like those of the
/// library. Members of the class are behind an arrow.
///
///     LayerOf<Scale> scale;            // Scale()
///     Layer any = scale;               // the same layer
///     auto seen = scale->calls;
///
/// A copy is the same layer, also one that was taken before the first call. Of a model (`ModelBody`) this is a Model.
template <class Body>
class LayerOf : public detail::HandleOf<Body>::type {
  using Base = typename detail::HandleOf<Body>::type;

 public:
  template <class... Arguments>
  requires detail::MakesLayer<Body, Arguments...>
  explicit(sizeof...(Arguments) != 0) LayerOf(Arguments&&... arguments)
      : Base(make(std::forward<Arguments>(arguments)...)) {}

  /// Errors: ValueError for an empty handle.
  Body* operator->() const { return static_cast<Body*>(&this->body()); }
  Body& operator*() const { return *operator->(); }

 private:
  template <class... Arguments>
  static std::shared_ptr<Body> make(Arguments&&... arguments) {
    static_assert(!std::is_abstract_v<Body>,
                  "a layer of your own overrides Tensor call(const Tensor& x, const CallOptions& options)");
    static_assert(detail::kAddNothing<Layer, LayerOf>);
    return std::make_shared<Body>(std::forward<Arguments>(arguments)...);
  }
};

}  // namespace capstan
