// Losses against values of Keras: every reduction and weight with gradients, the function forms, and probabilities that
// remember their logits.
#include <algorithm>

#include "tests/golden/keras_cases.h"

namespace capstan::testing {
namespace {

using Call = Tensor (*)(const Json& options, const Tensor& t, const Tensor& p);

// A function form that has options, with its defaults.
template <auto function>
Tensor call(const Json&, const Tensor& t, const Tensor& p) {
  if constexpr (std::is_invocable_v<decltype(function), const Tensor&, const Tensor&>) {
    return function(t, p);
  } else {
    return function(t, p, {});
  }
}

const std::map<std::string, Call> kFunctions = {
    {"mean_squared_error", call<losses::mean_squared_error>},
    {"mean_absolute_error", call<losses::mean_absolute_error>},
    {"mean_absolute_percentage_error", call<losses::mean_absolute_percentage_error>},
    {"mean_squared_logarithmic_error", call<losses::mean_squared_logarithmic_error>},
    {"huber", [](const Json& o, const Tensor& t,
                 const Tensor& p) { return losses::huber(t, p, {.delta = o.value("delta", 1.0)}); }},
    {"log_cosh", call<losses::log_cosh>},
    {"poisson", call<losses::poisson>},
    {"cosine_similarity", call<losses::cosine_similarity>},
    {"kl_divergence", call<losses::kl_divergence>},
    {"hinge", call<losses::hinge>},
    {"squared_hinge", call<losses::squared_hinge>},
    {"categorical_hinge", call<losses::categorical_hinge>},
    {"binary_crossentropy", call<losses::binary_crossentropy>},
    {"binary_focal_crossentropy", call<losses::binary_focal_crossentropy>},
    {"categorical_crossentropy", call<losses::categorical_crossentropy>},
    {"categorical_focal_crossentropy", call<losses::categorical_focal_crossentropy>},
    {"sparse_categorical_crossentropy",
     [](const Json& o, const Tensor& t, const Tensor& p) {
       return losses::sparse_categorical_crossentropy(t, p, {.from_logits = o.value("from_logits", false)});
     }},
    {"categorical_generalized_cross_entropy",
     [](const Json& o, const Tensor& t, const Tensor& p) {
       return losses::categorical_generalized_cross_entropy(t, p, {.q = o.at("q")});
     }},
    {"dice", call<losses::dice>},
    {"tversky", call<losses::tversky>},
    {"sigmoid_cross_entropy_with_logits",
     [](const Json&, const Tensor& t, const Tensor& p) { return sigmoid_cross_entropy_with_logits(t, p); }},
    {"softmax_cross_entropy_with_logits",
     [](const Json&, const Tensor& t, const Tensor& p) { return softmax_cross_entropy_with_logits(t, p); }},
    {"sparse_softmax_cross_entropy_with_logits",
     [](const Json&, const Tensor& t, const Tensor& p) { return sparse_softmax_cross_entropy_with_logits(t, p); }},
};

Tensor call_function(const std::string& name, const Json& options, const Tensor& t, const Tensor& p) {
  const auto function = kFunctions.find(name);
  if (function == kFunctions.end()) throw Lacking{"function " + name};
  return function->second(options, t, p);
}

Tolerance loss_tolerance(const Json& one) {
  Tolerance tolerance = golden_tolerance(one.at("dtype") == "float64" ? float64 : float32);
  if (one.contains("tolerance")) tolerance.relative = std::max(tolerance.relative, one.at("tolerance").get<double>());
  // The original takes the logarithm of 2 from float32.
  if (one.value("function", "") == "log_cosh") tolerance.relative = std::max(tolerance.relative, 1e-8);
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

void run_losses_case(const Json&, const Json& one) {
  if (one.contains("remembered")) return run_remembered(one);
  const Tensor t = tensor_from_json(one.at("y_true"));
  const Tensor p = tensor_from_json(one.at("y_pred"));
  const Tolerance tolerance = loss_tolerance(one);
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
    const Loss loss = make_loss(one.at("loss"), one.at("options"), reduction);
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

const KerasFile losses_file("losses", run_losses_case,
                            {"activation", "forgotten", "function", "gradient", "logits", "loss", "mask", "options",
                             "probabilities", "remembered", "results", "value", "y_pred", "y_true"});

}  // namespace
}  // namespace capstan::testing
