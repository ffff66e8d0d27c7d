// Callbacks against Keras: which hooks are called when, and what callbacks do with given values.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/golden/keras_models.h"
#include "tests/support/temporary_directory.h"

namespace capstan::testing {
namespace {

// Notes every hook: its name, its number and the names of its values.
struct Recorder : CallbackBody {
  void note(const char* hook, std::optional<std::int64_t> number = {}, const Logs& logs = {}) {
    Json names = Json::array();
    for (const auto& [name, value] : logs) names.push_back(name);
    events.push_back({hook, number ? Json(*number) : Json(), names});
  }
  void on_train_begin() override { note("on_train_begin"); }
  void on_train_end(const Logs& logs) override { note("on_train_end", {}, logs); }
  void on_epoch_begin(std::int64_t epoch) override { note("on_epoch_begin", epoch); }
  void on_epoch_end(std::int64_t epoch, Logs& logs) override { note("on_epoch_end", epoch, logs); }
  void on_train_batch_begin(std::int64_t batch) override { note("on_train_batch_begin", batch); }
  void on_train_batch_end(std::int64_t batch, const BatchLogs& logs) override {
    note("on_train_batch_end", batch, logs.numbers());
  }
  void on_test_begin() override { note("on_test_begin"); }
  void on_test_end(const Logs& logs) override { note("on_test_end", {}, logs); }
  void on_test_batch_begin(std::int64_t batch) override { note("on_test_batch_begin", batch); }
  void on_test_batch_end(std::int64_t batch, const BatchLogs& logs) override {
    note("on_test_batch_end", batch, logs.numbers());
  }
  void on_predict_begin() override { note("on_predict_begin"); }
  void on_predict_end() override { note("on_predict_end"); }
  void on_predict_batch_begin(std::int64_t batch) override { note("on_predict_batch_begin", batch); }
  void on_predict_batch_end(std::int64_t batch, const Nest&) override {
    note("on_predict_batch_end", batch, {{"outputs", 0.0}});
  }
  Json events = Json::array();
};

void run_hooks(const Json& one) {
  const Sequential model({layers::Dense(1, {.input_shape = {2}})});
  Json compile = {{"optimizer", "sgd"}, {"loss", "mse"}, {"metrics", {"mae"}}};
  if (one.contains("compile")) compile = one["compile"];
  model.compile(compile_options(compile));
  const std::int64_t rows = one.at("rows"), validation_rows = one.value("validation_rows", 0);
  const Tensor x = ones({rows, 2}), y = ones({rows, 1});
  const auto recorder = std::make_shared<Recorder>();
  const std::string name = one.at("name");
  if (name == "hooks/evaluate") {
    model.evaluate(x, y, {.batch_size = 4, .callbacks = {Callback(recorder)}});
  } else if (name == "hooks/predict") {
    model.predict(x, {.batch_size = 4, .callbacks = {Callback(recorder)}});
  } else {
    FitOptions options{.verbose = 0, .callbacks = {Callback(recorder)}};
    options.epochs = one["fit"].value("epochs", 1);
    options.batch_size = one["fit"].value("batch_size", 32);
    options.validation_freq = {one["fit"].value("validation_freq", 1)};
    if (validation_rows > 0) {
      options.validation_data.emplace(Nest(ones({validation_rows, 2})), Nest(ones({validation_rows, 1})));
    }
    model.fit(x, y, options);
    EXPECT_EQ(recorder->params().epochs, one["params"]["epochs"].get<std::int64_t>());
    EXPECT_EQ(recorder->params().steps, one["params"]["steps"].get<std::int64_t>());
  }
  EXPECT_EQ(recorder->events, one.at("events"));
}

Callback callback_of(const Json& one) {
  const std::string type = one.at("callback");
  if (type == "LearningRateScheduler") {
    const std::string schedule = one.at("schedule");
    if (schedule == "(epoch, rate) -> rate/2") {
      return callbacks::LearningRateScheduler([](std::int64_t, double rate) { return rate / 2; });
    }
    if (schedule == "epoch -> 0.1/(1+epoch)") {
      return callbacks::LearningRateScheduler(
          [](std::int64_t epoch, double) { return 0.1 / static_cast<double>(epoch + 1); });
    }
    throw Lacking{"schedule " + schedule};
  }
  const Json value = {{"class_name", type}, {"config", one.at("options")}};
  return Callback(
      std::static_pointer_cast<CallbackBody>(deserialize("callback", AttributeValue::from_json(value.dump()))));
}

// The only weight of the model is the number of the epoch plus one.
void run_values(const Json& one) {
  const Sequential model({layers::Dense(1, {.use_bias = false, .input_shape = {1}})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  Callbacks callbacks({callback_of(one)}, model);
  callbacks.on_train_begin();
  for (const Json& event : one.at("events")) {
    const std::int64_t epoch = event.at("epoch");
    callbacks.on_epoch_begin(epoch);
    model.set_weights({fill({1, 1}, static_cast<float>(epoch + 1))});
    Logs logs;
    if (one.contains("val_loss")) {
      const Json& value = one["val_loss"][static_cast<std::size_t>(epoch)];
      logs["val_loss"] = value.is_string() ? std::nan("") : value.get<double>();
    }
    const Logs before = logs;
    callbacks.on_epoch_end(epoch, logs);
    EXPECT_EQ(model.stop_training(), event.at("stop").get<bool>()) << "epoch " << epoch;
    EXPECT_NEAR(model.optimizer().learning_rate(), event.at("learning_rate").get<double>(), 1e-7) << "epoch " << epoch;
    for (const auto& [name, value] : event.at("added_logs").items()) {
      ASSERT_TRUE(logs.contains(name)) << name;
      EXPECT_NEAR(logs[name], value.get<double>(), 1e-7) << name << " of epoch " << epoch;
    }
    EXPECT_EQ(logs.size(), before.size() + event.at("added_logs").size());
  }
  callbacks.on_train_end();
  if (one.contains("final_weight")) {
    EXPECT_EQ(model.get_weights()[0].to_vector<float>()[0], one["final_weight"].get<float>());
  }
}

void run_csv(const Json& one) {
  const auto path = std::filesystem::temp_directory_path() / "capstan_csv_logger_test.csv";
  std::filesystem::remove(path);
  const Sequential model({layers::Dense(1, {.input_shape = {1}})});
  callbacks::CSVLoggerOptions options;
  options.separator = one.at("options").value("separator", ",");
  options.append = one.at("options").value("append", false);
  // With `append` there are several trainings.
  const bool several = one.at("logs")[0].is_array();
  const Json trainings = several ? one["logs"] : Json::array({one["logs"]});
  for (const Json& training : trainings) {
    Callbacks callbacks({callbacks::CSVLogger(path.string(), options)}, model);
    callbacks.on_train_begin();
    std::int64_t epoch = 0;
    for (const Json& values : training) {
      Logs logs = values.get<Logs>();
      callbacks.on_epoch_end(epoch++, logs);
    }
    callbacks.on_train_end();
  }
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_EQ(text.str(), one.at("text").get<std::string>());
  std::filesystem::remove(path);
}

// The names of files, with an ending that is known here.
std::string with_ending(std::string name) {
  const std::string theirs = ".weights.h5";
  return name.replace(name.size() - theirs.size(), theirs.size(), ".safetensors");
}

void run_model_checkpoint(const Json& one) {
  const io::TemporaryDirectory directory;
  const Sequential model({layers::Dense(1, {.input_shape = {1}})});
  const Json& given = one.at("options");
  callbacks::ModelCheckpointOptions options;
  options.monitor = given.at("monitor");
  options.save_weights_only = given.at("save_weights_only");
  options.save_best_only = given.value("save_best_only", false);
  options.mode = given.value("mode", "auto");
  if (given.contains("initial_value_threshold")) options.initial_value_threshold = given["initial_value_threshold"];
  const std::string path = directory.file(with_ending(given.at("filepath")));
  Callbacks callbacks({callbacks::ModelCheckpoint(path, options)}, model);
  callbacks.on_train_begin();
  std::int64_t epoch = 0;
  for (const Json& value : one.at("val_loss")) {
    Logs logs = {{"val_loss", value.get<double>()}};
    callbacks.on_epoch_begin(epoch);
    callbacks.on_epoch_end(epoch++, logs);
  }
  std::set<std::string> files, expected;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    files.insert(entry.path().filename());
  }
  for (const Json& file : one.at("files")) expected.insert(with_ending(file));
  EXPECT_EQ(files, expected);
}

void run_callbacks_case(const Json&, const Json& one) {
  const std::string name = one.at("name");
  if (name.starts_with("hooks/")) return run_hooks(one);
  if (name.starts_with("CSVLogger/")) return run_csv(one);
  if (name.starts_with("ModelCheckpoint/")) return run_model_checkpoint(one);
  run_values(one);
}

const KerasFile callbacks_file("callbacks", run_callbacks_case,
                               {"callback", "compile", "events", "final_weight", "fit", "logs", "options", "params",
                                "rows", "schedule", "text", "val_loss", "validation_rows", "files"},
                               {});

}  // namespace
}  // namespace capstan::testing
