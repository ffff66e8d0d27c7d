// A plain tensor has a gradient once the tape is told to watch it: for saliency maps, adversarial examples and the
// like.
#include "capstan/capstan.h"
#include "support/transcript.h"

using namespace capstan;

int main() {
  examples::Transcript out;
  const Tensor x = constant(3.0);  // not a variable
  GradientTape tape;
  tape.watch(x);
  const Tensor y = pow(x, 3);
  const Tensor dy_dx = tape.gradient(y, x);
  out.print("dy/dx of x^3 at x=3: %.1f", dy_dx.item<double>());
  return out.finish({{"dy/dx of x^3 at x=3: 27.0"}});
}
