// Optimizers and schedules against values of Keras: the variables after every step, slots, and after 1,000 steps.
#include <algorithm>
#include <limits>

#include "src/core/apply.h"
#include "tests/golden/keras_cases.h"

namespace capstan::testing {
namespace {

Tensor gradient_from(const Json& json, const std::string& dtype, double scale) {
  if (json.contains("indices")) {
    const auto dims = json.at("dense_shape").get<std::vector<std::int64_t>>();
    return make_row_sparse(tensor_from_json(json.at("indices")), tensor_from_json(json.at("values")),
                           Shape(std::span<const std::int64_t>(dims)));
  }
  Tensor gradient = tensor_from_json(json);
  if (dtype == "float32") gradient = cast(gradient, float32);
  return scale == 1 ? gradient : gradient * scale;
}

Tensor with_infinity(const Tensor& gradient) {
  std::vector<double> values = gradient.to_vector<double>();
  values[0] = std::numeric_limits<double>::infinity();
  return cast(reshape(constant(values), gradient.shape()), gradient.dtype());
}

struct Run {
  const Json& one;
  const Json& set;
  std::string dtype;
  Optimizer optimizer;
  std::vector<Variable> variables;

  Run(const Json& document, const Json& given)
      : one(given),
        set(document.at("gradient_sets").at(given.at("gradient_set").get<std::string>())),
        dtype(given.at("dtype")),
        optimizer(
            make_optimizer(given.at("optimizer"), given.at("config"), given.at("hyperparameter_dtype") == "float32")) {
    for (const Json& item : set.at("variables")) {
      Tensor initial = tensor_from_json(item.at("initial"));
      if (dtype == "float32") initial = cast(initial, float32);
      Variable variable(initial, {.name = item.at("name").get<std::string>()});
      variable.set_path(item.at("path"));
      if (one.contains("constraints"))
        set_constraint(variable, make_constraint(one.at("constraints")[variables.size()]));
      variables.push_back(variable);
    }
    if (one.contains("exclude")) optimizer.exclude_from_weight_decay(one.at("exclude").get<std::vector<std::string>>());
  }

  void step(std::size_t k) {
    const Json& list = set.at("gradients");
    const double scale = one.value("scale_gradients_by", 1.0);
    std::vector<Tensor> gradients;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      gradients.push_back(gradient_from(list.at(k % list.size()).at(i), dtype, scale));
      if (!one.contains("missing")) continue;
      const Json missing = one.at("missing").value(std::to_string(i), Json::array());
      for (const Json& at : missing) {
        if (at == k) gradients.back() = Tensor();
      }
    }
    for (const Json& at : one.value("nonfinite_steps", Json::array())) {
      if (at != k) continue;
      for (Tensor& gradient : gradients) gradient = with_infinity(gradient);
    }
    optimizer.apply_gradients(gradients, variables);
  }

  void expect_variables(const Json& want, const std::string& what, Tolerance tolerance) {
    for (std::size_t i = 0; i < variables.size(); ++i) {
      expect_close(variables[i].value(), want.at(i), what + ", " + variables[i].name(), tolerance);
    }
  }

  // Of the variables with two axes and more, as slots have them in their names.
  std::vector<std::string> factored_paths() const {
    std::vector<std::string> paths;
    for (const Variable& variable : variables) {
      std::string path = variable.path();
      std::replace(path.begin(), path.end(), '/', '_');
      if (variable.shape().rank() >= 2) paths.push_back(path);
    }
    return paths;
  }

  void expect_state(const Json& state, Tolerance tolerance) {
    std::map<std::string, Variable> slots;
    for (const Variable& variable : optimizer.variables()) slots.emplace(variable.name(), variable);
    const bool is_adafactor = one.at("optimizer") == "Adafactor";
    std::size_t rows_and_columns = 0;
    for (const Json& item : state) {
      std::string name = item.at("name");
      // These belong to the wrapper itself, which has neither.
      if (item.at("path").get<std::string>() == "loss_scale_optimizer/iteration" ||
          item.at("path").get<std::string>() == "loss_scale_optimizer/learning_rate") {
        continue;
      }
      // The original names the moments of rows and columns like the variable, and has unused scalars for vectors.
      const bool is_moment =
          is_adafactor && (name == "kernel" || name == "bias" || name == "scale" || name == "embeddings");
      if (is_moment) {
        if (item.at("value").at("dtype") == "int32") continue;
        name = factored_paths().at(rows_and_columns / 2);
        name += rows_and_columns++ % 2 == 0 ? "_r" : "_c";
      }
      // The product of Nadam's factors follows from the number of the step here.
      if (name == "variable" && one.at("optimizer") == "Nadam") continue;
      if (name == "iteration") {
        // The raw counter of the original also counts steps that only accumulate.
        const std::int64_t steps = one.at("config").value("gradient_accumulation_steps", 1);
        EXPECT_EQ(optimizer.iterations(), item.at("value").at("data")[0].get<std::int64_t>() / steps);
      } else if (name == "learning_rate") {
        EXPECT_NEAR(optimizer.learning_rate(), item.at("value").at("data")[0].get<double>(), 1e-8);
      } else if (!slots.contains(name)) {
        ADD_FAILURE() << "there is no slot " << name;
      } else {
        expect_close(slots[name].value(), item.at("value"), name, tolerance);
      }
    }
  }
};

Tensor tensor_or_none(const Json& json) { return json.is_null() ? Tensor() : tensor_from_json(json); }

// The clipping functions, by their arguments.
void run_operation(const Json& one) {
  const std::string operation = one.at("operation");
  const Json& arguments = one.at("arguments");
  if (operation == "clip_by_global_norm") {
    std::vector<Tensor> inputs;
    for (const Json& input : one.at("inputs")) inputs.push_back(tensor_or_none(input));
    const ClippedByGlobalNorm clipped = clip_by_global_norm(inputs, arguments.get<double>());
    for (std::size_t i = 0; i < inputs.size(); ++i) expect_close(clipped.tensors[i], one.at("outputs")[i], "output");
    expect_close(clipped.global_norm, one.at("global_norm"), "global norm");
    return;
  }
  const Tensor x = tensor_from_json(one.at("input"));
  GradientTape tape;
  tape.watch(x);
  Tensor y;
  if (operation == "clip_by_value") {
    y = clip_by_value(x, arguments[0].get<double>(), arguments[1].get<double>());
  } else if (arguments.is_array()) {
    y = clip_by_norm(x, arguments[0].get<double>(), Axes(arguments[1].get<std::vector<int>>()));
  } else {
    y = clip_by_norm(x, arguments.get<double>());
  }
  expect_close(y, one.at("output"), "output");
  expect_close(tape.gradient(y, x, {.output_gradients = {tensor_from_json(one.at("cotangent"))}}), one.at("gradient"),
               "gradient");
}

void run_optimizers_case(const Json& document, const Json& one) {
  if (one.contains("operation")) return run_operation(one);
  if (one.at("optimizer") == "ScheduleFreeAdamW" && !one.contains("backend")) throw Lacking{"the aliased copy of z"};
  Run run(document, one);
  const bool is_sparse = one.contains("results");
  // Slices with the same row are summed first, as Keras 2 did; Keras 3 squares them one by one.
  const Json& want = is_sparse ? one.at("results").at("duplicates_summed") : one;
  // Where the original's numbers are not exact in float32 it computes with rounded ones.
  const bool exact = one.value("hyperparameters_exact_in_float32", true);
  Tolerance tolerance = golden_tolerance(run.dtype == "float64" ? float64 : float32);
  const bool is_jax = one.contains("backend");  // which computes in float64 throughout
  if (run.dtype == "float64" && !exact && !is_jax) tolerance = {1e-6, 1e-7};
  // The original's steps differ there by 3e-8 of themselves from the first on, as if a factor were float32; with
  // numbers that float32 holds they agree to 1e-10, on TensorFlow.
  const bool is_adafactor_on_jax = is_jax && one.at("optimizer") == "Adafactor";
  if (is_adafactor_on_jax) tolerance = {1e-8, 1e-9};
  // The original has Nadam's 1 - beta_2 from a beta_2 in float32.
  const bool is_nadam = one.at("optimizer") == "Nadam" && !is_jax;
  if (run.dtype == "float64" && is_nadam) tolerance = {3e-5, 1e-6};
  const Json& trajectory = want.at("trajectory");
  for (std::size_t k = 0; k < trajectory.size(); ++k) {
    if (one.contains("set_learning_rate") && one.at("set_learning_rate").contains(std::to_string(k))) {
      run.optimizer.set_learning_rate(one.at("set_learning_rate").at(std::to_string(k)));
    }
    if (one.contains("learning_rates")) {
      const double rate = one.at("learning_rates")[k];
      EXPECT_NEAR(run.optimizer.learning_rate(), rate, 1e-7 * rate) << "rate of step " << k;
    }
    run.step(k);
    run.expect_variables(trajectory[k], "step " + std::to_string(k), tolerance);
    if (one.contains("watched") && one.at("watched")[k].contains("dynamic_scale")) {
      const Json& watched = one.at("watched")[k];
      EXPECT_EQ(run.optimizer.iterations(), watched.at("iterations").get<std::int64_t>());
      EXPECT_EQ(run.optimizer.variables()[0].value().item<std::int64_t>(), watched.at("step_counter").get<int>());
      EXPECT_EQ(run.optimizer.scale_loss(scalar(1.0, float64)).item<double>(),
                watched.at("dynamic_scale").get<double>());
    }
    if (one.contains("watched") && one.at("watched")[k].contains("averages")) {
      const std::vector<Variable> slots = run.optimizer.variables();
      for (std::size_t i = 0; i < run.variables.size(); ++i) {
        expect_close(slots[i].value(), one.at("watched")[k].at("averages")[i], "average", tolerance);
      }
    }
    if (::testing::Test::HasFailure()) return;
  }
  if (want.contains("state")) run.expect_state(want.at("state"), tolerance);
  if (one.contains("after_1000")) {
    Run long_run(document, one);
    for (std::size_t k = 0; k < 1000; ++k) long_run.step(k);
    // Rounding adds up over the steps.
    const Tolerance wide = run.dtype == "float64" ? (exact || (is_jax && !is_adafactor_on_jax) ? Tolerance{1e-10, 1e-10}
                                                                                               : Tolerance{1e-4, 1e-5})
                                                  : Tolerance{1e-3, 1e-4};
    long_run.expect_variables(one.at("after_1000"), "after 1000 steps", wide);
  }
  if (one.contains("after_finalize")) {
    run.optimizer.finalize_variable_values();
    run.expect_variables(one.at("after_finalize"), "finalized", tolerance);
  }
}

// On TensorFlow the original has the new z where the published formula has the old one; on JAX it is right.
std::map<std::string, std::string> schedule_free_cases() {
  std::map<std::string, std::string> cases;
  for (const char* options : {"default/float64", "default/float64_with_float32_hyperparameters", "default/float32",
                              "warmup/float64", "clip_decay_ema/float64", "accumulation2/float64"})
    cases.emplace(std::string("ScheduleFreeAdamW/") + options, "a defect of the original");
  return cases;
}

const KerasFile optimizers_file("optimizers", run_optimizers_case,
                                {"after_1000",
                                 "after_finalize",
                                 "arguments",
                                 "backend",
                                 "config",
                                 "constraints",
                                 "cotangent",
                                 "exclude",
                                 "global_norm",
                                 "gradient",
                                 "gradient_set",
                                 "hyperparameter_dtype",
                                 "hyperparameters_exact_in_float32",
                                 "input",
                                 "inputs",
                                 "learning_rates",
                                 "missing",
                                 "nonfinite_steps",
                                 "operation",
                                 "optimizer",
                                 "output",
                                 "outputs",
                                 "results",
                                 "scale_gradients_by",
                                 "set_learning_rate",
                                 "state",
                                 "state_outside_variables",
                                 "trajectory",
                                 "watched"},
                                schedule_free_cases());

void run_schedule(const Json&, const Json& one) {
  const Schedule schedule = make_schedule(one.at("schedule"), one.at("config"));
  for (std::size_t i = 0; i < one.at("steps").size(); ++i) {
    const double want = one.at("values")[i];
    const std::int64_t step = one.at("steps")[i];
    EXPECT_NEAR(schedule(step), want, 1e-6 * want + 1e-38) << "step " << step;
  }
  if (!one.contains("config_after_reading")) return;
  const Json config = Json::parse(serialize(*schedule.body()).to_json()).at("config");
  for (const auto& [key, value] : one.at("config_after_reading").items()) {
    EXPECT_EQ(config.value(key, Json("missing")), value) << key;
  }
}

const KerasFile schedules_file("schedules", run_schedule,
                               {"config", "config_after_reading", "schedule", "steps", "values"});

}  // namespace
}  // namespace capstan::testing
