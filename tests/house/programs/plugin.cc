// A library that contains Capstan, with what goes through functions, branches and threads.
#include <capstan/control_flow.h>
#include <capstan/function.h>
#include <capstan/ops/math.h>
#include <capstan/ops/reduce.h>
#include <capstan/tape.h>

#include <thread>

extern "C" double run() {
  using namespace capstan;
  auto cube = function([](const Tensor& x) {
    return cond(
        x > 1.0, [&] { return x * x * x; }, [&] { return x; });
  });
  double slope = 0;
  std::thread([&] {
    const Tensor x = constant(3.0);
    GradientTape tape;
    tape.watch(x);
    slope = tape.gradient(cube(x), x).item<double>();
  }).join();
  return slope;
}
