// Linear regression with a mean squared error, written out: deterministic to the last digit shown.
#include "capstan/capstan.h"
#include "support/transcript.h"

using namespace capstan;

int main() {
  examples::Transcript out;
  const Tensor x_data = constant({1.0, 2.0, 3.0, 4.0});
  const Tensor y_data = constant({5.0, 8.0, 11.0, 14.0});
  const Variable w(0.0);
  const Variable b(0.0);
  const double learning_rate = 0.01;

  Tensor loss;
  for (int epoch = 0; epoch < 1000; ++epoch) {
    GradientTape tape;
    const Tensor y_pred = w * x_data + b;
    loss = reduce_mean(square(y_data - y_pred));
    const auto gradients = tape.gradient(loss, {w, b});
    w.assign_sub(learning_rate * gradients[0]);
    b.assign_sub(learning_rate * gradients[1]);
    if (epoch % 100 == 0) {
      out.print("Epoch %d: Loss = %.4f, W = %.4f, b = %.4f", epoch, loss.item<double>(), w.item<double>(),
                b.item<double>());
    }
  }
  out.print("final %.6f %.6f %.6f", loss.item<double>(), w.item<double>(), b.item<double>());
  return out.finish({
      {"Epoch 0: Loss = 101.5000, W = 0.5500, b = 0.1900"},
      {"Epoch 100: Loss = 0.0707, W = 3.2206, b = 1.3514"},
      {"Epoch 200: Loss = 0.0388, W = 3.1635, b = 1.5194"},
      {"Epoch 300: Loss = 0.0213, W = 3.1211, b = 1.6439"},
      {"Epoch 400: Loss = 0.0117, W = 3.0897, b = 1.7362"},
      {"Epoch 500: Loss = 0.0064, W = 3.0665, b = 1.8045"},
      {"Epoch 600: Loss = 0.0035, W = 3.0493, b = 1.8552"},
      {"Epoch 700: Loss = 0.0019, W = 3.0365, b = 1.8927"},
      {"Epoch 800: Loss = 0.0011, W = 3.0270, b = 1.9205"},
      {"Epoch 900: Loss = 0.0006, W = 3.0200, b = 1.9411"},
      {"final # # #", {{0.0003220, 0.0003223}, {3.014891, 3.014895}, {1.956211, 1.956216}}},
  });
}
