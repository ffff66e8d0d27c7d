// x^3 at 3 in the ways of the tutorial: a watched constant, a variable, a variable that is not watched, nested tapes.
#include "capstan/capstan.h"
#include "support/transcript.h"

using namespace capstan;

int main() {
  examples::Transcript out;
  {
    const Tensor x = constant(3.0);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = pow(x, 3);
    out.print("%.1f", tape.gradient(y, x).item<double>());
  }
  {
    const Variable x(3.0, {.trainable = true});
    GradientTape tape;
    const Tensor y = pow(x, 3);
    out.print("%.1f", tape.gradient(y, x).item<double>());
  }
  {
    const Variable x(3.0, {.trainable = true});
    GradientTape tape({.watch_accessed_variables = false});
    const Tensor y = pow(x, 3);
    const Tensor gradient = tape.gradient(y, x);
    out.print("%s", gradient.has_value() ? gradient.to_string().c_str() : "None");
  }
  {
    const Variable x(3.0, {.trainable = true});
    GradientTape tape1;
    GradientTape tape2;
    const Tensor y = pow(x, 3);
    const Tensor order_1 = tape2.gradient(y, x);
    const Tensor order_2 = tape1.gradient(order_1, x);
    out.print("%.1f", order_2.item<double>());
  }
  return out.finish({{"27.0"}, {"27.0"}, {"None"}, {"18.0"}});
}
