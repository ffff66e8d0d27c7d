// Trainings whose checkpoints go between Capstan and TensorFlow: tests/interop/tensorflow_checkpoints.py has the same.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "capstan/capstan.h"

namespace capstan::testing {

// A class of one's own: its layers are called as the attributes of the class in Python.
class Block : public LayerBody {
 protected:
  void build(const Shape& shape) override {
    scale_ = add_weight({.name = "scale", .shape = {shape[-1]}, .initializer = "ones"});
  }
  Tensor call(const Tensor& x, const CallOptions&) override { return normalize_(dense_(x * scale_)); }

 private:
  Variable scale_;
  layers::Dense dense_{3, {.activation = "relu", .name = "first"}};
  layers::BatchNormalization normalize_{{.name = "normalize"}};
};

class Named : public ModelBody {
 protected:
  Tensor call(const Tensor& x, const CallOptions&) override { return chain_(block_(x)); }

 private:
  LayerOf<Block> block_{};
  Sequential chain_{{layers::Dense(4), layers::ReLU(), layers::Dense(2)}, "chain"};
};

// The same without names: Python has two of its layers in a list, where TensorFlow finds them by the optimizer alone.
class Unnamed : public ModelBody {
 protected:
  Tensor call(const Tensor& x, const CallOptions&) override { return last_(second_(first_(x))); }

 private:
  layers::Dense first_{3}, second_{4}, last_{2};
};

inline Model convolutions() {
  return Sequential({layers::Conv2D(4, {3, 3}, {.padding = "same", .input_shape = {8, 8, 1}}),
                     layers::BatchNormalization(), layers::ReLU(), layers::MaxPooling2D(),
                     layers::SeparableConv2D(5, {3, 3}), layers::DepthwiseConv2D({2, 2}),
                     layers::Conv2DTranspose(3, {2, 2}), layers::LayerNormalization(), layers::Dropout(0),
                     layers::Flatten(), layers::Dense(3, {.activation = "softmax"})});
}

inline Model shared() {
  const Tensor left = Input({4}, {.name = "left"}), right = Input({4}, {.name = "right"});
  const layers::Dense dense(3, {.activation = "tanh"});
  const Nest pair = {dense(left), dense(right)};
  const Tensor joined = layers::Concatenate()(pair), difference = layers::Subtract()(pair);
  return Model(Nest{left, right}, Nest{layers::Dense(2)(joined), layers::Dense(1)(difference)});
}

inline Model nested() {
  const Tensor in = Input({4});
  const Model inner(in, layers::Dense(4, {.activation = "tanh"})(in));
  const Sequential chain({layers::Dense(4, {.input_shape = {4}}), layers::ELU()});
  const Tensor x = Input({4});
  const Tensor y = chain(chain(inner(inner(x))));
  return Model(x, layers::Dense(2)(layers::Add()(Nest{x, inner(y)})));
}

inline Model attention() {
  const Tensor x = Input({5, 6});
  const Tensor h = layers::LayerNormalization()(x);
  const Tensor a = layers::MultiHeadAttention(2, 3)(Nest{h, h}).tensor();
  const Tensor b = layers::GroupQueryAttention(2, 4, 2)(Nest{a, a}).tensor();
  return Model(x, layers::Dense(2)(layers::GlobalAveragePooling1D()(layers::Add()(Nest{x, b}))));
}

inline Model recurrent() {
  const Tensor x = Input({6, 3});
  const Tensor one = layers::LSTM(4, {.return_sequences = true})(x);
  const Tensor both = layers::Bidirectional(layers::GRU(3, {.return_sequences = true}))(one);
  const Tensor each = layers::TimeDistributed(Sequential({layers::Dense(4), layers::ReLU()}))(both);
  const Nest ends = {layers::SimpleRNN(3)(each), layers::RNN(layers::LSTMCell(3))(each)};
  return Model(x, layers::Dense(2)(layers::Concatenate()(ends)));
}

// TensorFlow finds the weights of a list of cells by the optimizer alone.
inline Model stacked() {
  const layers::StackedRNNCells cells({layers::LSTMCell(3), layers::GRUCell(2)});
  return Sequential({layers::Dense(4, {.input_shape = {6, 3}}), layers::RNN(cells), layers::Dense(2)});
}

// Masks are operations of their own in Keras, and count in its numbers.
inline Model words() {
  return Sequential({layers::Embedding(11, 5, {.mask_zero = true, .input_shape = {7}}), layers::Dropout(0),
                     layers::LSTM(4, {.return_sequences = true}), layers::Dense(3), layers::GRU(3), layers::Dense(2)});
}

inline Model masks() {
  const Tensor x = Input({7, 3}), words = Input({7}, {.dtype = int32});
  const Tensor a = layers::Dense(4)(layers::Masking()(x));
  const Tensor b = layers::Bidirectional(layers::LSTM(3, {.return_sequences = true}))(a);
  const Tensor c = layers::Embedding(11, 5, {.mask_zero = true})(words);
  const Tensor d = layers::GRU(3)(layers::Dense(2)(c));
  return Model(Nest{x, words}, layers::Dense(2)(layers::Concatenate()(Nest{layers::GRU(2)(b), d})));
}

inline Model plain() {
  return Sequential({layers::Dense(4, {.activation = "tanh", .input_shape = {3}}), layers::Dense(2)});
}

struct Training {
  std::string name;
  std::function<Model()> make;
  std::vector<Shape> inputs, outputs;
  std::function<Optimizer()> optimizer;
};

inline std::vector<Training> trainings() {
  namespace o = optimizers;
  std::vector<Training> all = {
      {"convolutions", convolutions, {{6, 8, 8, 1}}, {{6, 3}}, [] { return o::Adam({.learning_rate = 0.01}); }},
      {"shared",
       shared,
       {{6, 4}, {6, 4}},
       {{6, 2}, {6, 1}},
       [] { return o::SGD({.learning_rate = 0.05, .momentum = 0.9}); }},
      {"nested",
       nested,
       {{6, 4}},
       {{6, 2}},
       [] { return o::RMSprop({.learning_rate = schedules::ExponentialDecay(0.01, 2, 0.5)}); }},
      {"attention", attention, {{6, 5, 6}}, {{6, 2}}, [] { return o::AdamW({.learning_rate = 0.01}); }},
      {"recurrent", recurrent, {{6, 6, 3}}, {{6, 2}}, [] { return o::Nadam({.learning_rate = 0.01}); }},
      {"stacked", stacked, {{6, 6, 3}}, {{6, 2}}, [] { return o::Adam({.learning_rate = 0.01}); }},
      {"words", words, {{6, 7}}, {{6, 2}}, [] { return o::Lion({.learning_rate = 0.001}); }},
      {"masks", masks, {{6, 7, 3}, {6, 7}}, {{6, 2}}, [] { return o::SGD({.learning_rate = 0.01, .momentum = 0.5}); }},
      {"named", [] { return Model(ModelOf<Named>()); }, {{6, 4}}, {{6, 2}}, [] { return o::Adagrad(); }},
      {"unnamed", [] { return Model(ModelOf<Unnamed>()); }, {{6, 4}}, {{6, 2}}, [] { return o::Adam(); }},
  };
  const std::pair<const char*, std::function<Optimizer()>> optimizers[] = {
      {"SGD", [] { return o::SGD(); }},
      {"Adam", [] { return o::Adam({.amsgrad = true}); }},
      {"RMSprop", [] { return o::RMSprop({.momentum = 0.5, .centered = true}); }},
      {"Adagrad", [] { return o::Adagrad(); }},
      {"Adadelta", [] { return o::Adadelta(); }},
      {"Adamax", [] { return o::Adamax(); }},
      {"Nadam", [] { return o::Nadam(); }},
      {"Ftrl", [] { return o::Ftrl(); }},
      {"Lion", [] { return o::Lion(); }},
      {"Lamb", [] { return o::Lamb(); }},
      {"Adafactor", [] { return o::Adafactor(); }},
      {"Muon", [] { return o::Muon(); }},
      {"LossScaleOptimizer", [] { return o::LossScaleOptimizer(o::SGD({.momentum = 0.5})); }},
      {"averages", [] { return o::Adam({.use_ema = true, .gradient_accumulation_steps = 2}); }},
  };
  for (const auto& [name, optimizer] : optimizers) {
    all.push_back({"optimizer_" + std::string(name), plain, {{6, 3}}, {{6, 2}}, optimizer});
  }
  return all;
}

}  // namespace capstan::testing
