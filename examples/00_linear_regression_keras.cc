// A model of one Dense layer learns y = 2x - 1 in a custom training loop: the shape that every such loop has.
//
// The gradients' targets are a loss, its sources the model's variables; the optimizer applies them.
#include "capstan/capstan.h"
#include "support/npz.h"
#include "support/transcript.h"

using namespace capstan;

namespace {

// 1. A model with a layer of its own.
class LinearModel : public ModelBody {
 public:
  LinearModel() { track({dense}); }

  layers::Dense dense{1};

 protected:
  Tensor call(const Tensor& inputs, const CallOptions&) override { return dense(inputs); }
};

}  // namespace

int main() {
  set_seed(42);
  examples::Transcript out;
  ModelOf<LinearModel> model;

  // 2. The data: y = 2x - 1 with noise.
  const auto data = examples::load_npz("000_linear");
  const Tensor x_train = reshape(data.at("x"), {-1, 1});
  const Tensor y_train = reshape(data.at("y"), {-1, 1});

  // 3. Loss and optimizer.
  const losses::MeanSquaredError loss_fn;
  const optimizers::SGD optimizer({.learning_rate = 0.1});

  // 4. The custom training loop.
  constexpr int kEpochs = 50;
  const auto train_dataset = from_tensor_slices(x_train, y_train).shuffle(1024).batch(32);
  out.print("Starting custom training loop...");
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    double total_loss = 0;
    int num_batches = 0;
    for (const auto& [x_batch, y_batch] : train_dataset) {
      GradientTape tape;
      const Tensor predictions = model(x_batch, {.training = true});
      const Tensor loss = loss_fn(y_batch, predictions);
      const auto gradients = tape.gradient(loss, model.trainable_variables());
      optimizer.apply_gradients(gradients, model.trainable_variables());
      total_loss += loss.item<double>();
      ++num_batches;
    }
    if ((epoch + 1) % 10 == 0) out.print("Epoch %d/%d, Loss: %.4f", epoch + 1, kEpochs, total_loss / num_batches);
  }
  out.print("Custom training loop finished.");

  // 5. What it learned.
  const std::vector<Tensor> weights = model->dense.get_weights();
  out.print("%s", "");
  out.print("Learned m (kernel): %.4f", weights[0](0, 0).item<double>());
  out.print("Learned b (bias): %.4f", weights[1](0).item<double>());

  return out.finish({
      {"Starting custom training loop..."},
      {"Epoch 10/50, Loss: #", {{0.02, 0.075}}},
      {"Epoch 20/50, Loss: #", {{0.018, 0.06}}},
      {"Epoch 30/50, Loss: #", {{0.018, 0.06}}},
      {"Epoch 40/50, Loss: #", {{0.018, 0.06}}},
      {"Epoch 50/50, Loss: #", {{0.018, 0.06}}},
      {"Custom training loop finished."},
      {""},
      {"Learned m (kernel): #", {{2.0138 - 0.06, 2.0138 + 0.06}}},
      {"Learned b (bias): #", {{-1.0208 - 0.06, -1.0208 + 0.06}}},
  });
}
