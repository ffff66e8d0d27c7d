// Several losses in one step, which is a function: a task loss and a penalty on the activations of an inner layer.
#include "capstan/capstan.h"
#include "support/npz.h"
#include "support/transcript.h"

using namespace capstan;

namespace {

// The mean square of the first layer's outputs, which encourages sparse representations.
Tensor activation_l2_penalty(const Sequential& model, const Tensor& inputs, double beta = 0.001) {
  const Tensor intermediate = model.layers()[0](inputs);
  return beta * reduce_mean(square(intermediate));
}

}  // namespace

int main() {
  set_seed(0);
  examples::Transcript out;
  const Sequential model({
      layers::Dense(128, {.activation = "relu", .input_shape = {30}}),
      layers::Dense(64, {.activation = "relu"}),
      layers::Dense(10),
  });
  const optimizers::Adam optimizer({.learning_rate = 0.001});
  const losses::SparseCategoricalCrossentropy task_loss_fn({.from_logits = true});

  auto train_step = function(
      [&](const Tensor& x_batch, const Tensor& y_batch) {
        GradientTape tape;
        const Tensor logits = model(x_batch, {.training = true});
        const Tensor task_loss = task_loss_fn(y_batch, logits);
        const Tensor reg_loss = activation_l2_penalty(model, x_batch);
        const Tensor total_loss = task_loss + reg_loss;
        const auto gradients = tape.gradient(total_loss, model.trainable_variables());
        optimizer.apply_gradients(gradients, model.trainable_variables());
        return std::tuple(task_loss, reg_loss, total_loss);
      },
      {.input_signature = {TensorSpec({-1, 30}), TensorSpec({-1}, int64)}});

  const auto data = examples::load_npz("001_losses");
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::tuple<Tensor, Tensor, Tensor> last;
    for (const auto& [xb, yb] : from_tensor_slices(data.at("x"), data.at("y")).batch(64)) last = train_step(xb, yb);
    const auto& [task, reg, total] = last;
    out.print("Epoch %d: task=%.4f, reg=%.4f, total=%.4f", epoch + 1, task.item<double>(), reg.item<double>(),
              total.item<double>());
  }
  if (tracing_count(train_step) != 1) return 1;
  return out.finish({
      {"Epoch 1: task=#, reg=#, total=#", {{1.90, 2.96}, {0.0001, 0.0003}, {1.90, 2.96}}},
      {"Epoch 2: task=#, reg=#, total=#", {{1.74, 2.64}, {0.0001, 0.0003}, {1.74, 2.64}}},
  });
}
