// Weights in `.weights.h5` files between Capstan and Keras: this side. keras_weights.py is the other; see README.md.
//
//     keras_weights_check write FOLDER    weights, and what the models with them give
//     keras_weights_check read FOLDER     loads weights of Keras into the same models and compares
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/interop/cases.h"

namespace capstan {
namespace {

using interop::Cases;
using interop::require;

Model convolutions() {
  return Sequential({layers::Conv2D(4, {3, 3}, {.activation = "relu", .input_shape = {8, 8, 1}}),
                     layers::BatchNormalization(), layers::Conv2D(3, {3, 3}, {.padding = "same"}),
                     layers::DepthwiseConv2D({3, 3}), layers::Flatten(), layers::Dense(3)});
}

Model attention() {
  const Tensor x = Input({5, 6});
  const layers::Dense shared(6, {.activation = "tanh"});
  const Tensor h = layers::LayerNormalization()(shared(x));
  const Tensor a = layers::MultiHeadAttention(2, 3)(Nest{h, h}).tensor();
  const Tensor in = Input({6});
  const Model inner(in, layers::Dense(3)(layers::Dense(4, {.activation = "elu"})(in)));
  const Tensor pooled = layers::GlobalAveragePooling1D()(layers::Add()(Nest{shared(x), a}));
  return Model(x, inner(pooled));
}

Model recurrent() {
  return Sequential({layers::LSTM(4, {.return_sequences = true, .input_shape = {6, 3}}),
                     layers::Bidirectional(layers::GRU(3, {.return_sequences = true})),
                     layers::TimeDistributed(layers::Dense(4)), layers::SimpleRNN(5), layers::Dense(3)});
}

struct Case {
  const char* name;
  std::function<Model()> make;
  Shape inputs;
  Optimizer optimizer;
};

std::vector<Case> cases_of_models() {
  return {{"convolutions", convolutions, {6, 8, 8, 1}, optimizers::Adam({.learning_rate = 0.01})},
          {"attention", attention, {6, 5, 6}, optimizers::SGD({.learning_rate = 0.05, .momentum = 0.9})},
          {"recurrent", recurrent, {6, 6, 3}, optimizers::RMSprop({.learning_rate = 0.01})}};
}

std::vector<double> losses_of(const Model& model, const Tensor& x, const Tensor& y) {
  std::vector<double> losses;
  for (int step = 0; step < 3; ++step) losses.push_back(model.train_on_batch(x, y).at("loss"));
  return losses;
}

void write(const std::string& folder) {
  for (const Case& one : cases_of_models()) {
    const Model model = one.make();
    const Tensor x = random::uniform(one.inputs, 0, 1, float32, 7), y = random::uniform({6, 3}, 0, 1, float32, 8);
    model.compile({.optimizer = one.optimizer, .loss = "mse"});
    losses_of(model, x, y);
    const std::string path = folder + "/" + one.name;
    model.save_weights(path + ".weights.h5");
    const Tensor outputs = model.predict(x);
    io::save_npz(path + ".npz",
                 {{"x", x}, {"y", y}, {"outputs", outputs}, {"losses", constant(losses_of(model, x, y))}});
  }
}

double apart(const Tensor& a, const Tensor& b) {
  return reduce_max(abs(cast(a, float64) - cast(b, float64))).item<double>();
}

std::string load(const std::string& path, const Case& one) {
  const io::NamedArrays wanted = io::load_npz(path + ".npz");
  const Tensor x = wanted.at("x"), y = wanted.at("y");
  const Model model = one.make();
  model.compile({.optimizer = one.optimizer, .loss = "mse"});
  model.load_weights(path + ".weights.h5");
  const double outputs = apart(model.predict(x), wanted.at("outputs"));
  const double losses = apart(constant(losses_of(model, x, y)), wanted.at("losses"));
  char text[80];
  std::snprintf(text, sizeof text, "outputs %.1e, losses after it %.1e apart", outputs, losses);
  require(outputs < 1e-5 && losses < 1e-5, text);
  return text;
}

void read(const std::string& folder, Cases& cases) {
  for (const Case& one : cases_of_models()) {
    cases.run(one.name, [&] { return load(folder + "/" + one.name, one); });
  }
}

}  // namespace
}  // namespace capstan

int main(int count, char** arguments) {
  return capstan::interop::write_or_read(count, arguments, capstan::write, capstan::read);
}
