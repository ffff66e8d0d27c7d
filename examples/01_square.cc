// The smallest tape: the derivative of x^2. A trainable variable is watched when it is read.
#include "capstan/capstan.h"
#include "support/transcript.h"

using namespace capstan;

int main() {
  examples::Transcript out;
  const Variable x(3.0);
  GradientTape tape;
  const Tensor y = pow(x, 2);
  const Tensor dy_dx = tape.gradient(y, x);  // 2x
  out.print("y = %.1f", y.item<double>());
  out.print("dy/dx = %.1f", dy_dx.item<double>());
  return out.finish({{"y = 9.0"}, {"dy/dx = 6.0"}});
}
