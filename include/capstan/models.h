// Models: layers made of layers, which can be compiled and evaluated.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capstan/layers.h"
#include "capstan/losses.h"
#include "capstan/metrics.h"
#include "capstan/optimizers.h"
#include "capstan/training.h"

namespace capstan {

/// Options of Input.
struct InputOptions {
  std::optional<std::int64_t> batch_size = {};  ///< any unless given
  DType dtype = floatx();
  std::string name = {};
};

/// An input of a functional model: a tensor without data of its own, for examples of this shape, whose lengths of -1
/// are open. Layers that are called on it make their weights and give such tensors; see Model. It shows zeros for a
/// batch of one. Errors: ShapeError for a length of 0 or below -1.
///
///     Tensor images = Input({28, 28, 1}), ages = Input({1}, {.name = "age"});
CAPSTAN_EXPORT Tensor Input(const InputShape& shape, const InputOptions& options = {});
/// The shape of a value of a functional model, in which -1 is a length that is open; nothing for a tensor with data.
///
///     (*open_shape(Input({28, 28, 1})))[0];  // -1
CAPSTAN_EXPORT std::optional<Shape> open_shape(const Tensor& tensor);
/// The values that Input() gave and that these values of a functional model are computed of, each once.
///
///     Tensor x = Input({2});
///     layer_name_of(get_source_inputs(layers::Dense(1)(x))[0]);  // that of x
CAPSTAN_EXPORT std::vector<Tensor> get_source_inputs(const Nest& outputs);
/// The name of the layer that gave a value of a functional model, of an input its own; empty for a tensor with data.
///
///     layer_name_of(Input({1}, {.name = "age"}));  // "age"
CAPSTAN_EXPORT std::string layer_name_of(const Tensor& tensor);

namespace layers {

/// What stands for an input in the list of a model's layers; as the first layer of a Sequential it gives the shape of
/// an example. The identity.
class CAPSTAN_EXPORT InputLayer final : public Layer {
 public:
  explicit InputLayer(const InputShape& shape, const InputOptions& options = {});
};

}  // namespace layers

/// Options of Model::compile.
struct CompileOptions {
  /// What fit() trains with: a loop of one's own calls its optimizer itself. RMSprop unless given, as in Keras.
  std::optional<Optimizer> optimizer = {};
  LossChoice loss = {};
  LossWeights loss_weights = {};
  MetricChoice metrics = {};
  /// Those that sample weights count for.
  MetricChoice weighted_metrics = {};
  /// Steps run op by op instead of as a traced function. So does every step after one that needs values which a trace
  /// does not have (ValueNeededError), and a warning says so.
  bool run_eagerly = false;
  /// Callbacks are told of every so many steps.
  std::int64_t steps_per_execution = 1;
  /// What get_compile_config() gives of all this, for losses and metrics of another language; none: what it would give.
  std::function<std::optional<AttributeValue>()> describe = {};
};

/// Data that fit() looks at after an epoch: tensors, or batches.
struct ValidationData {
  ValidationData(const Nest& inputs, const Nest& labels, const Nest& weights = {})
      : x(inputs), y(labels), sample_weight(weights) {}
  template <class... Ts>
  ValidationData(const Dataset<Ts...>& dataset) : batches(dataset) {}
  ValidationData(const BatchSource& source) : batches(source) {}

  Nest x, y, sample_weight;
  std::optional<BatchSource> batches;
};

/// Options of Model::fit.
struct FitOptions {
  std::int64_t batch_size = 32;  ///< of tensors; a dataset has batches already
  std::int64_t epochs = 1;
  int verbose = 1;  ///< 1: a progress bar, 2: one line for each epoch, 0: nothing
  std::vector<Callback> callbacks = {};
  /// The last part of the examples is not trained on but used for validation; of tensors, before they are shuffled.
  double validation_split = 0;
  std::optional<ValidationData> validation_data = {};
  /// Another order in every epoch, drawn from the process's seed (set_seed) and the epoch; of tensors only.
  bool shuffle = true;
  /// Weights of the examples by their class.
  std::map<std::int64_t, double> class_weight = {};
  Nest sample_weight = {};
  std::int64_t initial_epoch = 0;
  std::optional<std::int64_t> steps_per_epoch = {};
  std::optional<std::int64_t> validation_steps = {};
  std::optional<std::int64_t> validation_batch_size = {};
  /// The validation runs after every so many epochs, or after those listed, which count from 1.
  std::vector<std::int64_t> validation_freq = {1};
};

/// Options of Model::evaluate and predict.
struct EvaluateOptions {
  std::int64_t batch_size = 32;
  int verbose = 0;
  Nest sample_weight = {};
  std::optional<std::int64_t> steps = {};
  std::vector<Callback> callbacks = {};
};

/// Options of Model::train_on_batch and test_on_batch.
struct OnBatchOptions {
  Nest sample_weight = {};
  std::map<std::int64_t, double> class_weight = {};
};

/// Options of Model::summary.
struct SummaryOptions {
  std::optional<int> line_length = {};  ///< 88 for a chain of layers, else 108; 12 more with `show_trainable`
  bool show_trainable = false;
  /// Also the layers within layers, below them.
  bool expand_nested = false;
  /// Where the columns end: parts of the line, or characters; as many as there are columns.
  std::vector<double> positions = {};
  /// The names of the first and the last layer that are shown; all unless given. The totals are those of the model.
  std::optional<std::pair<std::string, std::string>> layer_range = {};
};

/// Options of Model::save.
struct SaveModelOptions {
  bool overwrite = true;
  bool include_optimizer = true;  ///< what the optimizer of a compiled model has counted and kept
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

/// What a body has beside its layer if it is that of a model: the steps of training, which a class of your own may
/// override. Derive from ModelBody or ModelBodyOf.
///
///     class Autoencoder : public ModelBody {
///       StepLogs train_step(const Batch& batch) override {
///         GradientTape tape;
///         const Tensor x = batch.x.tensor();
///         const Tensor loss = reduce_mean(square(self()(x, {.training = true}) - x));
///         const auto& weights = self().trainable_variables();
///         optimizer().apply_gradients(tape.gradient(loss, weights), weights);
///         loss_.update_state(loss);
///         return {{"loss", loss_.result()}};
///       }
///       ...
///       metrics::Mean loss_;
///     };
class CAPSTAN_EXPORT ModelPart {
 public:
  ModelPart(const ModelPart&) = delete;
  ModelPart& operator=(const ModelPart&) = delete;

 protected:
  explicit ModelPart(LayerBase& layer);
  virtual ~ModelPart();

  /// One step of fit(): the loss, its gradients, the update, the metrics. Runs in a traced function.
  virtual StepLogs train_step(const Batch& batch);
  /// One step of evaluate().
  virtual StepLogs test_step(const Batch& batch);
  /// One step of predict().
  virtual Nest predict_step(const Nest& x);
  /// The loss of a batch: those that compile() was given, with their weights, and what the layers add.
  virtual Tensor compute_loss(const Batch& batch, const Nest& y_pred, Training training);
  /// Updates the metrics, and gives the values so far.
  virtual StepLogs compute_metrics(const Batch& batch, const Nest& y_pred);
  /// What the outputs are called in logs, if there are several; "output_0" and so on unless overridden.
  virtual std::vector<std::string> output_names() const;

  /// The loss and the metrics so far, those of add_metrics() included.
  StepLogs get_metrics_result() const;
  /// Metrics of a class's own: reset where epochs begin.
  void add_metrics(std::initializer_list<Metric> metrics);
  /// Errors: ValueError before compile().
  const Optimizer& optimizer() const;

 private:
  friend class Model;
  friend class Trainer;
  struct Compiled;
  Model model_handle() const;

  LayerBase& layer_;
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
  /// tensors in the same structures; a map of inputs may have the names of the inputs as keys. If the model is called
  /// with `training`, as fit() does, that is what all of its layers get, whatever they were called with, as in Keras:
  /// to keep a batch normalisation from training set its `trainable` to false.
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

  /// What a functional model was made of, in the structures in which it was given. Errors, of all three: ValueError for
  /// a model of another kind.
  Nest inputs() const;
  Nest outputs() const;
  /// What one of its layers gave where the model calls it, for a model that ends there; in Keras
  /// get_layer(name).output.
  ///
  ///     Model features(model.inputs(), model.output_of("dense_1"));
  ///
  /// Errors: ValueError for an unknown name, and for a layer that the model calls several times.
  Nest output_of(const std::string& layer_name) const;

  /// Sets the optimizer, the losses and the metrics of fit() and evaluate(), all of which can be given by name. What is
  /// not given stays as an earlier compile() set it. Steps are traced anew.
  ///
  ///     model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  ///     model.compile({.optimizer = optimizers::Adam({.learning_rate = 1e-4}), .loss = losses::Huber()});
  void compile(const CompileOptions& options) const;

  /// Trains for some epochs, and returns the loss and the metrics of each. Every step is a call of a traced function,
  /// one for full and short batches. As a loop of one's own would, to the bit: forward pass, loss, gradients of
  /// trainable_variables(), update.
  ///
  ///     History history = model.fit(x, y, {.epochs = 5, .validation_split = 0.1});
  ///     double loss = history["loss"].back();
  ///
  /// Errors: ValueError before compile() and for options that contradict each other; ShapeError for tensors with
  /// different numbers of examples; what the layers throw.
  History fit(const Nest& x, const Nest& y, const FitOptions& options = {}) const;
  /// The same with batches of a dataset or a function.
  History fit(const BatchSource& batches, const FitOptions& options = {}) const;

  /// Loss and metrics of the model's predictions (not training) for examples along the first axis.
  /// Errors: ValueError before compile() or without a loss, ShapeError if x and y differ in length.
  Evaluation evaluate(const Nest& x, const Nest& y, const EvaluateOptions& options = {}) const;
  Evaluation evaluate(const BatchSource& batches, const EvaluateOptions& options = {}) const;

  /// The model's results (not training) for examples along the first axis, computed in batches.
  Tensor predict(const Tensor& x, const EvaluateOptions& options = {}) const;
  /// The same for several inputs or outputs.
  Nest predict(const Nest& x, const EvaluateOptions& options = {}) const;
  Nest predict(const BatchSource& batches, const EvaluateOptions& options = {}) const;

  /// One step on one batch, after a reset of the metrics: the loss and the metrics.
  Logs train_on_batch(const Nest& x, const Nest& y, const OnBatchOptions& options = {}) const;
  Logs test_on_batch(const Nest& x, const Nest& y, const OnBatchOptions& options = {}) const;
  Nest predict_on_batch(const Nest& x) const;

  /// The optimizer that compile() was given. Errors: ValueError before compile().
  const Optimizer& optimizer() const;
  bool is_compiled() const;
  /// All metrics, that of the loss first.
  std::vector<Metric> metrics() const;
  void reset_metrics() const;

  /// Whether fit() is to stop: after this batch, and after the epoch.
  bool stop_training() const;
  void set_stop_training(bool stop) const;

  /// Writes the weights by the name of the file: ".safetensors", ".npz", or Keras's ".weights.h5", with the optimizer
  /// of a compiled model unless it scales the loss. Names are those of named_weights(), or Keras's: attributes, in
  /// classes of one's own, whose layers are to be given these. A file there is replaced as a whole. In capstan::io.
  /// Errors: ValueError for another ending, no weights, a complex one for Keras, a file without `overwrite`; IoError.
  ///
  ///     model.save_weights("model.safetensors");
  void save_weights(const std::string& path, bool overwrite = true) const;
  /// Takes over the weights, also those of a `.keras` archive, and the optimizer if both have one. A file that ends
  /// with ".h5" alone has weights in the order of the layers, as Keras 1 and 2 wrote them and whole models have them.
  /// With `skip_mismatch` weights of another shape or dtype, or that either side lacks, are left out with a warning.
  /// Errors, before anything is changed: IoError; ValueError for another ending, a model without weights, and weights
  /// that are missing, left over or different.
  ///
  ///     model.load_weights("model.safetensors");
  void load_weights(const std::string& path, bool skip_mismatch = false) const;

  /// Writes the whole model as a `.keras` archive, as Keras does: the configuration of its layers, what compile() was
  /// given, the weights and the optimizer. Keras loads it, and load_model() does. A class of one's own needs a table of
  /// options (ConfiguredLayer) and register_class(). What compile() was given is left out with a warning if a loss or a
  /// metric is a function of the program, which has no configuration. A file there is replaced as a whole. In
  /// capstan::io. A name that ends with ".h5" gives one file of the form that Keras had before, for a Sequential and
  /// for what functional() makes; there compile() and the optimizer go together. Errors: ValueError for another ending,
  /// a model that is not built, a class without a configuration, a file without `overwrite`; IoError.
  ///
  ///     model.save("model.keras");
  void save(const std::string& path, const SaveModelOptions& options = {}) const;

  /// What the model is made of, without weights, as Keras writes it: for model_from_json(). Errors: ValueError for a
  /// class without a configuration.
  std::string to_json() const;

  /// What compile() was given, with Keras's keys; nothing before compile(). Errors: ValueError for a loss or a metric
  /// that is a function of the program.
  AttributeValue get_compile_config() const;
  /// Compiles the model as get_compile_config() says; nothing for an empty map. Errors: ValueError for an unknown
  /// class, option or key.
  ///
  ///     AttributeValue config = model.get_compile_config();
  ///     model.compile_from_config(config);
  void compile_from_config(const AttributeValue& config) const;

  /// A table of the layers with their output shapes and numbers of weights, as Keras prints it; of a functional model
  /// that is no chain also what each layer is called on. Errors: ValueError for a line that is too short, positions
  /// that do not grow or are not one for each column, and the name of a layer that is not there.
  std::string summary(const SummaryOptions& options = {}) const;

 protected:
  /// The first handle of a body.
  explicit Model(std::shared_ptr<LayerBase> body) : Layer(std::move(body)) {}

 private:
  friend class Trainer;
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
  ModelBody(const char* type_name, const LayerOptions& options)
      : LayerBody(type_name, options), ModelPart(static_cast<LayerBase&>(*this)) {}

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

  /// Puts a layer at the end. If the shape of the input is known and the model is built, the layer is built at once;
  /// else a model that was built is built anew by its next call, and keeps the weights that it has. A model that was
  /// trained has to be compiled again. Errors: ValueError for a name that is taken, for the model itself, and for a
  /// second input; what the layer throws as it is built, and then it is not added.
  void add(const Layer& layer) const;
  /// Takes the last layer off and gives it back, with its weights. Errors: IndexError for the only layer.
  ///
  ///     Sequential network({layers::Dense(8), layers::Dense(3)});
  ///     network.pop();
  ///     network.layers().size();  // 1
  Layer pop() const;
};

static_assert(detail::kAddNothing<Model, Sequential>);

/// A model of what to_json() gave, here or in Keras, with new weights and not compiled. Errors: ValueError for a text
/// that is no JSON, for unknown classes and options, and for layers that are called in a circle.
///
///     Model copy = model_from_json(model.to_json());
CAPSTAN_EXPORT Model model_from_json(std::string_view json);

/// Options of load_model.
struct LoadModelOptions {
  /// The model is compiled as it was, and its optimizer goes on where it was.
  bool compile = true;
  /// Compiles it as the archive says, in place of compile_from_config(): for losses and metrics of another language.
  std::function<void(const Model& model, const AttributeValue& config)> compile_with = {};
};

/// Reads a `.keras` archive that Model::save() or Keras wrote, or a whole model in an `.h5` file, as save() and Keras 3
/// write them and Keras 2 wrote a Sequential; the optimizer goes on where it was if Keras 3 wrote it. Classes of one's
/// own have to be registered under the name that they were saved with. Nothing of the file is run: a Lambda is an
/// error. In capstan::io. Errors: IoError for a file that is missing, damaged or no such archive, for unknown classes
/// and options, and for weights that are not those of the configuration.
///
///     Model model = load_model("model.keras");
///     Tensor y = model.predict(x);
CAPSTAN_EXPORT Model load_model(const std::string& path, const LoadModelOptions& options = {});

}  // namespace capstan
