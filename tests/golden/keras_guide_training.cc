// Trainings of Keras's guides: callbacks in fit(), loops by hand, steps of one's own, transfer learning.
#include <algorithm>
#include <cstdio>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <regex>
#include <sstream>

#include "capstan/checkpoint_callbacks.h"
#include "capstan/tensorboard.h"
#include "tests/golden/keras_guides.h"
#include "tests/support/event_reader.h"

namespace capstan::testing {

namespace {

double guide_tolerance(const Json& one) { return one.value("tolerance", 1e-4); }
Tolerance both(double tolerance) { return {tolerance, tolerance}; }

Nest validation_part(const Json& one, const char* name) {
  return one.contains(name) ? nest_from_json(one[name]) : Nest();
}

// Notes the epochs, and the weights at the end of each.
struct Look : CallbackBody {
  void on_epoch_begin(std::int64_t epoch) override { epochs.push_back(epoch); }
  void on_epoch_end(std::int64_t, Logs&) override { weights.push_back(model().get_weights()); }
  std::vector<std::int64_t> epochs;
  std::vector<std::vector<Tensor>> weights;
};

// The folder of a test is DIR in the file.
std::string in_folder(const std::string& path, const std::string& folder) {
  return path.starts_with("DIR") ? folder + path.substr(3) : path;
}

std::string without_folder(std::string text, const std::string& folder) {
  for (std::size_t at = 0; (at = text.find(folder, at)) != std::string::npos;) text.replace(at, folder.size(), "DIR");
  return text;
}

// Of numbers with five decimals the first ones: float32 does not have all of them.
std::string with_digits(const std::string& text, int digits) {
  static const std::regex number(R"((\d+\.\d{5}))");
  std::string result;
  std::smatch match;
  for (std::string rest = text;; rest = match.suffix()) {
    if (!std::regex_search(rest, match, number)) return result + rest;
    char shown[32];
    std::snprintf(shown, sizeof shown, "%.*f", digits, std::stod(match[1]));
    result += std::string(match.prefix()) + shown;
  }
}

Callback callback_of(const Json& json, const std::string& folder) {
  const std::string type = json.at("class");
  const Json& options = json.at("options");
  if (type == "LearningRateScheduler") {
    EXPECT_EQ(json.at("schedule"), "(epoch, rate) -> rate if epoch < 2, else rate/2");
    return callbacks::LearningRateScheduler([](std::int64_t epoch, double rate) { return epoch < 2 ? rate : rate / 2; },
                                            options.value("verbose", 0));
  }
  if (type == "TerminateOnNaN") return callbacks::TerminateOnNaN(options.value("raise_error", false));
  if (type == "BackupAndRestore") throw Lacking{"the callback writes a file of its own form"};
  if (type == "ModelCheckpoint") {
    callbacks::ModelCheckpointOptions given{.monitor = options.value("monitor", "val_loss"),
                                            .verbose = options.value("verbose", 0),
                                            .save_best_only = options.value("save_best_only", false),
                                            .save_weights_only = options.value("save_weights_only", false)};
    if (options.contains("save_freq")) given.save_freq = options["save_freq"].get<std::int64_t>();
    return callbacks::ModelCheckpoint(in_folder(options.at("filepath"), folder), given);
  }
  if (type == "TensorBoard") {
    callbacks::TensorBoardOptions given{.histogram_freq = options.value("histogram_freq", 0),
                                        .write_graph = options.at("write_graph")};
    if (options.contains("update_freq")) {
      throw Lacking{"Keras loses the values of an epoch that ends between two batches that are logged"};
    }
    return callbacks::TensorBoard(in_folder(options.at("log_dir"), folder), given);
  }
  if (type == "CSVLogger") {
    EXPECT_EQ(options.at("filename"), "DIR/log.csv");
    return callbacks::CSVLogger(folder + "/log.csv");
  }
  const Json value = {{"class_name", type}, {"config", options}};
  return Callback(
      std::static_pointer_cast<CallbackBody>(deserialize("callback", AttributeValue::from_json(value.dump()))));
}

// Float32 values are printed with the digits of a float64 there and with as few as needed here, so numbers count.
void expect_csv(const Json& one, const std::string& path) {
  std::stringstream stream;
  stream << std::ifstream(path, std::ios::binary).rdbuf();
  std::string text = stream.str();
  const std::string line_end = one.at("line_end");
  Json rows = Json::array();
  for (std::size_t end = 0; (end = text.find(line_end)) != std::string::npos; text.erase(0, end + line_end.size())) {
    std::stringstream line(text.substr(0, end));
    Json cells = Json::array();
    for (std::string cell; std::getline(line, cell, ',');) cells.push_back(cell);
    rows.push_back(cells);
  }
  EXPECT_TRUE(text.empty());
  ASSERT_EQ(rows.size(), one.at("csv_rows").size() + 1);
  EXPECT_EQ(rows[0], one.at("csv_header"));
  for (std::size_t r = 1; r < rows.size(); ++r) {
    const Json& want = one["csv_rows"][r - 1];
    ASSERT_EQ(rows[r].size(), want.size());
    for (std::size_t c = 0; c < want.size(); ++c) {
      const std::string cell = rows[r][c];
      if (want[c].is_string()) {
        EXPECT_EQ(cell, want[c].get<std::string>());
      } else {
        EXPECT_NEAR(std::stod(cell), want[c].get<double>(), guide_tolerance(one)) << "row " << r << ", cell " << c;
      }
    }
  }
}

// The files that are there, and the weights in them, which the model takes.
void expect_files(const Json& one, const std::filesystem::path& folder, const Model& model) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    ASSERT_TRUE(one.at("files").contains(name)) << name;
    const Json& want = one["files"][name];
    model.load_weights(entry.path().string());
    const std::vector<Tensor> got = model.get_weights();
    ASSERT_EQ(got.size(), want.size()) << name;
    for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], want[i], name, both(guide_tolerance(one)));
    ++count;
  }
  EXPECT_EQ(count, one.at("files").size());
}

// What TensorBoard wrote, in the order of each log.
void expect_events(const Json& one, const std::filesystem::path& folder) {
  std::map<std::string, std::vector<Json>> want;
  for (const Json& event : one.at("events")) want[event.at("writer")].push_back(event);
  for (const auto& [writer, events] : want) {
    const std::vector<SteppedValue> got = values_of(log_in((folder / writer).string()));
    ASSERT_EQ(got.size(), events.size()) << writer;
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].tag, events[i].at("tag").get<std::string>());
      EXPECT_EQ(got[i].plugin, events[i].at("plugin").get<std::string>());
      EXPECT_EQ(got[i].step, events[i].at("step").get<std::int64_t>()) << got[i].tag;
      if (events[i].contains("value")) {
        expect_numbers(got[i].numbers, Json::array({events[i]["value"]}), std::max(1e-6, guide_tolerance(one)),
                       got[i].tag);
      }
      if (events[i].contains("shape")) {
        EXPECT_EQ(got[i].shape, events[i]["shape"].get<std::vector<std::int64_t>>());
      }
    }
  }
}

// What an EarlyStopping tells, and what follows from it: the best value, and how many epochs ago it was.
void expect_state(const Json& one, const Callback& callback, const History& history) {
  const Json& state = one.at("callback_state");
  const auto& stopping = static_cast<const callbacks::EarlyStopping&>(callback);
  EXPECT_EQ(stopping.stopped_epoch(), state.at("stopped_epoch").get<std::int64_t>());
  EXPECT_EQ(stopping.best_epoch(), state.at("best_epoch").get<std::int64_t>());
  const std::vector<double>& values = history[one.at("callback").at("options").at("monitor").get<std::string>()];
  EXPECT_NEAR(values.at(static_cast<std::size_t>(stopping.best_epoch())), state.at("best").get<double>(),
              guide_tolerance(one));
  EXPECT_EQ(history.epoch.back() - stopping.best_epoch(), state.at("wait").get<std::int64_t>());
}

// Which callbacks fit() calls, those of its own included, and in which order.
void run_order(const Json& one) {
  EXPECT_EQ(one.at("given"), Json({"Look", "TerminateOnNaN"}));
  throw Lacking{"the callbacks that fit() uses are not listed"};
}

}  // namespace

void expect_numbers(const std::vector<double>& got, const Json& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (want[i].is_string()) {
      EXPECT_TRUE(std::isnan(got[i])) << what << ", number " << i << ": " << got[i] << ", not " << want[i];
      continue;
    }
    const double value = want[i];
    EXPECT_NEAR(got[i], value, tolerance * std::max(1.0, std::abs(value))) << what << ", number " << i;
  }
}

void expect_history(const History& got, const Json& one) {
  std::vector<std::string> names;
  for (const auto& [name, values] : got.history) {
    names.push_back(name);
    ASSERT_TRUE(one.at("history").contains(name)) << name;
    expect_numbers(values, one["history"][name], guide_tolerance(one), name);
  }
  EXPECT_EQ(names.size(), one.at("history").size());
  if (one.contains("history_order")) {
    EXPECT_EQ(names, one["history_order"].get<std::vector<std::string>>());
  }
}

void run_guide_callback(const Json& one) {
  const std::string name = one.at("name");
  if (name == "callbacks/order") return run_order(one);
  const std::string type = one.at("callback").at("class");
  const auto folder = std::filesystem::temp_directory_path() / "capstan_guides";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const Model model = make_model(one.at("model"), one.value("dtype", "float32"), "model");
  model.compile(compile_options(one.at("compile")));
  if (one.contains("initial_weights")) set_weights(model, one["initial_weights"]);
  const auto look = std::make_shared<Look>();
  const Callback callback = callback_of(one["callback"], folder.string());
  FitOptions options{.verbose = 0, .callbacks = {callback, Callback(look)}, .shuffle = false};
  const Json& fit = one.at("fit");
  options.epochs = fit.at("epochs");
  options.batch_size = fit.at("batch_size");
  options.validation_freq = {fit.value("validation_freq", 1)};
  if (one.contains("validation_x")) {
    options.validation_data.emplace(validation_part(one, "validation_x"), validation_part(one, "validation_y"));
  }
  const Nest x = nest_from_json(one.at("x")), y = nest_from_json(one.at("y"));
  if (one.contains("exception")) {
    try {
      model.fit(x, y, options);
      FAIL() << "fit does not throw";
    } catch (const ValueError& error) {
      EXPECT_NE(std::string(error.what()).find("batch 1"), std::string::npos) << error.what();
    }
  } else {
    ::testing::internal::CaptureStdout();
    const History history = model.fit(x, y, options);
    const int digits = one.value("dtype", "float32") == "float32" ? 4 : 5;
    EXPECT_EQ(with_digits(without_folder(::testing::internal::GetCapturedStdout(), folder.string()), digits),
              with_digits(one.at("text"), digits));
    expect_history(history, one);
    if (one.contains("callback_state")) expect_state(one, callback, history);
    EXPECT_EQ(look->epochs, one.at("epochs_run").get<std::vector<std::int64_t>>());
    EXPECT_EQ(model.stop_training(), one.at("stop_training").get<bool>());
  }
  if (one.contains("iterations")) {
    EXPECT_EQ(model.optimizer().iterations(), one["iterations"].get<std::int64_t>());
  }
  if (one.contains("learning_rate_after")) {
    EXPECT_NEAR(model.optimizer().learning_rate(), one["learning_rate_after"].get<double>(), 1e-7);
  }
  const std::string shown = "after " + name;
  if (one.contains("weights_at_epoch_end")) {
    const Json& epochs = one["weights_at_epoch_end"];
    ASSERT_EQ(look->weights.size(), epochs.size());
    for (std::size_t e = 0; e < epochs.size(); ++e) {
      ASSERT_EQ(look->weights[e].size(), epochs[e].size());
      for (std::size_t i = 0; i < epochs[e].size(); ++i) {
        const Json& value = epochs[e][i].contains("value") ? epochs[e][i]["value"] : epochs[e][i];
        expect_close(look->weights[e][i], value, shown, both(guide_tolerance(one)));
      }
    }
  }
  if (one.contains("final_weights")) expect_weights(model, one["final_weights"], shown, both(guide_tolerance(one)));
  if (one.contains("csv_rows")) expect_csv(one, (folder / "log.csv").string());
  if (one.contains("files")) expect_files(one, folder, model);
  if (one.contains("events")) expect_events(one, folder);
  std::filesystem::remove_all(folder);
}

void run_guide_loop(const Json& one) {
  const double tolerance = guide_tolerance(one);
  const Model model = make_model(one.at("model"), one.at("dtype"), "model");
  set_weights(model, one.at("initial_weights"));
  const optimizers::SGD optimizer({.learning_rate = 0.125});
  const Tensor x = tensor_from_json(one.at("x")), y = tensor_from_json(one.at("y"));
  const std::string loop = one.at("loop");
  if (one.contains("summed_gradients")) {
    EXPECT_TRUE(loop.starts_with("mean squared error / 4 of four batches of two rows")) << loop;
    std::vector<Tensor> sums;
    for (std::int64_t begin = 0; begin < x.dim(0); begin += 2) {
      GradientTape tape;
      const Tensor error = y(slice(begin, begin + 2)) - model(x(slice(begin, begin + 2)), {.training = true});
      const std::vector<Tensor> gradients = tape.gradient(reduce_mean(square(error)) / 4, model.trainable_variables());
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        if (begin == 0) {
          sums.push_back(gradients[i]);
        } else {
          sums[i] = sums[i] + gradients[i];
        }
      }
    }
    const Json& want = one["summed_gradients"];
    ASSERT_EQ(sums.size(), want.size());
    std::size_t i = 0;
    for (const Variable& weight : model.trainable_variables()) {
      const std::string path = weight.path();
      expect_close(sums[i++], want.at(path), path, both(tolerance));
    }
    optimizer.apply_gradients(sums, model.trainable_variables());
  } else {
    EXPECT_TRUE(
        loop.starts_with("SGD 0.125; 3 epochs of 4 batches of 4 rows in order; "
                         "loss: SparseCategoricalCrossentropy from logits"))
        << loop;
    const bool is_penalized = loop.find("plus 0.0625 * sum |logits| / 4") != std::string::npos;
    const losses::SparseCategoricalCrossentropy loss_of({.from_logits = true});
    const metrics::SparseCategoricalAccuracy accuracy, validation;
    const Tensor vx = tensor_from_json(one.at("validation_x")), vy = tensor_from_json(one.at("validation_y"));
    auto step = function([&](const Tensor& rows, const Tensor& labels) {
      GradientTape tape;
      const Tensor logits = model(rows, {.training = true});
      Tensor loss = loss_of(labels, logits);
      if (is_penalized) loss = loss + 0.0625 * reduce_sum(abs(logits)) / 4;
      optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
      accuracy.update_state(labels, logits);
      return loss;
    });
    for (const Json& epoch : one.at("epochs")) {
      std::int64_t begin = 0;
      for (const Json& want : epoch.at("steps")) {
        const Tensor loss = step(x(slice(begin, begin + 4)), y(slice(begin, begin + 4)));
        begin += 4;
        expect_numbers({loss.item<double>(), accuracy.result().item<double>()},
                       {want.at("loss"), want.at("accuracy_so_far")}, tolerance, "step");
      }
      for (std::int64_t row = 0; row < vx.dim(0); row += 3) {
        validation.update_state(vy(slice(row, row + 3)), model(vx(slice(row, row + 3)), {.training = false}));
      }
      expect_numbers({accuracy.result().item<double>(), validation.result().item<double>()},
                     {epoch.at("train_accuracy"), epoch.at("validation_accuracy")}, tolerance, "epoch");
      accuracy.reset_state();
      validation.reset_state();
    }
  }
  expect_weights(model, one.at("final_weights"), "after the loop", both(tolerance));
}

namespace {

// A model around another one, with steps of its own.
class Halved : public ModelBody {
 public:
  explicit Halved(const Model& model) : inner(model) { add_metrics({mean_loss}); }
  Tensor call(const Tensor& x, const CallOptions& options) override { return inner(x, options); }
  StepLogs train_step(const Batch& batch) override {
    GradientTape tape;
    const Tensor predicted = self()(batch.x.tensor(), {.training = true});
    const Tensor loss = compute_loss(batch, predicted, true);
    std::vector<Tensor> gradients = tape.gradient(loss, self().trainable_variables());
    for (Tensor& gradient : gradients) gradient = gradient * 0.5;
    optimizer().apply_gradients(gradients, self().trainable_variables());
    mean_loss.update_state(loss);
    StepLogs logs = compute_metrics(batch, predicted);
    logs.erase("mean_loss");
    logs["loss"] = mean_loss.result();
    return logs;
  }
  Model inner;
  metrics::Mean mean_loss{"mean_loss"};  // of the batches, where fit()'s own counts examples
};

class OwnLoss : public ModelBody {
 public:
  explicit OwnLoss(const Model& model) : inner(model) {}
  Tensor call(const Tensor& x, const CallOptions& options) override { return inner(x, options); }
  Tensor compute_loss(const Batch& batch, const Nest& y_pred, Training) override {
    const Tensor predicted = y_pred.tensor();
    return reduce_mean(square(batch.y.tensor() - predicted)) + 0.25 * reduce_mean(abs(predicted));
  }
  Model inner;
};

}  // namespace

void run_guide_train_step(const Json& one) {
  const Model inner = make_model(one.at("model"), one.at("dtype"), "model");
  set_weights(inner, one.at("initial_weights"));
  const bool is_halved = std::string(one.at("name")).find("halved") != std::string::npos;
  const Model model = is_halved ? Model(ModelOf<Halved>(inner)) : Model(ModelOf<OwnLoss>(inner));
  EXPECT_NE(std::string(one.at("words")).find("compile(SGD 0.125, mse, metrics mae)"), std::string::npos);
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.125}), .loss = "mse", .metrics = {"mae"}});
  const Nest x = nest_from_json(one.at("x")), y = nest_from_json(one.at("y"));
  FitOptions options{
      .batch_size = one.at("fit").at("batch_size"), .epochs = one["fit"].at("epochs"), .verbose = 0, .shuffle = false};
  options.sample_weight = validation_part(one, "sample_weight");
  const History history = model.fit(x, y, options);
  Json unordered = one;
  // The metric of the loss stands behind the others where a step of one's own updates it last.
  if (is_halved) unordered.erase("history_order");
  expect_history(history, unordered);
  expect_weights(inner, one.at("final_weights"), "after fit", both(guide_tolerance(one)));
  const Evaluation found =
      model.evaluate(x, y, {.batch_size = options.batch_size, .sample_weight = options.sample_weight});
  expect_numbers({found.loss, found["mae"]}, {one.at("evaluate").at("loss"), one["evaluate"].at("mae")},
                 guide_tolerance(one), "evaluate");
}

namespace {

std::vector<std::string> paths_of(const std::vector<Variable>& variables) {
  std::vector<std::string> paths;
  for (const Variable& variable : variables) paths.push_back(variable.path());
  return paths;
}

std::vector<Variable> non_trainable(const Layer& layer) {
  std::vector<Variable> variables;
  const std::vector<Variable>& trainable = layer.trainable_variables();
  for (const Variable& weight : layer.weights()) {
    if (std::find(trainable.begin(), trainable.end(), weight) == trainable.end()) variables.push_back(weight);
  }
  return variables;
}

Sequential base_model(const DTypePolicy& dtype, std::int64_t units, double momentum) {
  return Sequential({layers::Dense(units, {.name = "dense", .input_shape = {4}, .dtype = dtype}),
                     layers::BatchNormalization({.momentum = momentum, .name = "batch_normalization", .dtype = dtype}),
                     layers::ReLU({.name = "re_lu", .dtype = dtype})},
                    "base");
}

void run_flags(const Json& one) {
  const Sequential base = base_model(float32, 5, 0.99);
  const Sequential model({base, layers::Dense(2, {.name = "head"})}, "model");
  model(zeros({1, 4}));
  const std::map<std::string, std::function<void()>> actions = {
      {"built: Sequential model [base, head], base = Sequential [Dense, BatchNormalization, ReLU]", [] {}},
      {"base.trainable = False", [&] { base.set_trainable(false); }},
      {"base.trainable = True", [&] { base.set_trainable(true); }},
      {"base.layers[0].trainable = True", [&] { base.layers()[0].set_trainable(true); }},
      {"base.layers[1].trainable = False", [&] { base.layers()[1].set_trainable(false); }},
      {"model.trainable = False", [&] { model.set_trainable(false); }},
      {"model.trainable = True", [&] { model.set_trainable(true); }},
      {"model.layers[-1].trainable = True", [&] { model.layers().back().set_trainable(true); }},
  };
  for (const Json& step : one.at("steps")) {
    const std::string what = step.at("do");
    ASSERT_TRUE(actions.contains(what)) << what;
    actions.at(what)();
    EXPECT_EQ(model.weights().size(), step.at("weights").get<std::size_t>()) << what;
    EXPECT_EQ(paths_of(model.trainable_variables()), step.at("trainable").get<std::vector<std::string>>()) << what;
    EXPECT_EQ(paths_of(non_trainable(model)), step.at("non_trainable").get<std::vector<std::string>>()) << what;
    if (!step.contains("flags")) continue;
    Json flags = {{"model", model.trainable()}, {"base", base.trainable()}};
    for (const Layer& layer : base.layers()) flags[layer.name()] = layer.trainable();
    flags["head"] = model.layers()[1].trainable();
    EXPECT_EQ(flags, step["flags"]) << what;
  }
}

// Batches of four rows in order.
History fit(const Model& model, const Json& one, std::int64_t epochs) {
  return model.fit(nest_from_json(one.at("x")), nest_from_json(one.at("y")),
                   {.batch_size = 4, .epochs = epochs, .verbose = 0, .shuffle = false});
}

void run_phases(const Json& one) {
  const DTypePolicy dtype = dtype_of(one.at("dtype"));
  const std::string words = one.at("model");
  const bool is_training_false = words.find("base(inputs, training=False)") != std::string::npos;
  const Sequential base = base_model(dtype, 5, 0.75);
  const Tensor inputs = Input({4}, {.dtype = dtype_from_name(one.at("dtype").get<std::string>())});
  const Tensor features = is_training_false ? base(inputs, {.training = false}) : base(inputs);
  const Model model(inputs, layers::Dense(2, {.name = "head", .dtype = dtype})(features), "model");
  set_weights(model, one.at("initial_weights"));
  for (const Json& phase : one.at("phases")) {
    const std::string what = phase.at("do");
    const bool is_first = what == "base.trainable = False; compile(SGD 0.125, mse); fit";
    EXPECT_TRUE(is_first || what == "base.trainable = True; compile(SGD 0.015625, mse); fit") << what;
    base.set_trainable(!is_first);
    model.compile({.optimizer = optimizers::SGD({.learning_rate = is_first ? 0.125 : 0.015625}), .loss = "mse"});
    EXPECT_EQ(paths_of(model.trainable_variables()), phase.at("trainable").get<std::vector<std::string>>()) << what;
    EXPECT_EQ(phase.at("fit").at("batch_size"), 4);
    const History history = fit(model, one, phase["fit"].at("epochs"));
    Json with_tolerance = phase;
    with_tolerance["tolerance"] = guide_tolerance(one);
    expect_history(history, with_tolerance);
    expect_weights(model, phase.at("weights_after"), what, both(guide_tolerance(one)));
  }
}

void run_frozen(const Json& one) {
  const DTypePolicy dtype = dtype_of(one.at("dtype"));
  const Sequential model({layers::Dense(4, {.activation = "tanh", .name = "first", .input_shape = {3}, .dtype = dtype}),
                          layers::Dense(1, {.name = "second", .dtype = dtype})},
                         "model");
  set_weights(model, one.at("initial_weights"));
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.125}), .loss = "mse"});
  const bool is_after = std::string(one.at("do")).starts_with("fit one epoch; first.trainable = False");
  if (is_after) fit(model, one, 1);
  model.layers()[0].set_trainable(false);
  const std::vector<Tensor> before = model.get_weights();
  fit(model, one, 1);
  const std::vector<Tensor> after = model.get_weights();
  std::size_t i = 0;
  for (const Variable& weight : model.weights()) {
    const bool is_unchanged = equal_tensors(before[i], after[i]);
    EXPECT_EQ(is_unchanged, one.at("unchanged_by_last_fit").at(weight.path()).get<bool>()) << weight.path();
    ++i;
  }
  expect_weights(model, one.at("final_weights"), "after fit", both(guide_tolerance(one)));
}

}  // namespace

void run_guide_transfer(const Json& one) {
  const std::string name = one.at("name");
  if (name == "transfer/trainable_flags") return run_flags(one);
  if (name.starts_with("transfer/called_with")) return run_phases(one);
  if (name.starts_with("transfer/frozen")) return run_frozen(one);
  const DTypePolicy dtype = dtype_of(one.at("dtype"));
  const Model model = make_model(one.at("model"), one["dtype"], "base");
  set_weights(model, one.at("initial_weights"));
  const Tensor x = tensor_from_json(one.at("x"));
  const Tensor input = Input({6, 6, 1}, {.dtype = x.dtype()});
  std::vector<Nest> outputs;
  Tensor h = input;
  for (const Layer& layer : model.layers()) outputs.emplace_back(h = layer(h));
  const std::vector<Tensor> got = Model(input, Nest::list(outputs))(Nest(x)).tensors();
  EXPECT_EQ(got.size(), one.at("outputs_of_every_layer").size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string layer = model.layers()[i].name();
    expect_close(got[i], one["outputs_of_every_layer"].at(layer), layer, both(guide_tolerance(one)));
  }
  const layers::Dense last(2, {.kernel_initializer = "ones", .name = "new", .dtype = dtype});
  std::vector<Layer> layers(model.layers().begin(), model.layers().end() - 1);
  layers.push_back(last);
  const Sequential cut(layers, "cut");
  expect_close(cut(x), one.at("without_last_layer_then_sum"), "cut", both(guide_tolerance(one)));
  EXPECT_EQ(paths_of(cut.weights()), one.at("paths_in_new_model").get<std::vector<std::string>>());
}

}  // namespace capstan::testing
