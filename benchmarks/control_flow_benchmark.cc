// Loops and branches inside functions: what an iteration costs beside its kernels.
#include <benchmark/benchmark.h>

#include <functional>
#include <tuple>
#include <utility>

#include "capstan/capstan.h"

using namespace capstan;

namespace {

// A thousand iterations of five small ops, and the comparison.
void WhileLoopOfSmallOps(benchmark::State& state) {
  const Tensor begin = random::normal({state.range(0)});
  auto f = function([](const Tensor& x) {
    return while_loop(
               [](const Tensor& i, const Tensor&) { return i < 1000.0f; },
               [](const Tensor& i, const Tensor& y) { return std::pair(i + 1.0f, tanh(y * 0.5f + 0.1f) * 0.9f + y); },
               std::pair(constant(0.0f), x))
        .second;
  });
  for (auto _ : state) benchmark::DoNotOptimize(f(begin));
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(WhileLoopOfSmallOps)->Arg(4)->Arg(4096)->UseRealTime();

struct Cell {
  Variable w1, w2, b1, b2;
  explicit Cell(std::int64_t units)
      : w1(random::normal({2 * units, units}) * 0.1),
        w2(random::normal({units, units}) * 0.1),
        b1(zeros({units})),
        b2(zeros({units})) {}
  Tensor operator()(const Tensor& state, const Tensor& row) const {
    const Tensor hidden = relu(matmul(concat({state, row}, 1), w1) + b1);
    return tanh(matmul(hidden, w2) + b2);
  }
};

// {batch, units}: a cell of two dense layers over a hundred steps.
void ScanOfCell(benchmark::State& state) {
  const std::int64_t units = state.range(1);
  const Cell cell(units);
  const Tensor rows = random::normal({100, state.range(0), units});
  const Tensor begin = zeros({state.range(0), units});
  auto f = function([&](const Tensor& x) { return scan(cell, x, begin); });
  for (auto _ : state) benchmark::DoNotOptimize(f(rows));
  state.SetItemsProcessed(state.iterations() * 100);
}
BENCHMARK(ScanOfCell)->Args({1, 16})->Args({32, 32})->UseRealTime();

// The same with its gradient.
void GradientOfScanOfCell(benchmark::State& state) {
  const std::int64_t units = state.range(1);
  const Cell cell(units);
  const Tensor rows = random::normal({100, state.range(0), units});
  const Tensor begin = zeros({state.range(0), units});
  const std::vector<Variable> weights{cell.w1, cell.w2, cell.b1, cell.b2};
  auto f = function([&](const Tensor& x) {
    GradientTape tape;
    const Tensor loss = reduce_mean(square(scan(cell, x, begin)));
    return tape.gradient(loss, weights);
  });
  for (auto _ : state) benchmark::DoNotOptimize(f(rows));
  state.SetItemsProcessed(state.iterations() * 100);
}
BENCHMARK(GradientOfScanOfCell)->Args({1, 16})->Args({32, 32})->UseRealTime();

// A row of points with springs between neighbours: 200 steps of the explicit Euler method, and the gradient of where
// they end by where they begin; as a plain loop, or as a loop in a function. Beside JAX: loop_workloads.
using Moving = std::pair<Tensor, Tensor>;

Moving moved(const Tensor& x, const Tensor& v) {
  const Tensor stretch = x(Slice{1}) - x(Slice{Slice::kEdge, -1}) - 1.0;
  const Tensor force = 10.0 * stretch + 5.0 * stretch * stretch * stretch;
  return {x + 0.01 * v, v + 0.01 * (pad(force, {{0, 1}}) - pad(force, {{1, 0}}))};
}

Tensor gradient_of_springs(const Tensor& begin, const std::function<Moving(const Moving&)>& simulate) {
  GradientTape tape;
  tape.watch(begin);
  return tape.gradient(reduce_sum(square(simulate({begin, zeros_like(begin)}).first)), begin);
}

void GradientOfSpringsInAPlainLoop(benchmark::State& state) {
  const Tensor begin = range(64.0) * 1.1;
  for (auto _ : state) {
    benchmark::DoNotOptimize(gradient_of_springs(begin, [](Moving s) {
      for (int i = 0; i < 200; ++i) s = moved(s.first, s.second);
      return s;
    }));
  }
  state.SetItemsProcessed(state.iterations() * 200);
}
BENCHMARK(GradientOfSpringsInAPlainLoop)->UseRealTime();

void GradientOfSpringsInAWhileLoop(benchmark::State& state) {
  const Tensor begin = range(64.0) * 1.1;
  auto f = function([](const Tensor& x) {
    return gradient_of_springs(x, [](const Moving& s) -> Moving {
      const auto [i, y, w] = while_loop([](const Tensor& k, const Tensor&, const Tensor&) { return k < 200; },
                                        [](const Tensor& k, const Tensor& a, const Tensor& b) {
                                          return std::tuple_cat(std::tuple(k + 1), moved(a, b));
                                        },
                                        std::tuple(constant(0), s.first, s.second));
      return {y, w};
    });
  });
  for (auto _ : state) benchmark::DoNotOptimize(f(begin));
  state.SetItemsProcessed(state.iterations() * 200);
}
BENCHMARK(GradientOfSpringsInAWhileLoop)->UseRealTime();

void GradientOfSpringsInAScan(benchmark::State& state) {
  const Tensor begin = range(64.0) * 1.1;
  auto f = function([](const Tensor& x) {
    return gradient_of_springs(x, [](const Moving& s) {
      return foldl([](const Moving& now, const Tensor&) { return moved(now.first, now.second); }, range(200), s);
    });
  });
  for (auto _ : state) benchmark::DoNotOptimize(f(begin));
  state.SetItemsProcessed(state.iterations() * 200);
}
BENCHMARK(GradientOfSpringsInAScan)->UseRealTime();

}  // namespace
