// Models: what compile() keeps, and the steps that fit, evaluate and predict make.
#include "capstan/models.h"

#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/tape.h"
#include "src/core/check.h"
#include "src/core/hooks.h"
#include "src/train/compiled.h"
#include "src/train/layer_state.h"

namespace capstan {

using detail::LayerState;

ModelPart::ModelPart(LayerBase& layer) : layer_(layer), compiled_(std::make_unique<Compiled>()) {
  LayerState& state = LayerState::of(layer);
  state.converts_input = false;
  state.model = this;
}

ModelPart::~ModelPart() = default;
ModelBody::~ModelBody() = default;

Model::Model(const Layer& layer) : Layer(layer) {
  CAPSTAN_CHECK(LayerState::of(layer).model != nullptr, ValueError, "model: ", layer.name(), " is a layer of class ",
                layer.type_name(), ", not a model");
}

ModelPart& Model::part() const { return *LayerState::of(*this).model; }
Model ModelPart::model_handle() const { return Model(layer_.self()); }

const Layer& Model::get_layer(const std::string& layer_name) const {
  for (const Layer& layer : layers()) {
    if (layer.name() == layer_name) return layer;
  }
  std::string known;
  for (const Layer& layer : layers()) known += (known.empty() ? "" : ", ") + layer.name();
  throw ValueError(detail::join("get_layer: ", name(), " has no layer \"", layer_name, "\"; it has ", known));
}

const Layer& Model::get_layer(int index) const {
  CAPSTAN_CHECK(index >= 0 && index < static_cast<int>(layers().size()), IndexError, "get_layer: number ", index,
                " of ", layers().size(), " layers");
  return layers()[static_cast<std::size_t>(index)];
}

// --- What compile() keeps ---

void Model::compile(const CompileOptions& options) const {
  CAPSTAN_CHECK(options.steps_per_execution >= 1, ValueError, "compile: steps_per_execution must be at least 1, not ",
                options.steps_per_execution);
  ModelPart::Compiled& compiled = *part().compiled_;
  CompileOptions merged = options;
  const CompileOptions& before = compiled.options;
  if (!merged.loss.has_value()) merged.loss = before.loss;
  if (!merged.loss_weights.has_value()) merged.loss_weights = before.loss_weights;
  if (!merged.metrics.has_value()) merged.metrics = before.metrics;
  if (!merged.weighted_metrics.has_value()) merged.weighted_metrics = before.weighted_metrics;
  if (!merged.optimizer) merged.optimizer = before.optimizer;
  if (!merged.optimizer) merged.optimizer = optimizers::RMSprop();
  compiled.options = std::move(merged);
  compiled.is_compiled = true;
  compiled.forget_traces();
}

const Optimizer& ModelPart::optimizer() const {
  CAPSTAN_CHECK(compiled_->is_compiled, ValueError, layer_.name(), ": there is no optimizer",
                help("call compile() first"));
  return *compiled_->options.optimizer;
}
const Optimizer& Model::optimizer() const { return part().optimizer(); }
bool Model::is_compiled() const { return part().compiled_->is_compiled; }

void ModelPart::add_metrics(std::initializer_list<Metric> metrics) {
  compiled_->own_metrics.insert(compiled_->own_metrics.end(), metrics);
}
std::vector<Metric> Model::metrics() const { return part().compiled_->all_metrics(); }
void Model::reset_metrics() const {
  for (const Metric& metric : metrics()) metric.reset_state();
}

bool Model::stop_training() const { return part().compiled_->stop_training; }
void Model::set_stop_training(bool stop) const { part().compiled_->stop_training = stop; }

StepLogs ModelPart::get_metrics_result() const { return compiled_->results(); }
std::vector<std::string> ModelPart::output_names() const { return {}; }

// --- Steps ---

namespace {

// The number of examples, which a trace does not take for a constant.
Tensor count_of(const Nest& nest) {
  const std::vector<Tensor> tensors = nest.tensors();
  if (tensors.empty() || tensors[0].rank() == 0) return constant(1.0f);
  return cast(shape(tensors[0])(0), floatx());
}

// Weights of examples and a mask as weights; empty if there are neither.
Tensor masked_weight(const Tensor& weight, const Tensor& y_pred) {
  const Tensor mask = mask_of(y_pred);
  if (!mask.has_value()) return weight;
  const Tensor counts = cast(mask, floatx());
  return weight.has_value() ? weight * counts : counts;
}

Tensor tensor_of(const std::vector<Tensor>& tensors, std::size_t i) {
  return i < tensors.size() ? tensors[i] : Tensor();
}

}  // namespace

Tensor ModelPart::compute_loss(const Batch& batch, const Nest& y_pred, Training) {
  Compiled& compiled = *compiled_;
  compiled.resolve(y_pred, output_names(), layer_.name());
  const std::vector<Tensor> predictions = y_pred.tensors();
  Tensor total;
  const auto add = [&](const Tensor& loss) { total = total.has_value() ? total + loss : loss; };
  for (std::size_t i = 0; i < compiled.outputs.size(); ++i) {
    const CompiledOutput& output = compiled.outputs[i];
    const Tensor labels = compiled.part_of(batch.y, i);
    if (!output.loss) continue;
    CAPSTAN_CHECK(labels.has_value(), ValueError, layer_.name(), ": there are no labels for output \"", output.name,
                  "\", which has a loss");
    // One weight serves all outputs.
    const Tensor weight =
        batch.sample_weight.is_tensor() ? batch.sample_weight.tensor() : compiled.part_of(batch.sample_weight, i);
    const Tensor loss = (*output.loss)(labels, tensor_of(predictions, i), weight, mask_of(predictions[i]));
    // As Keras: these are means of the batches, whatever their sizes; "loss" is that of the examples.
    if (compiled.outputs.size() > 1) output.loss_so_far.update_state(stop_gradient(loss));
    add(output.loss_weight == 1 ? loss : loss * output.loss_weight);
  }
  for (const Tensor& extra : model_handle().losses()) add(extra);
  CAPSTAN_CHECK(total.has_value(), ValueError, layer_.name(), ": there is no loss",
                help("give compile() one, or let a layer add_loss()"));
  return total;
}

StepLogs ModelPart::compute_metrics(const Batch& batch, const Nest& y_pred) {
  Compiled& compiled = *compiled_;
  compiled.resolve(y_pred, output_names(), layer_.name());
  const std::vector<Tensor> predictions = y_pred.tensors();
  for (std::size_t i = 0; i < compiled.outputs.size(); ++i) {
    const CompiledOutput& output = compiled.outputs[i];
    const Tensor labels = compiled.part_of(batch.y, i);
    if (!labels.has_value()) continue;
    for (const auto& [name, metric] : output.metrics) {
      metric.update_state(labels, predictions[i], masked_weight({}, predictions[i]));
    }
    const Tensor weight =
        batch.sample_weight.is_tensor() ? batch.sample_weight.tensor() : compiled.part_of(batch.sample_weight, i);
    for (const auto& [name, metric] : output.weighted_metrics) {
      metric.update_state(labels, predictions[i], masked_weight(weight, predictions[i]));
    }
  }
  return get_metrics_result();
}

StepLogs ModelPart::train_step(const Batch& batch) {
  const Model model = model_handle();
  const std::vector<Variable>& variables = model.trainable_variables();
  GradientTape tape;
  const Nest y_pred = model(batch.x, {.training = true});
  const Tensor loss = compute_loss(batch, y_pred, true);
  if (variables.empty()) {
    tape.stop();
    warn(layer_.name() + " has no trainable weights; nothing is updated");
  } else {
    const std::vector<Tensor> gradients = tape.gradient(optimizer().scale_loss(loss), variables);
    optimizer().apply_gradients(gradients, variables);
  }
  compiled_->loss.update_state(loss, count_of(y_pred));
  return compute_metrics(batch, y_pred);
}

StepLogs ModelPart::test_step(const Batch& batch) {
  const Nest y_pred = model_handle()(batch.x, {.training = false});
  compiled_->loss.update_state(compute_loss(batch, y_pred, false), count_of(y_pred));
  return compute_metrics(batch, y_pred);
}

Nest ModelPart::predict_step(const Nest& x) { return model_handle()(x, {.training = false}); }

double Evaluation::operator[](const std::string& name) const {
  if (name == "loss") return loss;
  for (const auto& [known, value] : metrics) {
    if (known == name) return value;
  }
  throw ValueError(detail::join("evaluation: there is no metric \"", name, "\""));
}

const std::vector<double>& History::operator[](const std::string& name) const {
  const auto found = history.find(name);
  CAPSTAN_CHECK(found != history.end(), ValueError, "history: there is no \"", name, "\"");
  return found->second;
}

}  // namespace capstan
