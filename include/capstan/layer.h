// What a layer is: a handle that programs pass around, and its body.
//
// A layer is a function of tensors with weights of its own. `Layer` is a handle: copies of it, whenever they are
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
// the message says how a layer is made. A function that makes layers would be needed beside a type that members need
// anyway, and a macro that declares the handle of a body could not forward its members.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/config.h"
#include "capstan/constraints.h"
#include "capstan/dtype_policy.h"
#include "capstan/initializers.h"
#include "capstan/nest.h"
#include "capstan/regularizers.h"
#include "capstan/variable.h"

namespace capstan {

class Layer;
class LayerBase;
class LayerBody;
class ModelPart;

namespace detail {
class LayerCall;
struct LayerState;
[[noreturn]] CAPSTAN_EXPORT void throw_empty_layer();
// A class of handles has constructors and functions only: stored as a Layer it loses nothing.
template <class... Handles>
inline constexpr bool kAddNothing = ((sizeof(Handles) == sizeof(std::shared_ptr<LayerBase>)) && ...);
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

/// Options of a call. A layer reads what it knows of.
///
///     model(images, {.training = true});
struct CallOptions {
  Training training = {};
  /// Which steps count: for each input a boolean tensor, most often [batch, time], or nothing. Not given: what the
  /// inputs carry, see mask_of().
  Nest mask = {};
  /// Of a recurrent layer: one tensor for each state.
  Nest initial_state = {};
  /// Of an attention layer, for each pair of positions: [batch, query, value], or with the heads in between.
  Tensor attention_mask = {};
  /// Of an attention layer: no position sees those after it.
  bool use_causal_mask = false;
  /// Of an attention layer: it gives its scores, too.
  bool return_attention_scores = false;
};

/// The mask that a tensor carries: which of its steps count, as a layer that made it found, or an empty tensor. Layers
/// pass masks on; any op in between loses it. In Keras an attribute of the tensor.
///
///     Tensor h = layers::Embedding(1000, 16, {.mask_zero = true})(words);   // [batch, time, 16]
///     mask_of(h);                                                         // [batch, time], false where the word is 0
CAPSTAN_EXPORT Tensor mask_of(const Tensor& tensor);
/// The same tensor with a mask: a boolean tensor whose shape is the beginning of its own.
///
///     mask_of(with_mask(ones({2, 3}), sequence_mask(constant({1, 3}), 3)));  // bool[2, 3]
CAPSTAN_EXPORT Tensor with_mask(const Tensor& tensor, const Tensor& mask);

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
  /// The dtype of weights and results, dtype_policy() unless given; a floating input of another dtype is converted.
  /// "mixed_bfloat16" computes in bfloat16 with weights in float32.
  DTypePolicy dtype = {};
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
  template <std::derived_from<LayerBase> Body>
  Layer(const Body&) {
    static_assert(detail::kNever<Body>, "a layer of your own is made by LayerOf<Class>(arguments of the constructor)");
  }

  /// False for an empty handle.
  bool has_value() const { return body_ != nullptr; }

  /// Computes the layer's result, and makes its weights if this is the first call. Errors: ValueError for a layer that
  /// takes or gives more than one tensor; call it with a Nest then.
  Tensor operator()(const Tensor& x, const CallOptions& options = {}) const;
  /// The same for a layer that takes or gives several tensors: a list, a tuple or a map of them, as a Nest.
  ///
  ///     Tensor both = layers::Add()({a, b});
  ///     auto [y, h, c] = lstm(Nest(x)).as<std::tuple<Tensor, Tensor, Tensor>>();   // with return_state
  Nest operator()(const Nest& inputs, const CallOptions& options = {}) const;

  /// Makes the weights for inputs of this shape, whose first axis is the batch (-1 if unknown), unless they are there.
  /// A layer whose class has no `build`, such as a model, is run once on zeros, which makes those of its sublayers.
  void build(const Shape& input_shape) const;
  /// The same for several inputs, in their order.
  void build_all(const std::vector<Shape>& input_shapes) const;

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

  /// What the layer was made with, with Keras's keys. Errors: ValueError for a class without a table of options.
  AttributeValue get_config() const;
  /// Changes an option that is read at every call: the `activation` of Activation and of layers with a kernel, `rate`
  /// and `stddev` of the layers that draw noise, the `momentum` of BatchNormalization. A function that was traced goes
  /// on with what it was traced with; a model is compiled again. Errors: ValueError for any other option, since weights
  /// and shapes follow from it, and for a value that the layer could not be made with; nothing is changed then.
  ///
  ///     layers::Dense scores(10, {.activation = "softmax"});
  ///     scores.set_option("activation", "linear");  // logits, for gradients with respect to an input
  void set_option(std::string_view name, const AttributeValue& value) const;

 protected:
  /// The first handle of a body.
  explicit Layer(std::shared_ptr<LayerBase> body);
  /// Errors: ValueError for an empty handle.
  LayerBase& body() const {
    if (body_ == nullptr) detail::throw_empty_layer();
    return *body_;
  }

 private:
  friend class LayerBase;
  friend class detail::LayerCall;
  friend struct detail::LayerState;
  friend CAPSTAN_EXPORT Layer layer_from(const AttributeValue& value);
  friend CAPSTAN_EXPORT void set_field(Layer& field, const AttributeValue& value, std::string_view owner,
                                       std::string_view name);

  std::shared_ptr<LayerBase> body_;
};

/// A layer from its name, from what serialize() gave (capstan/config.h), or from what the configuration of a functional
/// model has of an op between its layers. Errors: ValueError for an unknown class, op or option.
CAPSTAN_EXPORT Layer layer_from(const AttributeValue& value);
/// The layer as Keras writes it: its class and its configuration.
///
///     serialize(layers::Dense(3)).to_json();
CAPSTAN_EXPORT AttributeValue serialize(const Layer& layer);

/// A layer in configurations: none for an empty handle, else what serialize() gives. Errors: ValueError for anything
/// else, naming the option.
CAPSTAN_EXPORT void set_field(Layer& field, const AttributeValue& value, std::string_view owner, std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const Layer& field);

/// What all bodies of layers have. Derive from LayerBody, or from LayerBodyOf for several tensors.
class CAPSTAN_EXPORT LayerBase : public Configurable {
 public:
  static constexpr std::string_view kKind = "layer", kModule = "keras.layers";
  /// What handles to layers of this class are.
  using Handle = Layer;

  ~LayerBase() override;

  /// A body is called through a handle; this explains how.
  template <class X>
  void operator()(const X&, const CallOptions& = {}) const {
    static_assert(detail::kNever<X>,
                  "a layer of your own is made by LayerOf<Class> layer(arguments of the constructor)");
  }

  // Of a class with a table of options: see ConfiguredLayer.
  const ClassInfo& class_info() const override;
  const void* options_data() const override { return nullptr; }
  virtual void* changeable_options() { return nullptr; }

 protected:
  /// The name of a class of the library, which the handles show; "" for other classes.
  LayerBase(const char* type_name, const LayerOptions& options);

  /// Makes a weight; for use in `build`, or in a constructor.
  Variable add_weight(const WeightOptions& options);
  /// The value of a weight in compute_dtype(), for layers that follow a mixed policy.
  Tensor value_of(const Variable& weight) const;
  /// Adds a scalar to losses(); for use in `call`.
  void add_loss(Tensor loss);
  /// Makes layers sublayers before they are called, in this order, before those that calls find.
  void track(std::initializer_list<Layer> layers);
  /// The same for one, with the name of the member that it is, or a path for one in a list ("blocks/dense_1"): files of
  /// Keras have its weights under that name.
  void track(const Layer& layer, std::string_view member);
  /// Makes a variable that exists a weight, as add_weight() does with a new one, at any time; once only. For bindings,
  /// whose layers get variables as attributes.
  void track(const Variable& variable);

  /// The masks of what the layer gives, for inputs with these masks, which may be nothing. Not overridden: those of the
  /// inputs if passes_masks() was called, else nothing.
  virtual Nest compute_mask(const Nest& inputs, const Nest& mask);
  /// What the layer gives has the masks of what it took; for use in a constructor.
  void passes_masks();
  /// Integers and truth values that the layer is given become compute_dtype(), as floating inputs do; for use in a
  /// constructor. Layers of the library that compute with weights do this, as Keras's.
  void converts_integers();
  /// Configurations of functional models give the tensors of a call one by one, as arguments, not as one list; for use
  /// in a constructor.
  void takes_each_tensor();

  /// Adds its value for what the layer gives to losses(), divided by the length of the batch; for use in a constructor.
  void set_activity_regularizer(const Regularizer& regularizer);

  /// The configuration; a class whose options are not all in its table overrides it.
  virtual AttributeValue get_config() const;

  /// A handle to this layer, for its weights, sublayers and losses; in a member it would keep the layer alive for ever.
  /// Errors: ValueError in a constructor, where there is none yet.
  Layer self() const;
  const std::string& name() const;
  bool trainable() const;
  DType dtype() const;
  DType compute_dtype() const;

 private:
  friend class Layer;
  friend class LayerBody;
  friend class ModelPart;
  template <class Signature>
  friend class LayerBodyOf;
  friend class detail::LayerCall;
  friend struct detail::LayerState;

  virtual void build_for(std::span<const Shape> input_shapes) = 0;
  virtual Tensor call_one(const Tensor& x, const CallOptions& options) = 0;
  virtual Nest call_any(const Nest& inputs, const CallOptions& options) = 0;

  // The class leaves `build` as it is.
  void has_no_build();
  std::string type_name() const;
  const std::string& resolve_name() const;
  void make_weights(std::span<const Shape> input_shapes);

  std::unique_ptr<detail::LayerState> state_;
};

/// What a layer of your own derives from that takes one tensor and gives one. It has members, makes its weights in
/// `build` and computes in `call`:
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
class CAPSTAN_EXPORT LayerBody : public LayerBase {
 public:
  using CallResult = Tensor;
  using CallInputs = Tensor;
  ~LayerBody() override;

 protected:
  explicit LayerBody(const LayerOptions& options = {}) : LayerBase("", options) {}
  /// For classes of the library, as in LayerBase.
  LayerBody(const char* type_name, const LayerOptions& options) : LayerBase(type_name, options) {}

  /// Makes the weights for inputs of this shape. It runs once, before the first call; if it throws, the weights that it
  /// made are gone, and the next call tries again. A class without weights of its own does not override it.
  virtual void build(const Shape& input_shape);
  /// The result for one input; `options.training` is resolved, and `options.mask` is the input's.
  virtual Tensor call(const Tensor& x, const CallOptions& options) = 0;

 private:
  void build_for(std::span<const Shape> input_shapes) final;
  Tensor call_one(const Tensor& x, const CallOptions& options) final { return call(x, options); }
  Nest call_any(const Nest& inputs, const CallOptions& options) final { return call(inputs.tensor(), options); }
};

template <class Signature>
class LayerBodyOf;

/// What a layer of your own derives from that takes or gives several tensors: any structure of them, or a Nest, whose
/// form may differ from call to call. `build` gets the shapes of all inputs, in their order.
///
///     class Gate : public LayerBodyOf<Tensor(std::pair<Tensor, Tensor>)> {
///       Tensor call(const std::pair<Tensor, Tensor>& inputs, const CallOptions&) override {
///         return inputs.first * sigmoid(inputs.second);
///       }
///     };
///     LayerOf<Gate> gate;
///     Tensor y = gate({x, z});
template <class Result, class Inputs>
class LayerBodyOf<Result(Inputs)> : public LayerBase {
 public:
  using CallResult = Result;
  using CallInputs = Inputs;

 protected:
  explicit LayerBodyOf(const LayerOptions& options = {}) : LayerBase("", options) {}
  LayerBodyOf(const char* type_name, const LayerOptions& options) : LayerBase(type_name, options) {}

  virtual void build(const std::vector<Shape>&) { this->has_no_build(); }
  virtual Result call(const Inputs& inputs, const CallOptions& options) = 0;

 private:
  void build_for(std::span<const Shape> input_shapes) final {
    build(std::vector<Shape>(input_shapes.begin(), input_shapes.end()));
  }
  Tensor call_one(const Tensor& x, const CallOptions& options) final {
    const Nest result = call_any(x, options);
    return result.tensor();
  }
  Nest call_any(const Nest& inputs, const CallOptions& options) final {
    return Nest(call(inputs.as<Inputs>(), options));
  }
};

/// The body of a class whose options are a struct with a table (capstan/config.h), from which follow their checks, the
/// configuration and the making by name. `Base` is LayerBody or another body. The class has `kName` and `kText`.
///
///     struct ScaleOptions {
///       double factor = 2;
///       std::string name = {};
///       InputShape input_shape = {};
///       bool trainable = true;
///       DTypePolicy dtype = {};
///       static std::span<const OptionField> fields() {
///         static constexpr auto all = with_layer_options<ScaleOptions>({option<&ScaleOptions::factor>("factor")});
///         return all;
///       }
///     };
///     struct ScaleBody : ConfiguredLayer<ScaleBody, ScaleOptions> {
///       using ConfiguredLayer::ConfiguredLayer;
///       static constexpr char kName[] = "Scale", kText[] = "Multiplies by a number.";
///       Tensor call(const Tensor& x, const CallOptions&) override { return x * options.factor; }
///     };
///     int main() {
///       register_class<ScaleBody>();
///       Layer scale = layer_from(AttributeValue::from_json(R"({"class_name": "Scale", "config": {"factor": 3}})"));
///     }
template <class Derived, class OptionsOf, class Base = LayerBody>
class ConfiguredLayer : public Base {
 public:
  using Options = OptionsOf;
  /// Errors: ValueError for options that are not allowed.
  explicit ConfiguredLayer(const Options& given)
      : Base(Derived::kName, {given.name, given.input_shape, given.trainable, given.dtype}), options_(given) {
    check_options(info(), &options_);
    if constexpr (requires { given.activity_regularizer; }) this->set_activity_regularizer(given.activity_regularizer);
  }

  static const ClassInfo& info() {
    static const ClassInfo info{Base::kKind,
                                Base::kModule,
                                Derived::kName,
                                Derived::kText,
                                Options::fields,
                                make_from_config<Derived>,
                                {},
                                default_options<Options>};
    return info;
  }
  const ClassInfo& class_info() const final { return info(); }
  const void* options_data() const final { return &options_; }
  void* changeable_options() final { return &options_; }

 private:
  Options options_;

 public:
  const Options& options = options_;
};

/// The table of options that has what every layer has, as Keras writes it, and then these.
template <class O, std::size_t N>
constexpr std::array<OptionField, N + 3> with_layer_options(const OptionField (&own)[N]) {
  std::array<OptionField, N + 3> all = {option<&O::name, O>("name"), option<&O::trainable, O>("trainable"),
                                        option<&O::dtype, O>("dtype")};
  for (std::size_t i = 0; i < N; ++i) all[3 + i] = own[i];
  return all;
}

template <class Body>
class LayerOf;

namespace detail {
// What a handle of such a body is. In a class of its own, for LayerOf<Body> can be named inside of Body.
template <class Body>
struct HandleOf {
  static_assert(std::derived_from<Body, LayerBase>,
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
/// library. Members of the class are reached by an arrow.
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

  /// Calls it, in the structures of its `call`.
  template <class B = Body>
  typename B::CallResult operator()(const typename B::CallInputs& inputs, const CallOptions& options = {}) const {
    if constexpr (std::same_as<typename B::CallInputs, Tensor> && std::same_as<typename B::CallResult, Tensor>) {
      return Base::operator()(inputs, options);
    } else {
      return Base::operator()(Nest(inputs), options).template as<typename B::CallResult>();
    }
  }

  /// Errors: ValueError for an empty handle.
  Body* operator->() const { return static_cast<Body*>(&this->body()); }
  Body& operator*() const { return *operator->(); }

 private:
  template <class... Arguments>
  static std::shared_ptr<Body> make(Arguments&&... arguments) {
    static_assert(!std::is_abstract_v<Body>,
                  "a layer of your own overrides Tensor call(const Tensor& x, const CallOptions& options)");
    static_assert(detail::kAddNothing<Layer, LayerOf>);
    return make_configurable<Body>(std::forward<Arguments>(arguments)...);
  }
};

}  // namespace capstan
