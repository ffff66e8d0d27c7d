// Models in `.keras` archives and `.h5` files between Capstan and Keras: this side. keras_archives.py is the other; see
// README.md.
//
//     keras_archives_check write FOLDER    archives, and what the models in them give
//     keras_archives_check read FOLDER     loads archives of Keras and compares
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/capstan.h"
#include "tests/interop/cases.h"
#include "tests/support/numbered.h"

namespace capstan {
namespace {

using interop::Cases;
using interop::require;
using testing::nest_of;
using testing::numbered;

struct NetOptions : LayerOptions {
  int width = 3;
  static std::span<const OptionField> fields() {
    static constexpr auto all = with_layer_options<NetOptions>({option<&NetOptions::width>("width")});
    return all;
  }
};

// A class of one's own, which Python has under the same name.
class Net : public ConfiguredLayer<Net, NetOptions, ModelBody> {
 public:
  using ConfiguredLayer::ConfiguredLayer;
  static constexpr char kName[] = "Net", kText[] = "Two layers.";

  layers::Dense first{options.width, {.activation = "relu", .name = "first"}};
  layers::Dense second{2, {.name = "second"}};

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override { return second(first(x)); }
};

Model convolutions() {
  return Sequential({layers::Conv2D(4, {3, 3}, {.padding = "same", .input_shape = {8, 8, 1}}),
                     layers::BatchNormalization(), layers::ReLU(), layers::MaxPooling2D(),
                     layers::SeparableConv2D(5, {3, 3}), layers::LayerNormalization(), layers::Dropout(0),
                     layers::Flatten(), layers::Dense(3, {.activation = "softmax", .kernel_regularizer = "l2"})});
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
  const Tensor a = layers::MultiHeadAttention(2, 3)(Nest{h, h}, {.use_causal_mask = true}).tensor();
  const Tensor y = layers::Add()(Nest{x, a});
  return Model(x, layers::Dense(2)(layers::GlobalAveragePooling1D()(y)));
}

Model recurrent() {
  const Tensor x = Input({6, 3});
  const Tensor start = Input({4});
  const auto parts =
      layers::LSTM(4, {.return_sequences = true, .return_state = true})(Nest(x), {.initial_state = Nest{start, start}})
          .tensors();
  const Tensor both = layers::Bidirectional(layers::GRU(3, {.return_sequences = true}))(parts[0]);
  const Tensor each = layers::TimeDistributed(Sequential({layers::Dense(4), layers::ReLU()}))(both);
  const Tensor end = layers::Flatten()(each);
  return Model(Nest{x, start}, layers::Dense(2)(layers::Concatenate()(Nest{end, parts[1]})));
}

struct Case {
  const char* name;
  std::function<Model()> make;
  std::vector<Shape> inputs, outputs;
  Optimizer optimizer;
};

std::vector<Case> cases() {
  return {
      {"convolutions", convolutions, {{6, 8, 8, 1}}, {{6, 3}}, optimizers::Adam({.learning_rate = 0.01})},
      {"shared", shared, {{6, 4}, {6, 4}}, {{6, 2}, {6, 1}}, optimizers::SGD({.learning_rate = 0.05, .momentum = 0.9})},
      {"nested",
       nested,
       {{6, 4}},
       {{6, 2}},
       optimizers::RMSprop({.learning_rate = schedules::ExponentialDecay(0.01, 2, 0.5)})},
      {"attention", attention, {{6, 5, 6}}, {{6, 2}}, optimizers::AdamW({.learning_rate = 0.01})},
      {"recurrent", recurrent, {{6, 6, 3}, {6, 4}}, {{6, 2}}, optimizers::Nadam({.learning_rate = 0.01})},
      {"own_class", [] { return Model(ModelOf<Net>(NetOptions{})); }, {{6, 4}}, {{6, 2}}, optimizers::Adagrad()},
  };
}

void write(const std::filesystem::path& folder) {
  for (const Case& one : cases()) {
    const Model model = one.make();
    std::map<std::string, Tensor> arrays;
    std::vector<Tensor> x, y;
    for (const Shape& shape : one.inputs) {
      x.push_back(random::uniform(shape, 0, 1, float32, 7 + x.size()));
      arrays.emplace("x" + std::to_string(x.size() - 1), x.back());
    }
    for (const Shape& shape : one.outputs) {
      y.push_back(random::uniform(shape, 0, 1, float32, 17 + y.size()));
      arrays.emplace("y" + std::to_string(y.size() - 1), y.back());
    }
    model.compile({.optimizer = one.optimizer, .loss = losses::MeanSquaredError()});
    for (int step = 0; step < 3; ++step) model.train_on_batch(nest_of(x), nest_of(y));
    model.save((folder / one.name).string() + ".keras");
    if (std::string_view(one.name) != "own_class") model.save((folder / one.name).string() + ".h5");
    const std::vector<Tensor> outputs = model.predict(nest_of(x)).tensors();
    for (std::size_t i = 0; i < outputs.size(); ++i) arrays.emplace("output" + std::to_string(i), outputs[i]);
    std::vector<double> losses;
    for (int step = 0; step < 3; ++step) losses.push_back(model.train_on_batch(nest_of(x), nest_of(y)).at("loss"));
    arrays.emplace("losses", constant(losses));
    io::save_npz((folder / one.name).string() + ".npz", arrays);
    std::printf("wrote %s\n", one.name);
  }
}

double difference(const Tensor& a, const Tensor& b) {
  return reduce_max(abs(cast(a, float64) - cast(b, float64))).item<double>();
}

std::string load(const std::filesystem::path& path) {
  const Model model = load_model(path.string());
  const io::NamedArrays arrays = io::load_npz(std::filesystem::path(path).replace_extension(".npz").string());
  const Nest x = nest_of(numbered(arrays, "x")), y = nest_of(numbered(arrays, "y"));
  const std::vector<Tensor> outputs = model.predict(x).tensors(), wanted = numbered(arrays, "output");
  require(outputs.size() == wanted.size(), std::to_string(outputs.size()) + " outputs");
  double in_outputs = 0, in_losses = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) in_outputs = std::max(in_outputs, difference(outputs[i], wanted[i]));
  // What was read is written, and read again.
  const std::string again = path.string() + ".again" + path.extension().string();
  model.save(again);
  const std::vector<Tensor> same = load_model(again).predict(x).tensors();
  std::filesystem::remove(again);
  for (std::size_t i = 0; i < wanted.size(); ++i) in_outputs += difference(same.at(i), outputs[i]);
  for (const double loss : cast(arrays.at("losses"), float64).to_vector<double>()) {
    in_losses = std::max(in_losses, std::abs(model.train_on_batch(x, y).at("loss") - loss) / std::max(1.0, loss));
  }
  char text[80];
  std::snprintf(text, sizeof text, "outputs %.1e, losses after it %.1e apart", in_outputs, in_losses);
  require(in_outputs < 1e-5 && in_losses < 1e-5, text);
  return text;
}

void read(const std::filesystem::path& folder, Cases& cases) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::filesystem::path extension = entry.path().extension();
    if (extension == ".keras" || extension == ".h5") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::filesystem::path& path : paths) cases.run(path.filename().string(), [&] { return load(path); });
}

}  // namespace
}  // namespace capstan

int main(int count, char** arguments) {
  capstan::register_class<capstan::Net>("interop");
  return capstan::interop::write_or_read(count, arguments, capstan::write, capstan::read);
}
