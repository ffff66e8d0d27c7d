// A persistent tape gives the gradients of several targets, one call each. Its memory goes when the tape does.
#include "capstan/capstan.h"
#include "support/transcript.h"

using namespace capstan;

int main() {
  examples::Transcript out;
  const Variable x(2.0);
  GradientTape tape({.persistent = true});
  const Tensor y1 = pow(x, 2);
  const Tensor y2 = pow(x, 3);
  const Tensor grad_y1 = tape.gradient(y1, x);
  const Tensor grad_y2 = tape.gradient(y2, x);
  out.print("d(x^2)/dx = %.1f", grad_y1.item<double>());
  out.print("d(x^3)/dx = %.1f", grad_y2.item<double>());
  return out.finish({{"d(x^2)/dx = 4.0"}, {"d(x^3)/dx = 12.0"}});
}
