// Losses against values of Keras: every reduction and weight with gradients, the function forms, and probabilities that
// remember their logits.
#include "tests/train/keras_cases.h"

namespace capstan::testing {
namespace {

Tensor call_function(const std::string& name, const Json& options, const Tensor& t, const Tensor& p) {
  if (name == "mean_squared_error") return losses::mean_squared_error(t, p);
  if (name == "mean_absolute_error") return losses::mean_absolute_error(t, p);
  if (name == "huber") return losses::huber(t, p, {.delta = options.value("delta", 1.0)});
  if (name == "binary_crossentropy") return losses::binary_crossentropy(t, p);
  if (name == "categorical_crossentropy") return losses::categorical_crossentropy(t, p);
  if (name == "sparse_categorical_crossentropy") {
    return losses::sparse_categorical_crossentropy(t, p, {.from_logits = options.value("from_logits", false)});
  }
  throw Lacking{"function " + name};
}

Tolerance tolerance_of(const Json& one) {
  Tolerance tolerance = golden_tolerance(one.at("dtype") == "float64" ? float64 : float32);
  if (one.contains("tolerance")) tolerance.relative = std::max(tolerance.relative, one.at("tolerance").get<double>());
  return tolerance;
}

void run_remembered(const Json& one) {
  const Tensor t = tensor_from_json(one.at("y_true"));
  const Tensor logits = tensor_from_json(one.at("logits"));
  const Loss loss = make_loss(one.at("loss"), one.at("options"));
  for (const bool remembers : {true, false}) {
    GradientTape tape;
    tape.watch(logits);
    Tensor p = one.at("activation") == "softmax" ? activations::softmax(logits) : activations::sigmoid(logits);
    if (!remembers) p = identity(p);
    const Tensor value = loss(t, p);
    const Json& want = one.at(remembers ? "remembered" : "forgotten");
    const std::string what = remembers ? "remembered" : "forgotten";
    expect_close(p, one.at("probabilities"), "probabilities");
    expect_close(value, want.at("value"), what);
    expect_close(tape.gradient(value, logits), want.at("logits_gradient"), "gradient, " + what);
  }
}

void run_case(const Json&, const Json& one) {
  if (one.contains("remembered")) return run_remembered(one);
  const Tensor t = tensor_from_json(one.at("y_true"));
  const Tensor p = tensor_from_json(one.at("y_pred"));
  const Tolerance tolerance = tolerance_of(one);
  if (one.contains("function")) {
    GradientTape tape;
    tape.watch(p);
    const Tensor value = call_function(one.at("function"), one.at("options"), t, p);
    expect_close(value, one.at("value"), "value", tolerance);
    expect_close(tape.gradient(value, p), one.at("gradient"), "gradient", tolerance);
    return;
  }
  const Tensor mask = one.contains("mask") ? tensor_from_json(one.at("mask")) : Tensor();
  for (const Json& result : one.at("results")) {
    const Json& reduction = result.at("reduction");
    const Loss loss = make_loss(one.at("loss"), one.at("options"), reduction.is_null() ? "none" : reduction);
    const Tensor weight = tensor_from_json(result.at("sample_weight"));
    const std::string what =
        (reduction.is_null() ? "none" : reduction.get<std::string>()) + (weight.has_value() ? " weighted" : "");
    GradientTape tape;
    tape.watch(p);
    const Tensor value = loss(t, p, weight, mask);
    expect_close(value, result.at("value"), what, tolerance);
    if (result.contains("gradient"))
      expect_close(tape.gradient(value, p), result.at("gradient"), what + ", gradient", tolerance);
  }
}

TEST(LossesAgainstKeras, AgreeInAllCases) { run_cases("losses.json", run_case); }

}  // namespace
}  // namespace capstan::testing
