// A validation loop needs no tape: the model, a loss and two metrics. The step is a function, for speed.
#include "capstan/capstan.h"
#include "support/npz.h"
#include "support/transcript.h"

using namespace capstan;

int main() {
  set_seed(1);
  examples::Transcript out;
  const Sequential model({
      layers::Dense(32, {.activation = "relu", .input_shape = {10}}),
      layers::Dense(5),
  });
  metrics::Mean val_loss_metric;
  metrics::SparseCategoricalAccuracy val_acc_metric;
  const losses::SparseCategoricalCrossentropy loss_fn({.from_logits = true});

  auto val_step = function(
      [&](const Tensor& x_batch, const Tensor& y_batch) {
        const Tensor logits = model(x_batch, {.training = false});
        const Tensor loss = loss_fn(y_batch, logits);
        val_loss_metric.update_state(loss);
        val_acc_metric.update_state(y_batch, logits);
      },
      {.input_signature = {TensorSpec({-1, 10}), TensorSpec({-1}, int64)}});

  const auto data = examples::load_npz("001_validation");
  val_loss_metric.reset_state();
  val_acc_metric.reset_state();
  for (const auto& [xb, yb] : from_tensor_slices(data.at("x"), data.at("y")).batch(32)) val_step(xb, yb);
  out.print("Val loss: %.4f", val_loss_metric.result().item<double>());
  out.print("Val acc: %.4f", val_acc_metric.result().item<double>());
  if (tracing_count(val_step) != 1) return 1;
  return out.finish({{"Val loss: #", {{1.48, 2.08}}}, {"Val acc: #", {{0.08, 0.31}}}});
}
