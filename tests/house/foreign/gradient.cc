// The first program of the README, as somebody writes it who has only installed Capstan.
#include <capstan/capstan.h>

#include <cstdio>

using namespace capstan;

int main() {
  Variable x(3.0f);
  GradientTape tape;
  Tensor y = pow(x, 2);
  Tensor dy_dx = tape.gradient(y, x);
  std::printf("dy/dx = %g\n", dy_dx.item<double>());
  return dy_dx.item<double>() == 6.0 ? 0 : 1;
}
