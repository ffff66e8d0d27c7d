// What the toolkit adds: training by fit() beside a loop of one's own, and a call of layers beside the same ops.
//
//     toolkit_workloads --workload NAME[,NAME...]|all|list --mode toolkit|by_hand --threads N --seconds S
//
// The protocol is that of protocol/protocol.h; times of trainings are per step. peers/keras_fit.py trains `fit_mlp`
// with Keras's fit().
#include <cmath>
#include <string>
#include <vector>

#include "benchmarks/protocol/filled.h"
#include "benchmarks/protocol/protocol.h"
#include "capstan/capstan.h"

using namespace capstan;
using namespace capstan::benchmarks;

namespace {

Tensor labels(std::int64_t n, int classes) {
  return cast(floormod(7 * range(static_cast<double>(n)) + 3, static_cast<double>(classes)), int32);
}

// One epoch over the examples, in their order, which leaves the mean loss as both ways report it.
void train(const Arguments& arguments, const std::string& name, const Sequential& model, const Tensor& x,
           const Tensor& y, std::int64_t batch_size) {
  const optimizers::Adam optimizer({.learning_rate = 1e-3});
  const losses::SparseCategoricalCrossentropy loss_of({.from_logits = true});
  const double steps = std::ceil(static_cast<double>(x.dim(0)) / static_cast<double>(batch_size));
  if (arguments.mode == "toolkit") {
    model.compile({.optimizer = optimizer, .loss = loss_of});
    const auto epoch = [&] {
      return model.fit(x, y, {.batch_size = batch_size, .verbose = 0, .shuffle = false})["loss"].back();
    };
    const double first = epoch();
    measure(arguments, name, [&] { epoch(); }, {.per = steps, .check = {first}});
    return;
  }
  const metrics::Mean mean_loss("loss");
  auto step = function([&](const Tensor& batch, const Tensor& truth) {
    GradientTape tape;
    const Tensor loss = loss_of(truth, model(batch, {.training = true}));
    optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
    mean_loss.update_state(loss, size(truth));
  });
  const auto batches = from_tensor_slices(x, y).batch(batch_size);
  const auto epoch = [&] {
    mean_loss.reset_state();
    for (const auto& [batch, truth] : batches) step(batch, truth);
    return mean_loss.result().item<double>();
  };
  const double first = epoch();
  measure(arguments, name, [&] { epoch(); }, {.per = steps, .check = {first}});
}

// 20-64-32-5, the weights of peers/protocol.py.
Sequential mlp() {
  const std::vector<int> units = {20, 64, 32, 5};
  Sequential model;
  std::vector<Tensor> weights;
  for (std::size_t i = 0; i + 1 < units.size(); ++i) {
    const int seed = 2 * static_cast<int>(i) + 1;
    model.add(layers::Dense(units[i + 1], {.activation = i + 2 < units.size() ? "relu" : "linear"}));
    weights.push_back(filled({units[i], units[i + 1]}, seed, std::sqrt(6.0 / (units[i] + units[i + 1]))));
    weights.push_back(filled({units[i + 1]}, seed + 1, 0.1));
  }
  model(zeros({1, units[0]}));
  model.set_weights(weights);
  return model;
}

void fit_mlp(const Arguments& arguments, const std::string& name) {
  train(arguments, name, mlp(), filled({4096, 20}, 50), labels(4096, 5), 32);
}

void fit_mnist(const Arguments& arguments, const std::string& name) {
  set_seed(1);
  const Sequential model({
      layers::Conv2D(16, {3, 3}, {.padding = "same", .activation = "relu", .input_shape = {28, 28, 1}}),
      layers::BatchNormalization(),
      layers::MaxPooling2D({2, 2}),
      layers::Conv2D(32, {3, 3}, {.padding = "same", .activation = "relu"}),
      layers::BatchNormalization(),
      layers::MaxPooling2D({2, 2}),
      layers::Flatten(),
      layers::Dense(64, {.activation = "relu"}),
      layers::Dropout(0.5),
      layers::Dense(10),
  });
  train(arguments, name, model, 0.5 + 0.5 * filled({1024, 28, 28, 1}, 60), labels(1024, 10), 64);
}

// One example, so that the calls cost more than the products.
void forward_mlp(const Arguments& arguments, const std::string& name) {
  const Sequential model = mlp();
  const Tensor x = filled({1, 20}, 50);
  const Tensor result = model(x);
  const std::vector<Variable> w = model.weights();
  const auto by_hand = [&] {
    const Tensor first = relu(bias_add(matmul(x, w[0]), w[1]));
    const Tensor second = relu(bias_add(matmul(first, w[2]), w[3]));
    return bias_add(matmul(second, w[4]), w[5]);
  };
  const bool is_toolkit = arguments.mode == "toolkit";
  measure(arguments, name,
          [&] {
            const Tensor y = is_toolkit ? model(x) : by_hand();
            static_cast<void>(y);
          },
          {.check = {reduce_sum(result - by_hand()).item<double>()}});
}

const Workloads& workloads() {
  static const Workloads list = {{"fit_mlp", fit_mlp}, {"fit_mnist", fit_mnist}, {"forward_mlp", forward_mlp}};
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  return run_workloads(argc, argv, {.name = "capstan", .modes = {"toolkit", "by_hand"}, .set_threads = set_num_threads},
                       workloads());
}
