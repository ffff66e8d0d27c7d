// Whole models, trained for twenty steps, against Keras: every batch, every epoch, weights and results.
#include <algorithm>
#include <cmath>

#include "tests/train/keras_models.h"

namespace capstan::testing {
namespace {

void expect_number(double got, const Json& want, double tolerance, const std::string& what) {
  const double value = want.get<double>();
  EXPECT_NEAR(got, value, tolerance * std::max(1.0, std::abs(value))) << what;
}

// Notes what callbacks see at the end of each batch.
struct Recorder : CallbackBody {
  void on_train_batch_end(std::int64_t, const BatchLogs& logs) override { batches.push_back(logs.numbers()); }
  std::vector<Logs> batches;
};

void expect_logs(const Logs& got, const Json& want, double tolerance, const std::string& what) {
  EXPECT_EQ(got.size(), want.size()) << what;
  for (const auto& [name, value] : want.items()) {
    ASSERT_TRUE(got.contains(name)) << what << ": " << name;
    expect_number(got.at(name), value, tolerance, what + ": " + name);
  }
}

// The case; where Keras has row-sparse gradients, with what it computes once repeated rows are summed, as they are here
// (tools/keras_summed_rows.py).
Json with_summed_rows(Json one) {
  static const Json summed =
      read_json(std::string(CAPSTAN_SOURCE_DIR) + "/tests/golden/keras/whole_models_summed_rows.json");
  for (const Json& other : summed.at("cases")) {
    if (other.at("name") == one.at("name")) one.update(other);
  }
  return one;
}

void run_case(const Json&, const Json& given) {
  const Json one = with_summed_rows(given);
  if (!one.contains("model")) throw Lacking{"a training step in words"};
  const std::string dtype = one.at("dtype");
  set_floatx(dtype_from_name(dtype));
  const Model model = make_model(one.at("model"), dtype);
  const double tolerance = one.at("tolerance");
  const Nest x = nest_from_json(one.at("x")), y = nest_from_json(one.at("y"));
  if (!model.is_built()) model(x);
  set_weights(model, one.at("initial_weights"));
  model.compile(compile_options(one.at("compile")));
  const auto recorder = std::make_shared<Recorder>();
  FitOptions options{.verbose = 0, .callbacks = {Callback(recorder)}, .shuffle = false};
  options.epochs = one["fit"]["epochs"];
  options.batch_size = one["fit"]["batch_size"];
  if (one.contains("sample_weight")) options.sample_weight = nest_from_json(one["sample_weight"]);
  const History history = model.fit(x, y, options);
  for (const auto& [name, values] : one.at("history").items()) {
    const std::vector<double>& got = history[name];
    ASSERT_EQ(got.size(), values.size()) << name;
    for (std::size_t i = 0; i < got.size(); ++i) expect_number(got[i], values[i], tolerance, name + " of an epoch");
  }
  const Json& batches = one.at("batch_logs");
  ASSERT_EQ(recorder->batches.size(), batches.size());
  for (std::size_t i = 0; i < batches.size(); ++i) {
    expect_logs(recorder->batches[i], batches[i], tolerance, "batch " + std::to_string(i));
  }
  expect_weights(model, one.at("final_weights"), "final", {tolerance, tolerance});
  const Evaluation found = model.evaluate(x, y, {.sample_weight = options.sample_weight});
  Logs logs = {{"loss", found.loss}};
  for (const auto& [name, value] : found.metrics) logs[name] = value;
  expect_logs(logs, one.at("evaluate"), tolerance, "evaluate");
  const std::vector<Tensor> predictions = model.predict(x).tensors();
  const Json& want = one.at("predict");
  if (want.contains("data")) {
    expect_close(predictions.at(0), want, "predict", {tolerance, tolerance});
  } else {
    std::size_t i = 0;
    for (const Json& item : want) expect_close(predictions.at(i++), item, "predict", {tolerance, tolerance});
  }
}

TEST(WholeModelsGolden, TrainAsInKeras) {
  const DType before = floatx();
  run_cases("whole_models.json", run_case,
            {{"gan/float64", "a training step in words"},
             {"gan/float32", "a training step in words"}});
  set_floatx(before);
}

}  // namespace
}  // namespace capstan::testing
