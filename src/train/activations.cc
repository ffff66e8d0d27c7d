// Activation functions by name.
#include "capstan/activations.h"

#include "capstan/ops/activation.h"
#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"
#include "src/train/known_names.h"
#include "src/train/remembered_logits.h"

namespace capstan {

Tensor activations::softmax(const Tensor& logits, int axis) {
  const Tensor probabilities = capstan::softmax(logits, axis);
  return detail::remember_logits(probabilities, logits, axis < 0 ? axis + logits.rank() : axis);
}

Tensor activations::sigmoid(const Tensor& logits) {
  return detail::remember_logits(capstan::sigmoid(logits), logits, detail::kSigmoidAxis);
}

namespace {

using Function = Tensor (*)(Tensor);

// Names and formulas of Keras.
constexpr detail::Named<Function> kNamed[] = {
    {"linear", nullptr},
    {"relu", [](Tensor x) { return relu(std::move(x)); }},
    {"softmax", [](Tensor x) { return activations::softmax(x); }},
    {"sigmoid", [](Tensor x) { return activations::sigmoid(x); }},
    {"tanh", [](Tensor x) { return tanh(std::move(x)); }},
    {"elu", [](Tensor x) { return elu(std::move(x)); }},
    {"selu", [](Tensor x) { return selu(std::move(x)); }},
    {"gelu", [](Tensor x) { return gelu(std::move(x)); }},
    {"silu", [](Tensor x) { return silu(std::move(x)); }, "swish"},
    {"relu6", [](Tensor x) { return relu6(std::move(x)); }},
    {"leaky_relu", [](Tensor x) { return leaky_relu(std::move(x), 0.2); }},
    {"softplus", [](Tensor x) { return softplus(std::move(x)); }},
    {"softsign", [](Tensor x) { return softsign(std::move(x)); }},
    {"log_sigmoid", [](Tensor x) { return log_sigmoid(std::move(x)); }},
    {"exponential", [](Tensor x) { return exp(std::move(x)); }},
    {"log_softmax", [](Tensor x) { return log_softmax(x); }},
    {"hard_sigmoid", [](Tensor x) { return hard_sigmoid(std::move(x)); }},
    {"hard_silu", [](Tensor x) { return hard_silu(std::move(x)); }, "hard_swish"},
    {"hard_tanh", [](Tensor x) { return hard_tanh(std::move(x)); }},
    {"hard_shrink", [](Tensor x) { return hard_shrink(std::move(x)); }},
    {"soft_shrink", [](Tensor x) { return soft_shrink(std::move(x)); }},
    {"tanh_shrink", [](Tensor x) { return tanh_shrink(std::move(x)); }},
    {"mish", [](Tensor x) { return mish(std::move(x)); }},
    {"celu", [](Tensor x) { return celu(std::move(x)); }},
    {"glu", [](Tensor x) { return glu(std::move(x)); }},
    {"squareplus", [](Tensor x) { return squareplus(std::move(x)); }},
    {"sparse_plus", [](Tensor x) { return sparse_plus(std::move(x)); }},
    {"sparse_sigmoid", [](Tensor x) { return sparse_sigmoid(std::move(x)); }},
    {"sparsemax", [](Tensor x) { return sparsemax(std::move(x)); }},
};

}  // namespace

ActivationFunction::ActivationFunction(std::string_view name) : name_(name) {
  const Function function =
      detail::find_named<Function>("activation", name, kNamed, "pass a function of a tensor for one of your own");
  if (function != nullptr) function_ = function;
}

}  // namespace capstan
