// Checkpoints of trainings between Capstan and TensorFlow: this side. tensorflow_checkpoints.py is the other; see
// README.md.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/interop/cases.h"
#include "tests/support/numbered.h"
#include "tests/support/tensorflow_trainings.h"

namespace capstan {
namespace {

using testing::nest_of;
using testing::numbered;

double difference(const Tensor& a, const Tensor& b) {
  return reduce_max(abs(cast(a, float64) - cast(b, float64))).item<double>();
}

void write(const testing::Training& one, const std::filesystem::path& folder) {
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
  const Checkpoint checkpoint({{"model", model}, {"optimizer", optimizer}, {"step", step}});
  CheckpointManager(checkpoint, (folder / one.name).string(), {.tensorflow_format = true}).save();
  const std::vector<Tensor> outputs = model.predict(nest_of(x)).tensors();
  for (std::size_t i = 0; i < outputs.size(); ++i) arrays.emplace("output" + std::to_string(i), outputs[i]);
  std::vector<double> losses;
  for (int i = 0; i < 3; ++i) losses.push_back(model.train_on_batch(nest_of(x), nest_of(y)).at("loss"));
  arrays.emplace("losses", constant(losses));
  io::save_npz((folder / one.name).string() + ".npz", arrays);
}

std::string restore(const testing::Training& one, const std::filesystem::path& folder) {
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
  interop::require(step == 3 && checkpoint.save_counter() == 1, "the counts differ");
  interop::require(outputs.size() == wanted.size(), "the number of outputs differs");
  double in_outputs = 0, in_losses = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) in_outputs = std::max(in_outputs, difference(outputs[i], wanted[i]));
  for (const double loss : cast(arrays.at("losses"), float64).to_vector<double>()) {
    in_losses = std::max(in_losses, std::abs(model.train_on_batch(x, y).at("loss") - loss));
  }
  char text[80];
  std::snprintf(text, sizeof text, "outputs %.1e, losses after it %.1e apart", in_outputs, in_losses);
  interop::require(in_outputs < 2e-5 && in_losses < 2e-5, text);
  return text;
}

void write_all(const std::string& folder) {
  // Tensors by names, without a Checkpoint.
  io::save_tensorflow_checkpoint(folder + "/tensors",
                                 {{"step", constant(7)}, {"layer/kernel", constant({{1.5f, 2.5f}})}});
  for (const testing::Training& one : testing::trainings()) {
    std::filesystem::create_directories(std::filesystem::path(folder) / one.name);
    write(one, folder);
  }
}

void read_all(const std::string& folder, interop::Cases& cases) {
  for (const testing::Training& one : testing::trainings()) cases.run(one.name, [&] { return restore(one, folder); });
}

}  // namespace
}  // namespace capstan

int main(int count, char** arguments) {
  return capstan::interop::write_or_read(count, arguments, capstan::write_all, capstan::read_all);
}
