// Linear regression by hand: y = 10x + 5 from a sum of absolute errors, 100,000 steps of a fixed size.
//
// The subgradient of the sum jumps, so a and b oscillate around 10 and 5.
#include "capstan/capstan.h"
#include "support/transcript.h"

using namespace capstan;

namespace {

Tensor loss(const Tensor& real_y, const Tensor& pred_y) { return abs(real_y - pred_y); }

}  // namespace

int main() {
  examples::Transcript out;
  // Training data: integers, which become float32 to meet the variables.
  const Tensor x_train = cast(range(11), float32);
  const Tensor y_train = x_train * 10 + 5;

  const Tensor start = random::uniform({2}, 0, 1, float32, 7);
  const Variable a(start(0));
  const Variable b(start(1));

  const auto step = [&](const Tensor& real_x, const Tensor& real_y) {
    GradientTape tape({.persistent = true});
    const Tensor pred_y = a * real_x + b;
    const Tensor reg_loss = loss(real_y, pred_y);
    const auto [a_gradients, b_gradients] = tape.gradient(reg_loss, std::pair(a, b));
    a.assign_sub(a_gradients * 0.001);
    b.assign_sub(b_gradients * 0.001);
  };
  for (int i = 0; i < 100000; ++i) step(x_train, y_train);

  out.print("y ≈ %.16gx + %.16g", a.item<double>(), b.item<double>());
  return out.finish({{"y ≈ #x + #", {{9.94, 10.06}, {4.98, 5.02}}}});
}
