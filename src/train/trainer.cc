#include "src/train/trainer.h"

#include <algorithm>
#include <utility>

#include "capstan/ops/array.h"
#include "capstan/ops/random.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/hooks.h"
#include "src/train/callbacks/progbar_logger.h"
#include "src/train/layer_state.h"
#include "src/train/optimizer_state.h"
#include "src/train/tensor_batches.h"

namespace capstan {

using Compiled = Trainer::Compiled;

// --- Steps ---

Compiled& Trainer::compiled(const char* what, const Model& model) {
  Compiled& compiled = state(model);
  CAPSTAN_CHECK(compiled.is_compiled, ValueError, what, ": ", model.name(), " is not compiled",
                help("call compile() first"));
  return compiled;
}

void Trainer::prepare(const Model& model, const Batch& batch, bool trains) {
  Compiled& compiled = state(model);
  const bool knows_outputs = !compiled.outputs.empty() || !compiled.compares_outputs();
  if (!model.is_built() || !knows_outputs) {
    const PauseObservers pause;
    const Nest y_pred = model(batch.x, {.training = false});
    if (compiled.is_compiled && !knows_outputs) {
      // Some metrics find out at their first update what they are.
      ModelPart& its = part(model);
      compiled.resolve(y_pred, its.output_names(), model.name());
      its.ModelPart::compute_metrics(batch, y_pred);
      model.reset_metrics();
    }
  }
  if (trains && !model.trainable_variables().empty()) compiled.options.optimizer->build(model.trainable_variables());
}

namespace {

// Runs a step as a traced function, or op by op.
template <class Step, class Given>
auto run_step(Compiled& compiled, std::optional<Function<std::function<Step>>> Compiled::*traced, const char* name,
              const std::function<Step>& step, const Given& given) {
  if (compiled.runs_eagerly) return step(given);
  auto& function = compiled.*traced;
  if (!function) function.emplace(step, FunctionOptions{.name = name, .input_signature = {}, .reduce_retracing = true});
  try {
    return (*function)(given);
  } catch (...) {
    // A trace that fails has changed nothing.
    if (context.tracer != nullptr || !is_value_needed()) throw;
  }
  warn(std::string(name) + " needs values that a trace does not have, so the steps of the model run op by op");
  compiled.runs_eagerly = true;
  return step(given);
}

}  // namespace

StepLogs Trainer::train_step(const Model& model, const Batch& batch) {
  ModelPart* const its = &part(model);
  return run_step(state(model), &Compiled::train, "train_step",
                  Compiled::Step([its](const Batch& data) { return its->train_step(data); }), batch);
}

StepLogs Trainer::test_step(const Model& model, const Batch& batch) {
  ModelPart* const its = &part(model);
  return run_step(state(model), &Compiled::test, "test_step",
                  Compiled::Step([its](const Batch& data) { return its->test_step(data); }), batch);
}

Nest Trainer::predict_step(const Model& model, const Nest& x) {
  ModelPart* const its = &part(model);
  return run_step(state(model), &Compiled::predict, "predict_step",
                  Compiled::Predict([its](const Nest& data) { return its->predict_step(data); }), x);
}

// --- Loops ---

namespace {

// Up to `most` batches of a pass; fewer at its end.
template <class Pass>
std::vector<Batch> next_batches(Pass& pass, std::int64_t most) {
  std::vector<Batch> batches;
  while (static_cast<std::int64_t>(batches.size()) < most) {
    std::optional<Batch> batch = pass();
    if (!batch) break;
    batches.push_back(std::move(*batch));
  }
  return batches;
}

Logs numbers_of(const StepLogs& logs) { return BatchLogs(logs).numbers(); }

bool is_due(std::int64_t epoch, const std::vector<std::int64_t>& frequency) {
  if (frequency.size() == 1) return (epoch + 1) % frequency[0] == 0;
  return std::find(frequency.begin(), frequency.end(), epoch + 1) != frequency.end();
}

// The batches of epochs, which are one pass over the data each; with a number of steps an epoch goes on where the last
// one stopped, and if that was at the end, from the beginning.
class EpochBatches {
 public:
  EpochBatches(const BatchSource& batches, std::optional<std::int64_t> steps) : batches_(batches), steps_(steps) {}
  void begin_epoch() {
    goes_on_ = pass_ && steps_;
    if (!goes_on_) pass_ = batches_.open();
  }
  std::optional<Batch> operator()() {
    std::optional<Batch> batch = (*pass_)();
    if (!batch && goes_on_) {
      pass_ = batches_.open();
      batch = (*pass_)();
    }
    goes_on_ = false;
    return batch;
  }
  // After the data ran out within an epoch.
  void cut_short() { pass_.reset(); }
  // Epochs that are not run. Without a number of steps their passes are opened, as an order that they draw needs it.
  void pass_over(std::int64_t epochs) {
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
      begin_epoch();
      for (std::int64_t step = 0; steps_ && step < *steps_; ++step) {
        if ((*this)()) continue;
        cut_short();
        break;
      }
    }
  }

 private:
  const BatchSource& batches_;
  const std::optional<std::int64_t> steps_;
  std::optional<BatchSource::Pass> pass_;
  bool goes_on_ = false;  // no batch was taken yet in an epoch that goes on
};

std::optional<std::int64_t> known_steps(const BatchSource& batches, std::optional<std::int64_t> steps) {
  return steps ? steps : batches.size();
}

}  // namespace

StepLogs Trainer::evaluate(const Model& model, const BatchSource& batches, std::optional<std::int64_t> steps,
                           Callbacks& callbacks) {
  const std::int64_t at_once = state(model).options.steps_per_execution;
  model.reset_metrics();
  callbacks.on_test_begin();
  const BatchSource::Pass pass = batches.open();
  StepLogs logs;
  std::int64_t step = 0;
  while (!steps || step < *steps) {
    const std::vector<Batch> data = next_batches(pass, steps ? std::min(at_once, *steps - step) : at_once);
    if (data.empty()) break;
    callbacks.on_test_batch_begin(step);
    for (const Batch& batch : data) {
      prepare(model, batch, false);
      logs = test_step(model, batch);
    }
    callbacks.on_test_batch_end(step + at_once - 1, BatchLogs(logs));
    step += static_cast<std::int64_t>(data.size());
  }
  CAPSTAN_CHECK(step > 0, ValueError, "evaluate: there are no batches");
  callbacks.on_test_end(numbers_of(logs));
  return logs;
}

Nest Trainer::predict(const Model& model, const BatchSource& batches, std::optional<std::int64_t> steps,
                      Callbacks& callbacks) {
  callbacks.on_predict_begin();
  const BatchSource::Pass pass = batches.open();
  std::vector<Nest> parts;
  for (std::int64_t step = 0; !steps || step < *steps; ++step) {
    const std::optional<Batch> batch = pass();
    if (!batch) break;
    callbacks.on_predict_batch_begin(step);
    if (!model.is_built()) prepare(model, *batch, false);
    parts.push_back(predict_step(model, batch->x));
    callbacks.on_predict_batch_end(step, parts.back());
  }
  CAPSTAN_CHECK(!parts.empty(), ValueError, "predict: there are no batches");
  callbacks.on_predict_end();
  if (parts.size() == 1) return parts[0];
  std::vector<std::vector<Tensor>> lists;
  for (const Nest& part : parts) lists.push_back(part.tensors());
  Nest result = parts[0];
  std::size_t i = 0;
  detail::replace_tensors(result, [&](Tensor& tensor) {
    std::vector<Tensor> pieces;
    for (const std::vector<Tensor>& list : lists) pieces.push_back(list.at(i));
    tensor = concat(pieces, 0);
    ++i;
  });
  return result;
}

void Trainer::begin_at(const Model& model, std::int64_t epoch, std::int64_t batch, std::function<void()> when_there) {
  CAPSTAN_CHECK(epoch >= 0 && batch >= 0, ValueError, "begin_at: epoch ", epoch, " and batch ", batch,
                " must not be negative");
  state(model).start = {epoch, batch, std::move(when_there)};
}

History Trainer::fit(const Model& model, const BatchSource& batches, const FitOptions& options) {
  Compiled& its = compiled("fit", model);
  CAPSTAN_CHECK(options.epochs >= 0, ValueError, "fit: epochs must not be negative, but is ", options.epochs);
  for (const std::int64_t frequency : options.validation_freq) {
    CAPSTAN_CHECK(frequency >= 1, ValueError, "fit: validation_freq must be at least 1, not ", frequency);
  }
  const std::optional<std::int64_t> steps = options.steps_per_epoch;
  CAPSTAN_CHECK(!steps || *steps >= 1, ValueError, "fit: steps_per_epoch must be at least 1, not ", *steps);
  std::optional<BatchSource> validation;
  if (options.validation_data) {
    const ValidationData& data = *options.validation_data;
    validation = data.batches ? *data.batches
                              : detail::tensor_batches("fit: validation_data", {data.x, data.y, data.sample_weight},
                                                       options.validation_batch_size.value_or(options.batch_size), {});
  }
  History history;
  Callbacks callbacks(detail::with_progress(options.callbacks, options.verbose), model,
                      {.epochs = options.epochs, .steps = known_steps(batches, steps), .verbose = options.verbose});
  model.set_stop_training(false);
  its.start.reset();
  callbacks.on_train_begin();
  EpochBatches pass(batches, steps);
  Logs epoch_logs;
  bool is_prepared = false;
  std::optional<Compiled::Start> start = std::exchange(its.start, std::nullopt);
  const std::int64_t first_epoch = start ? std::max(options.initial_epoch, start->epoch) : options.initial_epoch;
  pass.pass_over(first_epoch - options.initial_epoch);
  if (start && start->batch == 0) {
    if (start->when_there) start->when_there();
    start.reset();
  }
  for (std::int64_t epoch = first_epoch; epoch < options.epochs && !model.stop_training(); ++epoch) {
    model.reset_metrics();
    callbacks.on_epoch_begin(epoch);
    pass.begin_epoch();
    StepLogs logs;
    std::int64_t step = 0;
    const std::int64_t at_once = its.options.steps_per_execution;
    if (start) {
      for (; step < start->batch; ++step) {
        const std::optional<Batch> batch = pass();
        if (!batch) break;
        if (is_prepared) continue;
        is_prepared = true;
        prepare(model, detail::with_class_weights(*batch, options.class_weight), true);
      }
      if (start->when_there) start->when_there();
      start.reset();
      // If the epoch was cut off after its last batch, these are its values.
      logs = part(model).get_metrics_result();
    }
    while (!steps || step < *steps) {
      const std::vector<Batch> data = next_batches(pass, steps ? std::min(at_once, *steps - step) : at_once);
      if (data.empty()) {
        pass.cut_short();
        if (steps) {
          warn(detail::join("fit: the data ran out after ", step, " of ", *steps, " steps; the epoch is cut short"));
        }
        break;
      }
      check_interrupt();
      callbacks.on_train_batch_begin(step);
      for (const Batch& batch : data) {
        const Batch weighted = detail::with_class_weights(batch, options.class_weight);
        if (!std::exchange(is_prepared, true)) prepare(model, weighted, true);
        logs = train_step(model, weighted);
      }
      callbacks.on_train_batch_end(step + at_once - 1, BatchLogs(logs));
      step += static_cast<std::int64_t>(data.size());
      if (model.stop_training()) break;
    }
    CAPSTAN_CHECK(step > 0, ValueError, "fit: there are no batches in epoch ", epoch);
    epoch_logs = numbers_of(logs);
    if (validation && is_due(epoch, options.validation_freq)) {
      for (const auto& [name, value] : numbers_of(evaluate(model, *validation, options.validation_steps, callbacks))) {
        epoch_logs["val_" + name] = value;
      }
    }
    callbacks.on_epoch_end(epoch, epoch_logs);
    history.epoch.push_back(epoch);
    for (const auto& [name, value] : epoch_logs) history.history[name].push_back(value);
  }
  const Optimizer& optimizer = *its.options.optimizer;
  // One that was restored after its last step has not seen its variables yet.
  if (!detail::OptimizerState::of(optimizer).updating().restored_slots.empty()) {
    optimizer.build(model.trainable_variables());
  }
  optimizer.finalize_variable_values();
  callbacks.on_train_end(epoch_logs);
  return history;
}

// --- The functions of Model ---

namespace {

std::uint64_t order_seed() { return next_seed(); }

Evaluation evaluation_of(const Compiled& compiled, const StepLogs& logs) {
  Evaluation result;
  Logs numbers = numbers_of(logs);
  result.loss = numbers["loss"];
  numbers.erase("loss");
  const auto take = [&](const std::string& name) {
    const auto found = numbers.find(name);
    if (found == numbers.end()) return;
    result.metrics.emplace_back(*found);
    numbers.erase(found);
  };
  for (const CompiledOutput& output : compiled.outputs) take(output.name + "_loss");
  for (const CompiledOutput& output : compiled.outputs) {
    for (const auto& [name, metric] : output.metrics) take(name);
  }
  for (const CompiledOutput& output : compiled.outputs) {
    for (const auto& [name, metric] : output.weighted_metrics) take(name);
  }
  for (const auto& rest : numbers) result.metrics.emplace_back(rest);
  return result;
}

}  // namespace

History Model::fit(const Nest& x, const Nest& y, const FitOptions& given) const {
  FitOptions options = given;
  Batch data{x, y, options.sample_weight};
  const std::int64_t count = detail::count_examples("fit", data);
  CAPSTAN_CHECK(options.validation_split >= 0 && options.validation_split < 1, ValueError,
                "fit: validation_split must be at least 0 and less than 1, not ", options.validation_split);
  if (options.validation_split > 0 && !options.validation_data) {
    const auto split = static_cast<std::int64_t>(static_cast<double>(count) * (1 - options.validation_split));
    CAPSTAN_CHECK(split > 0 && split < count, ValueError, "fit: validation_split ", options.validation_split, " of ",
                  count, " examples leaves ", split, " to train on and ", count - split, " for the validation");
    const Batch rest = detail::examples(data, split, count);
    options.validation_data.emplace(rest.x, rest.y, rest.sample_weight);
    data = detail::examples(data, 0, split);
  }
  const Seed seed = options.shuffle ? std::optional(order_seed()) : std::nullopt;
  return Trainer::fit(*this, detail::tensor_batches("fit", data, options.batch_size, seed), options);
}

History Model::fit(const BatchSource& batches, const FitOptions& options) const {
  CAPSTAN_CHECK(options.validation_split == 0, ValueError,
                "fit: validation_split is for tensors; give validation_data beside batches");
  CAPSTAN_CHECK(!options.sample_weight.has_value(), ValueError,
                "fit: batches have sample weights of their own: (x, y, sample_weight)");
  return Trainer::fit(*this, batches, options);
}

Evaluation Model::evaluate(const Nest& x, const Nest& y, const EvaluateOptions& options) const {
  Trainer::compiled("evaluate", *this);
  return evaluate(detail::tensor_batches("evaluate", {x, y, options.sample_weight}, options.batch_size, {}), options);
}

Evaluation Model::evaluate(const BatchSource& batches, const EvaluateOptions& options) const {
  Compiled& compiled = Trainer::compiled("evaluate", *this);
  Callbacks callbacks(detail::with_progress(options.callbacks, options.verbose), *this,
                      {.epochs = 1, .steps = known_steps(batches, options.steps), .verbose = options.verbose});
  const StepLogs logs = Trainer::evaluate(*this, batches, options.steps, callbacks);
  return evaluation_of(compiled, logs);
}

Tensor Model::predict(const Tensor& x, const EvaluateOptions& options) const {
  return predict(Nest(x), options).tensor();
}

Nest Model::predict(const Nest& x, const EvaluateOptions& options) const {
  return predict(detail::tensor_batches("predict", {x, {}, {}}, options.batch_size, {}), options);
}

Nest Model::predict(const BatchSource& batches, const EvaluateOptions& options) const {
  Callbacks callbacks(detail::with_progress(options.callbacks, options.verbose), *this,
                      {.epochs = 1, .steps = known_steps(batches, options.steps), .verbose = options.verbose});
  return Trainer::predict(*this, batches, options.steps, callbacks);
}

Logs Model::train_on_batch(const Nest& x, const Nest& y, const OnBatchOptions& options) const {
  Trainer::compiled("train_on_batch", *this);
  const Batch batch = detail::with_class_weights({x, y, options.sample_weight}, options.class_weight);
  Trainer::prepare(*this, batch, true);
  reset_metrics();
  return numbers_of(Trainer::train_step(*this, batch));
}

Logs Model::test_on_batch(const Nest& x, const Nest& y, const OnBatchOptions& options) const {
  Trainer::compiled("test_on_batch", *this);
  const Batch batch = detail::with_class_weights({x, y, options.sample_weight}, options.class_weight);
  Trainer::prepare(*this, batch, false);
  reset_metrics();
  return numbers_of(Trainer::test_step(*this, batch));
}

Nest Model::predict_on_batch(const Nest& x) const {
  if (!is_built()) Trainer::prepare(*this, {x, {}, {}}, false);
  return Trainer::predict_step(*this, x);
}

}  // namespace capstan
