// Models: layers made of layers, which can be compiled and evaluated.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capstan/layers.h"
#include "capstan/losses.h"
#include "capstan/metrics.h"
#include "capstan/optimizers.h"

namespace capstan {

/// Options of Input.
struct InputOptions {
  std::optional<std::int64_t> batch_size = {};  ///< any unless given
  DType dtype = floatx();
  std::string name = {};
};

/// An input of a functional model: a tensor without data of its own, for examples of this shape, whose lengths of -1 are
/// open. Layers that are called on it make their weights and give such tensors; see Model. It shows zeros for a batch
/// of one. Errors: ShapeError for a length of 0 or below -1.
CAPSTAN_EXPORT Tensor Input(const InputShape& shape, const InputOptions& options = {});

namespace layers {

/// What stands for an input in the list of a model's layers; as the first layer of a Sequential it gives the shape of an
/// example. The identity.
class CAPSTAN_EXPORT InputLayer final : public Layer {
 public:
  explicit InputLayer(const InputShape& shape, const InputOptions& options = {});
};

}  // namespace layers

/// Options of Model::compile.
struct CompileOptions {
  /// Accepted, as in Keras's programs, and not used: a training loop calls its optimizer itself.
  std::optional<Optimizer> optimizer = {};
  std::optional<Loss> loss = {};
  std::vector<Metric> metrics = {};
};

/// Options of Model::evaluate.
struct EvaluateOptions {
  std::int64_t batch_size = 32;
};

/// The loss and the metrics over a whole data set, the metrics in the order of compile().
///
///     auto [loss, metrics] = model.evaluate(x, y);
struct Evaluation {
  double loss = 0;
  std::vector<std::pair<std::string, double>> metrics = {};

  /// The value of one metric, or "loss". Errors: ValueError for an unknown name.
  CAPSTAN_EXPORT double operator[](const std::string& name) const;
};

class Model;

/// What a body has beside its layer if it is that of a model. Derive from ModelBody or ModelBodyOf.
class CAPSTAN_EXPORT ModelPart {
 public:
  ModelPart(const ModelPart&) = delete;
  ModelPart& operator=(const ModelPart&) = delete;

 protected:
  explicit ModelPart(LayerBase& layer);
  virtual ~ModelPart();

 private:
  friend class Model;
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

/// A model of any class, and a handle to it, as a Layer is. Models of the library are models with constructors; one of
/// your own is a ModelOf its class, see ModelBody.
///
/// A Model that was made without a body or moved from is an empty handle; any use of it is an error.
class CAPSTAN_EXPORT Model : public Layer {
 public:
  /// An empty handle.
  Model() = default;
  /// The model that a layer is. Errors: ValueError for another layer.
  explicit Model(const Layer& layer);
  /// A functional model: what layers were called on to get from `inputs` to `outputs`, tensors or structures of them.
  /// Layers may be shared, and inputs or outputs may be those of inner layers of another model. A call takes and gives
  /// tensors in the same structures; a map of inputs may have the names of the inputs as keys.
  ///
  ///     Tensor x = Input({28, 28, 1});
  ///     Tensor h = layers::Flatten()(x);
  ///     Model model(x, layers::Dense(10)(h));
  ///     Tensor logits = model(images);
  ///
  /// Errors: ValueError for inputs that were not made by Input() or a layer, and outputs that do not depend on them by
  /// layers alone: an op between layers is not seen.
  Model(const Nest& inputs, const Nest& outputs, const std::string& name = {});

  /// The layers; those of a Sequential can be called: `model.layers()[0](x)`.
  const std::vector<Layer>& layers() const { return sublayers(); }
  /// Errors: ValueError for an unknown name, IndexError for a number out of range.
  const Layer& get_layer(const std::string& name) const;
  const Layer& get_layer(int index) const;

  /// Sets the loss and metrics of evaluate(). Metrics can be given by name.
  ///
  ///     model.compile({.optimizer = optimizer, .loss = losses::categorical_crossentropy, .metrics = {"acc"}});
  void compile(const CompileOptions& options) const;

  /// Loss and metrics of the model's predictions (not training) for examples along the first axis.
  /// Errors: ValueError before compile() or without a loss, ShapeError if x and y differ in length.
  Evaluation evaluate(const Tensor& x, const Tensor& y, const EvaluateOptions& options = {}) const;

  /// The model's results (not training) for examples along the first axis, computed in batches.
  Tensor predict(const Tensor& x, const EvaluateOptions& options = {}) const;

  /// A table of the layers with their output shapes and numbers of weights.
  std::string summary() const;

 protected:
  /// The first handle of a body.
  explicit Model(std::shared_ptr<LayerBase> body) : Layer(std::move(body)) {}

 private:
  ModelPart& part() const;
};

/// What a model of your own derives from. It has layers as members and overrides `call`:
///
///     class LinearModel : public ModelBody {
///      public:
///       Tensor call(const Tensor& x, const CallOptions& options) override { return dense(x); }
///       layers::Dense dense{1};
///     };
///     ModelOf<LinearModel> model;
///     Tensor y = model(x);
///     std::vector<Tensor> weights = model->dense.get_weights();
///
/// Its layers are those that `call` calls, from the first call on, in the order in which they were made: that of the
/// members, whatever the order of the calls. Layers made during a call follow, as they are made. `track` in the
/// constructor puts layers first, in its own order.
class CAPSTAN_EXPORT ModelBody : public LayerBody, public ModelPart {
 public:
  using Handle = Model;
  ~ModelBody() override;

 protected:
  explicit ModelBody(const LayerOptions& options = {}) : ModelBody("", options) {}
  /// For classes of the library, as in LayerBase.
  ModelBody(const char* type_name, const LayerOptions& options) : LayerBody(type_name, options), ModelPart(static_cast<LayerBase&>(*this)) {}

  /// A handle to this model. Errors: ValueError in a constructor, where there is none yet.
  Model self() const { return Model(LayerBase::self()); }
};

/// The same for a model that takes or gives several tensors: see LayerBodyOf.
template <class Signature>
class ModelBodyOf : public LayerBodyOf<Signature>, public ModelPart {
 public:
  using Handle = Model;

 protected:
  explicit ModelBodyOf(const LayerOptions& options = {}) : ModelBodyOf("", options) {}
  ModelBodyOf(const char* type_name, const LayerOptions& options)
      : LayerBodyOf<Signature>(type_name, options), ModelPart(static_cast<LayerBase&>(*this)) {}

  Model self() const { return Model(LayerBase::self()); }
};

/// A model of your own: LayerOf under a better name.
template <std::derived_from<ModelPart> Body>
using ModelOf = LayerOf<Body>;

/// Layers one after the other. If the first one has an `input_shape`, the weights are made at once, else at the first
/// call. Errors: ValueError for two layers of the same name.
///
///     Sequential model({
///         layers::Dense(64, {.activation = "relu", .input_shape = {20}}),
///         layers::Dense(5),
///     });
///     Tensor logits = model(x);
class CAPSTAN_EXPORT Sequential final : public Model {
 public:
  /// Without layers yet.
  Sequential();
  explicit Sequential(std::initializer_list<Layer> layers, const std::string& name = {});
  explicit Sequential(const std::vector<Layer>& layers, const std::string& name = {});

  /// Puts a layer at the end. Errors: ValueError for a name that is taken, for the model itself, or once it is built.
  void add(const Layer& layer) const;
};

static_assert(detail::kAddNothing<Model, Sequential>);

}  // namespace capstan
