// Logs for TensorBoard: this side. tensorboard_logs.py reads them; see README.md.
//
//     tensorboard_logs_check write FOLDER    a log of each kind in FOLDER/all, a training in FOLDER/training
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/interop/cases.h"

namespace capstan {
namespace {

constexpr int kSteps = 20;

void write_all(const std::string& folder) {
  const summary::Writer writer = summary::create_file_writer(folder);
  writer.hparams({{"rate", 0.5}, {"optimizer", "adam"}, {"units", 16}, {"bias", true}}, {.trial_id = "first"});
  const Tensor hundred = cast(range(100), float32);
  for (int step = 0; step < kSteps; ++step) {
    writer.scalar("loss", 2.0 / (step + 1), step, step == 0 ? "falls" : "");
    writer.scalar("group/accuracy", 1 - 1.0 / (step + 1), step);
    writer.histogram("weights", hundred * (step + 1), step, {.buckets = 10});
  }
  const Tensor y = reshape(range(24), {1, 24, 1, 1}), x = reshape(range(32), {1, 1, 32, 1});
  writer.image("picture", cast(y * 4 + x * 3 + reshape(range(3) * 20, {1, 1, 1, 3}), uint8), 3);
  writer.image("two", concat(std::vector<Tensor>{zeros({1, 8, 8, 1}), ones({1, 8, 8, 1})}, 0), 3);
  writer.text("note", "some **markdown** text, ü", 5);
  writer.text("table", Texts::rows({{"a", "b"}, {"c", "d"}}), 5);
  auto squares = function([](const Tensor& t) { return reduce_sum(square(t) + 1.0F); });
  writer.graph(squares.get_concrete(ones({4})).graph_nodes());
  writer.embedding("words", reshape(hundred, {20, 5}) / 8, {.labels = std::vector<std::string>(20, "a word")});
  writer.close();
}

void write_training(const std::string& folder) {
  set_seed(3);
  const Tensor x = random::uniform({64, 4}, -1, 1, float32, 5), y = reduce_sum(x, {1}, {.keepdims = true});
  const Sequential model({layers::Dense(8, {.activation = "tanh", .input_shape = {4}}), layers::Dense(1)});
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.02}), .loss = "mse", .metrics = {"mae"}});
  const callbacks::TensorBoard board(folder, {.histogram_freq = 1, .write_images = true, .update_freq = "batch"});
  const History history = model.fit(x, y, {.batch_size = 16, .epochs = 5, .verbose = 0, .callbacks = {board}});
  std::map<std::string, Tensor> columns;
  for (const auto& [name, values] : history.history) columns.emplace(name, constant(values));
  io::save_npz(folder + ".npz", columns);
}

void write(const std::string& folder) {
  write_all(folder + "/logs/all");
  write_training(folder + "/logs/training");
}

}  // namespace
}  // namespace capstan

int main(int count, char** arguments) {
  return capstan::interop::write_or_read(count, arguments, capstan::write,
                                         [](const std::string&, const capstan::interop::Cases&) {});
}
