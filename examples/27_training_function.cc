// A training step as a function of data and variables that returns the loss and the gradients: traced once, in the
// first of a hundred calls.
#include <cstdio>

#include "capstan/capstan.h"
#include "support/transcript.h"

using namespace capstan;

int main() {
  set_seed(5);
  examples::Transcript out;
  auto train_step = function([](const Tensor& x, const Tensor& y, const Variable& w, const Variable& b) {
    GradientTape tape;
    const Tensor y_pred = matmul(x, w) + b;
    const Tensor loss = reduce_mean(square(y - y_pred));
    return std::pair(loss, tape.gradient(loss, {w, b}));
  });
  const Variable w(random::normal({3, 1}));
  const Variable b(zeros({1}));
  const Tensor x = random::normal({10, 3});
  const Tensor y = random::normal({10, 1});

  Tensor first;
  Tensor last;
  for (int i = 0; i < 100; ++i) {
    const auto [loss, grads] = train_step(x, y, w, b);
    w.assign_sub(0.01 * grads[0]);
    b.assign_sub(0.01 * grads[1]);
    if (i == 0) first = loss;
    last = loss;
  }
  out.print("Loss after training: %.4f", last.item<double>());
  if (!(last.item<double>() < first.item<double>())) {
    std::fprintf(stderr, "example: the loss does not fall\n");
    return 1;
  }
  if (tracing_count(train_step) != 1) return 1;
  return out.finish({{"Loss after training: #", {{0.0, 2.3}}}});
}
