// The kernels behind a training step: products, convolutions, reductions, elementwise functions on large tensors.
#include <benchmark/benchmark.h>

#include "capstan/capstan.h"

using namespace capstan;

namespace {

void Matmul(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  const Tensor a = random::normal({n, n});
  const Tensor b = random::normal({n, n});
  for (auto _ : state) benchmark::DoNotOptimize(matmul(a, b).block());
  state.counters["flops"] =
      benchmark::Counter(2.0 * static_cast<double>(n * n * n), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Matmul)->Arg(32)->Arg(64)->Arg(128)->Arg(256)->Arg(512)->Arg(1024);

// 3x3, "SAME", batch 64: {size, channels in, channels out}.
void Conv2D(benchmark::State& state) {
  const Tensor x = random::normal({64, state.range(0), state.range(0), state.range(1)});
  const Tensor filters = random::normal({3, 3, state.range(1), state.range(2)});
  for (auto _ : state) benchmark::DoNotOptimize(conv2d(x, filters, {1, 1}, "SAME").block());
  const double flops =
      2.0 * 64 * 9 * static_cast<double>(state.range(0) * state.range(0) * state.range(1) * state.range(2));
  state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Conv2D)->Args({28, 1, 16})->Args({14, 16, 32})->Args({14, 32, 32})->Args({7, 64, 64});

template <Tensor (*F)(Operand)>
void Elementwise(benchmark::State& state) {
  const Tensor x = random::uniform({state.range(0)}, 0.1, 2);
  for (auto _ : state) benchmark::DoNotOptimize(F(x).block());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(Elementwise<exp>)->Arg(1000)->Arg(1000000);
BENCHMARK(Elementwise<log>)->Arg(1000)->Arg(1000000);
BENCHMARK(Elementwise<tanh>)->Arg(1000)->Arg(1000000);
BENCHMARK(Elementwise<relu>)->Arg(1000)->Arg(1000000);

void ReduceSum(benchmark::State& state) {
  const Tensor x = random::normal({1000, 1000});
  const Axes axes = state.range(0) < 0 ? Axes() : Axes(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(reduce_sum(x, axes).block());
}
BENCHMARK(ReduceSum)->Arg(-1)->Arg(0)->Arg(1);

void BatchNormTraining(benchmark::State& state) {
  const Tensor x = random::normal({64, 28, 28, 16});
  const Tensor scale = ones({16});
  const Tensor offset = zeros({16});
  for (auto _ : state) benchmark::DoNotOptimize(batch_norm_training(x, scale, offset).y.block());
}
BENCHMARK(BatchNormTraining);

}  // namespace
