// Progress lines of Keras's guides: the bar alone, and in trainings whose batches take a stated time.
#include <stdexcept>

#include "tests/golden/keras_guides.h"

namespace capstan::testing {

namespace {

std::vector<std::string> names_of(const Json& list) { return list.get<std::vector<std::string>>(); }

// "nan" and "inf" are texts in these files.
double number_of(const Json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

void run_bar(const Json& one) {
  const Json& arguments = one.at("arguments");
  double time = one.at("created_at");
  std::string printed;
  ProgbarOptions options{.clock = [&] { return time; }, .print = [&](const std::string& text) { printed += text; }};
  for (const auto& [name, value] : arguments.items()) {
    if (name == "width") options.width = value;
    if (name == "verbose") options.verbose = value;
    if (name == "interval") options.interval = value;
    if (name == "unit_name") options.unit_name = value;
    if (name == "stateful_metrics") options.stateful_metrics = names_of(value);
    if (name == "stateless_metrics") options.stateless_metrics = names_of(value);
  }
  const Json& target = arguments.at("target");
  Progbar bar(target.is_null() ? std::nullopt : std::optional(target.get<std::int64_t>()), options);
  for (const Json& update : one.at("updates")) {
    time = update.at("time");
    Progbar::Values values;
    for (const Json& value : update.at("values")) {
      if (value[1].is_array()) throw Lacking{"a value of a progress bar is a number"};
      values.emplace_back(value[0], number_of(value[1]));
    }
    printed.clear();
    if (update.contains("add")) {
      bar.add(update["add"], values);
    } else {
      std::optional<bool> finalize;
      if (update.contains("finalize")) finalize = update["finalize"].get<bool>();
      bar.update(update.at("current"), values, finalize);
    }
    EXPECT_EQ(printed, update.at("text").get<std::string>()) << "at " << time;
  }
}

// Batches take a stated time. It stands before the ProgbarLogger.
struct Clock : CallbackBody {
  void on_train_batch_end(std::int64_t, const BatchLogs&) override { time += train_batch; }
  void on_test_batch_end(std::int64_t, const BatchLogs&) override { time += test_batch; }
  void on_predict_batch_end(std::int64_t, const Nest&) override { time += predict_batch; }
  double time = 1000, train_batch = 0, test_batch = 0, predict_batch = 0;
};

// A model that has been trained as a case says.
struct Run {
  Model model;
  std::shared_ptr<Clock> clock = std::make_shared<Clock>();
  std::shared_ptr<std::string> text = std::make_shared<std::string>();

  std::vector<Callback> callbacks() const {
    return {Callback(clock),
            callbacks::ProgbarLogger({.clock = [its = clock] { return its->time; },
                                      .print = [its = text](const std::string& part) { *its += part; }})};
  }
};

int verbose_of(const Json& options) {
  const Json& verbose = options.at("verbose");
  return verbose == "auto" ? FitOptions().verbose : verbose.get<int>();
}

Run trained(const Json& one) {
  Run run{make_model(one.at("model"), "float32", "model")};
  run.model.compile(compile_options(one.at("compile")));
  set_weights(run.model, one.at("initial_weights"));
  run.clock->train_batch = 0.25;
  run.clock->test_batch = 0.125;
  const Json& fit = one.at("fit");
  FitOptions options{.batch_size = fit.at("batch_size"),
                     .epochs = fit.at("epochs"),
                     .verbose = verbose_of(fit),
                     .callbacks = run.callbacks(),
                     .shuffle = false,
                     .initial_epoch = fit.value("initial_epoch", 0)};
  const std::string batches_take = one.at("clock");
  const Tensor x = tensor_from_json(one.at("x")), y = tensor_from_json(one.at("y"));
  if (one.contains("validation_x")) {
    EXPECT_EQ(batches_take, "a training batch takes 0.25 s, a validation batch 0.125 s");
    options.validation_data.emplace(nest_from_json(one["validation_x"]), nest_from_json(one.at("validation_y")));
    run.model.fit(x, y, options);
  } else {
    EXPECT_EQ(batches_take, "a training batch takes 0.25 s");
    EXPECT_EQ(one.at("note"), "the data set does not know its size in the first epoch");
    const auto all = [](const Tensor&, const Tensor&) { return true; };
    const auto batches = from_tensor_slices(x, y).batch(options.batch_size).filter(all);
    options.batch_size = FitOptions().batch_size;
    run.model.fit(batches, options);
  }
  return run;
}

const Json& case_named(const Json& file, const std::string& name) {
  for (const Json& one : file.at("cases")) {
    if (one.at("name") == name) return one;
  }
  throw std::runtime_error("there is no case " + name);
}

void run_terminal(const Json& file, const Json& one) {
  if (!one.contains("after")) {
    EXPECT_EQ(*trained(one).text, one.at("text").get<std::string>());
    return;
  }
  const Json& before = case_named(file, one["after"]);
  const Run run = trained(before);
  run.text->clear();
  const Tensor x = tensor_from_json(before.at("x")), y = tensor_from_json(before.at("y"));
  const EvaluateOptions options{
      .batch_size = one.at("batch_size"), .verbose = verbose_of(before.at("fit")), .callbacks = run.callbacks()};
  if (one.contains("result")) {
    EXPECT_EQ(one.at("clock"), "a batch takes 0.125 s");
    const Evaluation result = run.model.evaluate(x, y, options);
    const std::vector<double> want = one["result"];
    ASSERT_EQ(want.size(), 2u);
    EXPECT_NEAR(result.loss, want[0], 1e-5);
    EXPECT_NEAR(result["mae"], want[1], 1e-5);
  } else {
    EXPECT_EQ(one.at("clock"), "a batch takes 0.5 s");
    run.clock->predict_batch = 0.5;
    run.model.predict(x, options);
  }
  EXPECT_EQ(*run.text, one.at("text").get<std::string>());
}

}  // namespace

void run_guide_progress(const Json& file, const Json& one) {
  if (one.contains("updates")) {
    run_bar(one);
  } else {
    run_terminal(file, one);
  }
}

}  // namespace capstan::testing
