// A hinge loss: maximum() passes the gradient to the larger operand, and to the first at a tie.
#include "capstan/capstan.h"
#include "support/transcript.h"

using namespace capstan;

namespace {

Tensor hinge_loss(const Tensor& y_true, const Tensor& y_pred) { return reduce_mean(maximum(0.0, 1 - y_true * y_pred)); }

}  // namespace

int main() {
  examples::Transcript out;
  const Tensor x = constant({{2.0}, {-1.5}, {0.0}});
  const Tensor y_true = constant({1.0, -1.0, 1.0});
  const Variable w({{1.0}});
  const Variable b(0.0);
  const double learning_rate = 0.01;

  int steps_with_gradient = 0;
  Tensor loss;
  for (int step = 0; step < 300; ++step) {
    GradientTape tape;
    const Tensor logits = matmul(x, w) + b;
    loss = hinge_loss(y_true, squeeze(logits));
    const auto grads = tape.gradient(loss, {w, b});
    if (step == 0) {
      out.print("first %.7f [[%.1f]] %.7f", loss.item<double>(), grads[0].item<double>(), grads[1].item<double>());
    }
    steps_with_gradient += grads[0].item<double>() != 0;
    w.assign_sub(learning_rate * grads[0]);
    b.assign_sub(learning_rate * grads[1]);
  }
  out.print("last %.5f [[%.5f]] %.5f steps with a gradient for W: %d", loss.item<double>(), w.item<double>(),
            b.item<double>(), steps_with_gradient);
  return out.finish({
      {"first 0.3333333 [[0.0]] -0.3333333"},
      {"last # [[#]] # steps with a gradient for W: 46", {{0.05221, 0.05223}, {1.22999, 1.23001}, {0.84666, 0.84668}}},
  });
}
