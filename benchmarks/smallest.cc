// The smallest program that differentiates: its start-up time and its size are what the library costs.
//
//     perf stat -r 20 smallest        or compare with an empty program: tools/startup.sh
#include "capstan/tape.h"

int main() {
  const capstan::Variable x(3.0);
  capstan::GradientTape tape;
  const capstan::Tensor y = x * x;
  return tape.gradient(y, x).item<float>() == 6.0f ? 0 : 1;
}
