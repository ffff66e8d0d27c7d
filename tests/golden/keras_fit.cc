// fit, evaluate and predict against Keras: histories, weights and predictions.
#include <algorithm>

#include "tests/golden/keras_models.h"

namespace capstan::testing {
namespace {

constexpr Tolerance kAfterTraining = {1e-4, 1e-4};

void expect_logs(const Logs& got, const Json& want, const std::string& what) {
  EXPECT_EQ(got.size(), want.size()) << what;
  for (const auto& [name, value] : want.items()) {
    const auto found = got.find(name);
    if (found == got.end()) {
      ADD_FAILURE() << what << ": there is no " << name;
      continue;
    }
    EXPECT_NEAR(found->second, value.get<double>(), 1e-4 * std::max(1.0, std::abs(value.get<double>())))
        << what << ": " << name;
  }
}

void expect_nest(const Nest& got, const Json& want, const std::string& what) {
  const std::vector<Tensor> expected = nest_from_json(want).tensors(), given = got.tensors();
  ASSERT_EQ(given.size(), expected.size()) << what;
  std::size_t i = 0;
  if (want.is_object() && want.contains("data")) {
    expect_close(given[0], want, what, kAfterTraining);
    return;
  }
  for (const auto& item : want) expect_close(given[i++], item, what, kAfterTraining);
}

FitOptions fit_options(const Json& one) {
  FitOptions options{.verbose = 0, .shuffle = false};
  const Json& fit = one.at("fit");
  options.epochs = fit.value("epochs", 1);
  options.batch_size = fit.value("batch_size", 32);
  options.initial_epoch = fit.value("initial_epoch", 0);
  options.validation_split = fit.value("validation_split", 0.0);
  if (fit.contains("steps_per_epoch")) options.steps_per_epoch = fit["steps_per_epoch"].get<std::int64_t>();
  if (fit.contains("validation_steps")) options.validation_steps = fit["validation_steps"].get<std::int64_t>();
  if (fit.contains("validation_batch_size")) {
    options.validation_batch_size = fit["validation_batch_size"].get<std::int64_t>();
  }
  if (fit.contains("validation_freq")) {
    const Json& frequency = fit["validation_freq"];
    options.validation_freq =
        frequency.is_array() ? frequency.get<std::vector<std::int64_t>>() : std::vector{frequency.get<std::int64_t>()};
  }
  if (fit.contains("class_weight")) {
    for (const auto& [label, weight] : fit["class_weight"].items()) options.class_weight[std::stoll(label)] = weight;
  }
  if (one.contains("validation_x")) {
    options.validation_data.emplace(
        nest_from_json(one["validation_x"]), nest_from_json(one["validation_y"]),
        one.contains("validation_sample_weight") ? nest_from_json(one["validation_sample_weight"]) : Nest());
  }
  return options;
}

History run_fit(const Model& model, const Json& one, const Nest& x, const Nest& y, const Nest& weight) {
  FitOptions options = fit_options(one);
  if (!one.at("fit").value("as_dataset", false)) {
    options.sample_weight = weight;
    return model.fit(x, y, options);
  }
  if (!weight.has_value()) {
    return model.fit(from_tensor_slices(x.tensor(), y.tensor()).batch(options.batch_size), options);
  }
  return model.fit(from_tensor_slices(x.tensor(), y.tensor(), weight.tensor()).batch(options.batch_size), options);
}

void run_on_batch(const Model& model, const Json& one, const Nest& x, const Nest& y, const Nest& weight) {
  const std::int64_t size = one.at("batch");
  std::int64_t begin = 0;
  for (const Json& step : one.at("steps")) {
    const std::int64_t count = x.tensor().dim(0);
    const auto rows = [&](const Nest& nest) {
      return nest.has_value() ? Nest(nest.tensor()(slice(begin, std::min(count, begin + size)))) : Nest();
    };
    const OnBatchOptions options{.sample_weight = rows(weight)};
    expect_logs(model.train_on_batch(rows(x), rows(y), options), step.at("train_on_batch"), "train_on_batch");
    expect_logs(model.test_on_batch(rows(x), rows(y), options), step.at("test_on_batch"), "test_on_batch");
    expect_nest(model.predict_on_batch(rows(x)), step.at("predict_on_batch"), "predict_on_batch");
    begin = (begin + size) % count;
  }
}

void run_fit_case(const Json&, const Json& one) {
  const Model model = make_model(one.at("model"));
  set_weights(model, one.at("initial_weights"));
  for (const Json& frozen : one.value("frozen", Json::array())) model.get_layer(frozen.get<int>()).set_trainable(false);
  model.compile(compile_options(one.at("compile")));
  const Nest x = nest_from_json(one.at("x")), y = nest_from_json(one.at("y"));
  const Nest weight = one.contains("sample_weight") ? nest_from_json(one["sample_weight"]) : Nest();
  if (one.contains("steps")) {
    run_on_batch(model, one, x, y, weight);
  } else {
    const History history = run_fit(model, one, x, y, weight);
    EXPECT_EQ(history.epoch, one.at("epochs_run").get<std::vector<std::int64_t>>());
    std::vector<std::string> names;
    for (const auto& [name, values] : history.history) {
      names.push_back(name);
      const std::vector<double> want = one.at("history").at(name);
      ASSERT_EQ(values.size(), want.size()) << name;
      for (std::size_t i = 0; i < want.size(); ++i) {
        EXPECT_NEAR(values[i], want[i], 1e-4 * std::max(1.0, std::abs(want[i]))) << name << " of epoch " << i;
      }
    }
    EXPECT_EQ(names, one.at("history_order").get<std::vector<std::string>>());
    if (one.contains("iterations")) {
      EXPECT_EQ(model.optimizer().iterations(), one["iterations"].get<std::int64_t>());
    }
  }
  if (one.contains("final_weights")) expect_weights(model, one["final_weights"], "final", kAfterTraining);
  if (one.contains("evaluate_dict")) {
    const bool weighted = !one.at("fit").value("as_dataset", false);
    const Evaluation found = model.evaluate(x, y, {.sample_weight = weighted ? weight : Nest()});
    Logs logs = {{"loss", found.loss}};
    std::vector<double> list = {found.loss};
    for (const auto& [name, value] : found.metrics) {
      logs[name] = value;
      list.push_back(value);
    }
    expect_logs(logs, one["evaluate_dict"], "evaluate");
    // Keras lists a metric twice that has a weighted twin.
    if (one["evaluate"].is_array() && !one.at("compile").contains("weighted_metrics")) {
      const std::vector<double> want = one["evaluate"];
      ASSERT_EQ(list.size(), want.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        EXPECT_NEAR(list[i], want[i], 1e-4 * std::max(1.0, std::abs(want[i]))) << "evaluate, number " << i;
      }
    }
  }
  if (one.contains("predict")) expect_nest(model.predict(x), one["predict"], "predict");
}

const KerasFile fit_file("fit", run_fit_case,
                         {"batch",         "compile",         "epochs_run", "evaluate",
                          "evaluate_dict", "final_weights",   "fit",        "history",
                          "history_order", "initial_weights", "iterations", "model",
                          "predict",       "sample_weight",   "steps",      "validation_sample_weight",
                          "validation_x",  "validation_y",    "x",          "y"});

}  // namespace
}  // namespace capstan::testing
