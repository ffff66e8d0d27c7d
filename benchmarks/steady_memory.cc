// A hundred thousand training steps of a small model, each with a fresh tape: memory does not grow.
//
//     steady_memory [STEPS]
//
// Prints the resident memory after a tenth of the steps and at the end, in KiB.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "capstan/capstan.h"

using namespace capstan;

namespace {

long resident_kib() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  long pages = 0;
  long resident = 0;
  const int read = std::fscanf(file, "%ld %ld", &pages, &resident);
  std::fclose(file);
  return read == 2 ? resident * 4 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const long steps = argc > 1 ? std::atol(argv[1]) : 100'000;
  const Sequential model({layers::Dense(16, {.activation = "relu", .input_shape = {8}}), layers::Dense(1)});
  const optimizers::Adam optimizer;
  const Tensor x = random::normal({16, 8});
  const Tensor y = random::normal({16, 1});
  long early = 0;
  for (long i = 0; i < steps; ++i) {
    GradientTape tape;
    const Tensor loss = losses::mean_squared_error(y, model(x, {.training = true}));
    optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
    if (i + 1 == steps / 10) early = resident_kib();
  }
  const long late = resident_kib();
  std::printf("after %ld steps: %ld KiB\nafter %ld steps: %ld KiB\ngrowth: %ld KiB\n", steps / 10, early, steps, late,
              late - early);
  return 0;
}
