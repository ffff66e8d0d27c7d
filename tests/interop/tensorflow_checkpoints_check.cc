// Checkpoints of trainings between Capstan and TensorFlow: this side. tensorflow_checkpoints.py is the other; see
// README.md.
//
//     tensorflow_checkpoints_check write FOLDER    checkpoints, and what the models in them give
//     tensorflow_checkpoints_check read FOLDER     restores checkpoints of TensorFlow and compares
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "capstan/capstan.h"

namespace capstan {
namespace {

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

Model convolutions() {
  return Sequential({layers::Conv2D(4, {3, 3}, {.padding = "same", .input_shape = {8, 8, 1}}),
                     layers::BatchNormalization(), layers::ReLU(), layers::MaxPooling2D(),
                     layers::SeparableConv2D(5, {3, 3}), layers::DepthwiseConv2D({2, 2}),
                     layers::Conv2DTranspose(3, {2, 2}), layers::LayerNormalization(), layers::Dropout(0),
                     layers::Flatten(), layers::Dense(3, {.activation = "softmax"})});
}

Model shared() {
  const Tensor left = Input({4}, {.name = "left"}), right = Input({4}, {.name = "right"});
  const layers::Dense dense(3, {.activation = "tanh"});
  const Nest pair = {dense(left), dense(right)};
  const Tensor joined = layers::Concatenate()(pair), difference = layers::Subtract()(pair);
  return Model(Nest{left, right}, Nest{layers::Dense(2)(joined), layers::Dense(1)(difference)});
}

Model nested() {
  const Tensor in = Input({4});
  const Model inner(in, layers::Dense(4, {.activation = "tanh"})(in));
  const Sequential chain({layers::Dense(4, {.input_shape = {4}}), layers::ELU()});
  const Tensor x = Input({4});
  const Tensor y = chain(chain(inner(inner(x))));
  return Model(x, layers::Dense(2)(layers::Add()(Nest{x, inner(y)})));
}

Model attention() {
  const Tensor x = Input({5, 6});
  const Tensor h = layers::LayerNormalization()(x);
  const Tensor a = layers::MultiHeadAttention(2, 3)(Nest{h, h}).tensor();
  const Tensor b = layers::GroupQueryAttention(2, 4, 2)(Nest{a, a}).tensor();
  return Model(x, layers::Dense(2)(layers::GlobalAveragePooling1D()(layers::Add()(Nest{x, b}))));
}

Model recurrent() {
  const Tensor x = Input({6, 3});
  const Tensor one = layers::LSTM(4, {.return_sequences = true})(x);
  const Tensor both = layers::Bidirectional(layers::GRU(3, {.return_sequences = true}))(one);
  const Tensor each = layers::TimeDistributed(Sequential({layers::Dense(4), layers::ReLU()}))(both);
  const Nest ends = {layers::SimpleRNN(3)(each), layers::RNN(layers::LSTMCell(3))(each)};
  return Model(x, layers::Dense(2)(layers::Concatenate()(ends)));
}

// Masks are operations of their own in Keras, and count in its numbers.
Model words() {
  return Sequential({layers::Embedding(11, 5, {.mask_zero = true, .input_shape = {7}}), layers::Dropout(0),
                     layers::LSTM(4, {.return_sequences = true}), layers::Dense(3), layers::GRU(3), layers::Dense(2)});
}

Model masks() {
  const Tensor x = Input({7, 3}), words = Input({7}, {.dtype = int32});
  const Tensor a = layers::Dense(4)(layers::Masking()(x));
  const Tensor b = layers::Bidirectional(layers::LSTM(3, {.return_sequences = true}))(a);
  const Tensor c = layers::Embedding(11, 5, {.mask_zero = true})(words);
  const Tensor d = layers::GRU(3)(layers::Dense(2)(c));
  return Model(Nest{x, words}, layers::Dense(2)(layers::Concatenate()(Nest{layers::GRU(2)(b), d})));
}

Model plain() { return Sequential({layers::Dense(4, {.activation = "tanh", .input_shape = {3}}), layers::Dense(2)}); }

struct Case {
  std::string name;
  std::function<Model()> make;
  std::vector<Shape> inputs, outputs;
  std::function<Optimizer()> optimizer;
};

std::vector<Case> cases() {
  namespace o = optimizers;
  std::vector<Case> all = {
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

Nest nest_of(const std::vector<Tensor>& tensors) { return tensors.size() == 1 ? Nest(tensors[0]) : Nest(tensors); }

double difference(const Tensor& a, const Tensor& b) {
  return reduce_max(abs(cast(a, float64) - cast(b, float64))).item<double>();
}

std::vector<Tensor> numbered(const io::NamedArrays& arrays, const std::string& name) {
  std::vector<Tensor> list;
  while (arrays.contains(name + std::to_string(list.size()))) {
    list.push_back(arrays.at(name + std::to_string(list.size())));
  }
  return list;
}

void write(const Case& one, const std::filesystem::path& folder) {
  const Model model = one.make();
  const Optimizer optimizer = one.optimizer();
  std::map<std::string, Tensor> arrays;
  std::vector<Tensor> x, y;
  for (const Shape& shape : one.inputs) {
    const bool is_words = shape == Shape{6, 7};
    const Tensor draw = random::uniform(shape, 0, is_words ? 11 : 1, float32, 7 + x.size());
    x.push_back(is_words ? cast(draw, int32) : draw);
    arrays.emplace("x" + std::to_string(x.size() - 1), x.back());
  }
  for (const Shape& shape : one.outputs) {
    y.push_back(random::uniform(shape, 0, 1, float32, 17 + y.size()));
    arrays.emplace("y" + std::to_string(y.size() - 1), y.back());
  }
  model.compile({.optimizer = optimizer, .loss = losses::MeanSquaredError()});
  for (int step = 0; step < 3; ++step) model.train_on_batch(nest_of(x), nest_of(y));
  int step = 3;
  Checkpoint({{"model", model}, {"optimizer", optimizer}, {"step", step}})
      .write_tensorflow((folder / one.name / "ckpt").string());
  const std::vector<Tensor> outputs = model.predict(nest_of(x)).tensors();
  for (std::size_t i = 0; i < outputs.size(); ++i) arrays.emplace("output" + std::to_string(i), outputs[i]);
  std::vector<double> losses;
  for (int i = 0; i < 3; ++i) losses.push_back(model.train_on_batch(nest_of(x), nest_of(y)).at("loss"));
  arrays.emplace("losses", constant(losses));
  io::save_npz((folder / one.name).string() + ".npz", arrays);
}

bool read(const Case& one, const std::filesystem::path& folder) {
  const Model model = one.make();
  const Optimizer optimizer = one.optimizer();
  const io::NamedArrays arrays = io::load_npz((folder / one.name).string() + ".npz");
  const Nest x = nest_of(numbered(arrays, "x")), y = nest_of(numbered(arrays, "y"));
  model.compile({.optimizer = optimizer, .loss = losses::MeanSquaredError()});
  model(x);  // which makes the weights of a class of one's own
  int step = 0;
  const Checkpoint checkpoint({{"model", model}, {"optimizer", optimizer}, {"step", step}});
  checkpoint.read_tensorflow(latest_checkpoint((folder / one.name).string()).value()).assert_consumed();
  const std::vector<Tensor> outputs = model.predict(x).tensors(), wanted = numbered(arrays, "output");
  double in_outputs = step == 3 && checkpoint.save_counter() == 1 && outputs.size() == wanted.size() ? 0 : 1;
  for (std::size_t i = 0; i < wanted.size(); ++i) in_outputs = std::max(in_outputs, difference(outputs[i], wanted[i]));
  double in_losses = 0;
  for (const double loss : cast(arrays.at("losses"), float64).to_vector<double>()) {
    in_losses = std::max(in_losses, std::abs(model.train_on_batch(x, y).at("loss") - loss));
  }
  const bool is_right = in_outputs < 2e-5 && in_losses < 2e-5;
  std::printf("%-32s outputs %.1e, losses after it %.1e%s\n", one.name.c_str(), in_outputs, in_losses,
              is_right ? "" : "   WRONG");
  return is_right;
}

// Tensors by names, without a Checkpoint.
void write_tensors(const std::filesystem::path& folder) {
  io::save_tensorflow_checkpoint((folder / "tensors").string(),
                                 {{"step", constant(7)}, {"layer/kernel", constant({{1.5f, 2.5f}})}});
}

bool run(const std::string& what, const std::filesystem::path& folder) {
  bool is_right = true;
  if (what == "write") write_tensors(folder);
  for (const Case& one : cases()) {
    try {
      std::filesystem::create_directories(folder / one.name);
      if (what == "write") write(one, folder);
      if (what == "read") is_right &= read(one, folder);
    } catch (const std::exception& error) {
      is_right = false;
      std::printf("%-32s %s\n", one.name.c_str(), error.what());
    }
  }
  return is_right;
}

}  // namespace
}  // namespace capstan

int main(int count, char** arguments) {
  const std::string what = count == 3 ? arguments[1] : "";
  if (what != "write" && what != "read") {
    std::fprintf(stderr, "tensorflow_checkpoints_check write FOLDER | read FOLDER\n");
    return 2;
  }
  return capstan::run(what, arguments[2]) ? 0 : 1;
}
