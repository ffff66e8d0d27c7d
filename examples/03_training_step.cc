// A complete training step as a function: three Dense layers, Adam, and a metric.
//
// function() runs its C++ code while it is traced, and the graph of its ops at every call. The last batch is shorter
// than the others; with a signature whose first length is open one trace serves both.
//
// The batches are shuffled, not the examples in them, because shuffle() stands behind batch(), as in the tutorial.
#include "capstan/capstan.h"
#include "support/npz.h"
#include "support/transcript.h"

using namespace capstan;

int main() {
  set_seed(42);
  examples::Transcript out;
  const Sequential model({
      layers::Dense(64, {.activation = "relu", .input_shape = {20}}),
      layers::Dense(32, {.activation = "relu"}),
      layers::Dense(5),
  });
  const optimizers::Adam optimizer({.learning_rate = 0.001});
  const losses::SparseCategoricalCrossentropy loss_fn({.from_logits = true});
  const metrics::SparseCategoricalAccuracy train_accuracy;

  auto train_step = function(
      [&](const Tensor& x_batch, const Tensor& y_batch) {
        GradientTape tape;
        const Tensor logits = model(x_batch, {.training = true});
        const Tensor loss = loss_fn(y_batch, logits);
        const auto gradients = tape.gradient(loss, model.trainable_variables());
        optimizer.apply_gradients(gradients, model.trainable_variables());
        train_accuracy.update_state(y_batch, logits);
        return loss;
      },
      {.input_signature = {TensorSpec({-1, 20}), TensorSpec({-1}, int64)}});

  const auto data = examples::load_npz("001_training_step");
  const auto dataset = from_tensor_slices(data.at("x"), data.at("y")).batch(32).shuffle(500);
  for (int epoch = 0; epoch < 3; ++epoch) {
    train_accuracy.reset_state();
    double epoch_loss = 0;
    int num_batches = 0;
    for (const auto& [x_batch, y_batch] : dataset) {
      epoch_loss += train_step(x_batch, y_batch).item<double>();
      ++num_batches;
    }
    out.print("Epoch %d: loss=%.4f, acc=%.4f", epoch + 1, epoch_loss / num_batches,
              train_accuracy.result().item<double>());
  }
  if (tracing_count(train_step) != 1) return 1;
  return out.finish({
      {"Epoch 1: loss=#, acc=#", {{1.58, 1.83}, {0.14, 0.26}}},
      {"Epoch 2: loss=#, acc=#", {{1.56, 1.68}, {0.17, 0.31}}},
      {"Epoch 3: loss=#, acc=#", {{1.53, 1.64}, {0.19, 0.35}}},
  });
}
