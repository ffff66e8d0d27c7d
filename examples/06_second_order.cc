// The gradient of a gradient: the outer tape records the ops with which the inner one computes.
#include "capstan/capstan.h"
#include "support/transcript.h"

using namespace capstan;

int main() {
  examples::Transcript out;
  const Variable x(2.0);
  GradientTape tape2;
  GradientTape tape1;
  const Tensor y = pow(x, 4);
  const Tensor dy_dx = tape1.gradient(y, x);        // 4x^3
  const Tensor d2y_dx2 = tape2.gradient(dy_dx, x);  // 12x^2
  out.print("x = %.1f", x.item<double>());
  out.print("y = x^4 = %.1f", y.item<double>());
  out.print("dy/dx = 4x^3 = %.1f", dy_dx.item<double>());
  out.print("d²y/dx² = 12x^2 = %.1f", d2y_dx2.item<double>());
  return out.finish({{"x = 2.0"}, {"y = x^4 = 16.0"}, {"dy/dx = 4x^3 = 32.0"}, {"d²y/dx² = 12x^2 = 48.0"}});
}
