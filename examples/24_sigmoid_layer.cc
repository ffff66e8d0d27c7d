// A layer written by hand: weights, bias, and the cross entropy of its logits.
#include <cstdio>

#include "capstan/capstan.h"
#include "support/transcript.h"

using namespace capstan;

int main() {
  set_seed(3);
  examples::Transcript out;
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}});
  const Tensor y_true = constant({{1.0}, {0.0}});
  const Variable weights(random::normal({2, 1}));
  const Variable bias(zeros({1}));
  const double learning_rate = 0.1;

  double last = 1e9;
  bool falls = true;
  Tensor loss;
  for (int epoch = 0; epoch < 200; ++epoch) {
    GradientTape tape;
    const Tensor logits = matmul(x, weights) + bias;
    loss = reduce_mean(sigmoid_cross_entropy_with_logits(y_true, logits));
    const auto grads = tape.gradient(loss, {weights, bias});
    weights.assign_sub(learning_rate * grads[0]);
    bias.assign_sub(learning_rate * grads[1]);
    if (epoch % 50 == 0) {
      out.print("Epoch %d: Loss = %.4f", epoch, loss.item<double>());
      falls = falls && loss.item<double>() < last;
      last = loss.item<double>();
    }
  }
  out.print("final: Loss = %.4f", loss.item<double>());
  if (!falls || loss.item<double>() >= last) {
    std::fprintf(stderr, "example: the loss does not fall\n");
    return 1;
  }
  return out.finish({
      {"Epoch 0: Loss = #", {{0.40, 5.6}}},
      {"Epoch 50: Loss = #", {{0.15, 0.75}}},
      {"Epoch 100: Loss = #", {{0.10, 0.54}}},
      {"Epoch 150: Loss = #", {{0.10, 0.41}}},
      {"final: Loss = #", {{0.10, 0.32}}},
  });
}
