// What function() makes of layers: products with what follows them.
#include <benchmark/benchmark.h>

#include "capstan/capstan.h"

using namespace capstan;

namespace {

// {rows, inputs, units}
void Dense(benchmark::State& state) {
  const Tensor x = random::normal({state.range(0), state.range(1)});
  const Variable w(random::normal({state.range(1), state.range(2)}));
  const Variable b(random::normal({state.range(2)}));
  auto f = function([&](const Tensor& in) { return relu(matmul(in, w) + b); });
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
  const double flops = 2.0 * static_cast<double>(x.size() * state.range(2));
  state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Dense)
    ->Args({4096, 64, 256})
    ->Args({4096, 16, 64})
    ->Args({1024, 256, 256})
    ->Args({16384, 128, 128})
    ->UseRealTime();

// {size, channels, units}: 3x3, batch 32, a block of two.
void Convolution(benchmark::State& state) {
  const std::int64_t channels = state.range(1), units = state.range(2);
  const Tensor x = random::normal({32, state.range(0), state.range(0), channels});
  const Variable first(random::normal({3, 3, channels, units}));
  const Variable second(random::normal({3, 3, units, units}));
  const Variable b(random::normal({units}));
  auto f = function([&](const Tensor& in) {
    const Tensor hidden = relu(conv2d(in, first, {1, 1}, "SAME") + b);
    return reduce_sum(tanh(conv2d(hidden, second, {1, 1}, "SAME") + b));
  });
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
}
BENCHMARK(Convolution)->Args({28, 1, 16})->Args({28, 16, 32})->Args({14, 32, 64})->UseRealTime();

}  // namespace
