// Simulations: many iterations over small tensors, and the gradient of where they end by where they begin.
//
//     loop_workloads --workload NAME[,NAME...]|all|list --mode eager|while_loop|scan --threads N --seconds S
//
// A row of points with springs between neighbours takes 200 steps of the explicit Euler method. The modes are a plain
// loop under a tape, and a while_loop or a scan in a function. The protocol is that of protocol/protocol.h;
// peers/jax_loops.py has the same workloads as a scan under jit.
#include <stdexcept>
#include <string>
#include <utility>

#include "benchmarks/protocol/filled.h"
#include "benchmarks/protocol/protocol.h"
#include "capstan/capstan.h"

using namespace capstan;
using namespace capstan::benchmarks;

namespace {

constexpr int kPoints = 64;
constexpr int kSteps = 200;
constexpr double kTimeStep = 0.01;

using Moving = std::pair<Tensor, Tensor>;  // positions and velocities

// The springs pull like 10 s if they are longer by s than they want to be, and like 10 s + 5 s^3 if they stiffen.
Moving next(const Tensor& x, const Tensor& v, bool stiffening) {
  const Tensor stretch = x(Slice{1}) - x(Slice{Slice::kEdge, -1}) - 1.0;
  Tensor force = 10.0 * stretch;
  if (stiffening) force = force + 5.0 * stretch * stretch * stretch;
  const Tensor acceleration = pad(force, {{0, 1}}) - pad(force, {{1, 0}});
  return {x + kTimeStep * v, v + kTimeStep * acceleration};
}

Moving simulated(const std::string& mode, const Moving& begin, bool stiffening) {
  if (mode == "while_loop") {
    const auto [i, x, v] = while_loop([](const Tensor& n, const Tensor&, const Tensor&) { return n < kSteps; },
                                      [&](const Tensor& n, const Tensor& y, const Tensor& w) {
                                        auto [moved, faster] = next(y, w, stiffening);
                                        return std::tuple(n + 1, std::move(moved), std::move(faster));
                                      },
                                      std::tuple(constant(0), begin.first, begin.second));
    return {x, v};
  }
  if (mode == "scan") {
    return foldl([&](const Moving& state, const Tensor&) { return next(state.first, state.second, stiffening); },
                 range(kSteps), begin);
  }
  Moving state = begin;
  for (int i = 0; i < kSteps; ++i) state = next(state.first, state.second, stiffening);
  return state;
}

Workload spring(DType dtype, bool stiffening) {
  return [=](const Arguments& arguments, const std::string& name) {
    const auto gradient = [&](const Tensor& x, const Tensor& v) {
      GradientTape tape;
      tape.watch(x);
      tape.watch(v);
      const Tensor end = simulated(arguments.mode, {x, v}, stiffening).first;
      return tape.gradient(reduce_sum(end * end), std::pair(x, v));
    };
    const Tensor x = cast(range(static_cast<double>(kPoints)) * 1.1, dtype) + cast(filled({kPoints}, 1, 0.2), dtype);
    const Tensor v = cast(filled({kPoints}, 2), dtype);
    auto traced = function(gradient);
    const auto step = [&] { return arguments.mode == "eager" ? gradient(x, v) : traced(x, v); };
    const auto [of_x, of_v] = step();
    measure(arguments, name, [&] { step(); },
            {.check = {reduce_sum(of_x * of_x).item<double>(), reduce_sum(of_v * of_v).item<double>()}});
  };
}

const Workloads& workloads() {
  static const Workloads list = {
      {"spring", spring(DType::kFloat32, false)},
      {"spring_f64", spring(DType::kFloat64, false)},
      {"stiff_spring", spring(DType::kFloat32, true)},
      {"stiff_spring_f64", spring(DType::kFloat64, true)},
  };
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  return run_workloads(argc, argv,
                       {.name = "capstan", .modes = {"eager", "while_loop", "scan"}, .set_threads = set_num_threads},
                       workloads());
}
