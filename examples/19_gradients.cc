// Gradients of small functions: of a variable, of a watched tensor, of a gradient, and several from one tape.
#include "capstan/capstan.h"
#include "support/transcript.h"

using namespace capstan;

int main() {
  examples::Transcript out;
  {
    const Variable x(3.0);
    GradientTape tape;
    const Tensor y = x * x * x;
    out.print("%.1f", tape.gradient(y, x).item<double>());
  }
  {
    const Tensor a = constant(2.0);
    GradientTape tape;
    tape.watch(a);
    const Tensor b = a * a + 3;
    out.print("%.1f", tape.gradient(b, a).item<double>());
  }
  {
    const Variable x(5.0);
    GradientTape outer_tape;
    GradientTape inner_tape;
    const Tensor y = x * x;
    const Tensor dy_dx = inner_tape.gradient(y, x);
    const Tensor d2y_dx2 = outer_tape.gradient(dy_dx, x);
    out.print("%.1f", dy_dx.item<double>());
    out.print("%.1f", d2y_dx2.item<double>());
  }
  {
    const Variable x(4.0);
    GradientTape tape({.persistent = true});
    const Tensor y = x * x * x;
    const Tensor dy1_dx = tape.gradient(y, x);
    const Tensor dy2_dx = tape.gradient(y, x);
    out.print("%.1f %.1f", dy1_dx.item<double>(), dy2_dx.item<double>());
  }
  return out.finish({{"27.0"}, {"4.0"}, {"10.0"}, {"2.0"}, {"48.0 48.0"}});
}
