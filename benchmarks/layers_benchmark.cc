// What transformers and mobile networks spend their time in, forward and backward.
#include <benchmark/benchmark.h>

#include "capstan/capstan.h"

using namespace capstan;

namespace {

// {batch, heads, length, depth}, and whether queries see only what stands before them.
void Attention(benchmark::State& state) {
  const Shape shape{state.range(0), state.range(1), state.range(2), state.range(3)};
  const Tensor q = random::normal(shape);
  const Tensor k = random::normal(shape);
  const Tensor v = random::normal(shape);
  const Tensor g = random::normal(shape);
  const AttentionOptions options{.causal = state.range(4) != 0};
  for (auto _ : state) {
    GradientTape tape;
    tape.watch(std::vector<Tensor>{q, k, v});
    const Tensor y = scaled_dot_product_attention(q, k, v, options);
    benchmark::DoNotOptimize(tape.gradient(y, std::vector<Tensor>{q, k, v}, {.output_gradients = {g}}));
  }
  // Two products forward, five backward.
  const double flops = 14.0 * static_cast<double>(shape.size() * state.range(2));
  state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Attention)
    ->Args({32, 4, 128, 32, 0})
    ->Args({32, 4, 128, 32, 1})
    ->Args({8, 8, 512, 64, 0})
    ->Args({1, 8, 2048, 64, 1})
    ->UseRealTime();

// {rows, units}
void LayerNorm(benchmark::State& state) {
  const Tensor x = random::normal({state.range(0), state.range(1)});
  const Tensor scale = random::normal({state.range(1)});
  const Tensor offset = random::normal({state.range(1)});
  const Tensor g = random::normal(x.shape());
  for (auto _ : state) {
    GradientTape tape;
    tape.watch(std::vector<Tensor>{x, scale, offset});
    const Tensor y = layer_normalization(x, scale, offset);
    benchmark::DoNotOptimize(tape.gradient(y, std::vector<Tensor>{x, scale, offset}, {.output_gradients = {g}}));
  }
  // x read and y written; x and g read and the gradient written.
  state.SetBytesProcessed(state.iterations() * 5 * x.size() * 4);
}
BENCHMARK(LayerNorm)->Args({4096, 512})->Args({64, 512})->UseRealTime();

// {size, channels, stride}, batch 32, 3x3, "SAME".
void Depthwise(benchmark::State& state) {
  const Tensor x = random::normal({32, state.range(0), state.range(0), state.range(1)});
  const Tensor filters = random::normal({3, 3, state.range(1), 1});
  const std::int64_t stride = state.range(2);
  for (auto _ : state) {
    GradientTape tape;
    tape.watch(std::vector<Tensor>{x, filters});
    const Tensor y = depthwise_conv2d(x, filters, {stride, stride}, "SAME");
    benchmark::DoNotOptimize(tape.gradient(y, std::vector<Tensor>{x, filters}));
  }
  const double flops = 3 * 2.0 * 9 * static_cast<double>(x.size()) / static_cast<double>(stride * stride);
  state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Depthwise)->Args({56, 64, 1})->Args({28, 128, 2})->Args({14, 512, 1})->UseRealTime();

// {dilation, groups}: [16, 28, 28, 64], 3x3, "SAME", forward.
void Conv2DGeneral(benchmark::State& state) {
  const Tensor x = random::normal({16, 28, 28, 64});
  const Tensor filters = random::normal({3, 3, 64 / state.range(1), 64});
  const std::int64_t dilation = state.range(0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(conv2d(x, filters, {1, 1}, "SAME", {dilation, dilation}).block());
  }
  const std::int64_t products = x.size() * 64 / state.range(1);
  const double flops = 2.0 * 9 * static_cast<double>(products);
  state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Conv2DGeneral)->Args({1, 1})->Args({2, 1})->Args({1, 4})->UseRealTime();

void Conv3D(benchmark::State& state) {
  const Tensor x = random::normal({4, 16, 16, 16, 32});
  const Tensor filters = random::normal({3, 3, 3, 32, 32});
  for (auto _ : state) {
    GradientTape tape;
    tape.watch(std::vector<Tensor>{x, filters});
    const Tensor y = conv3d(x, filters, {1, 1, 1}, "SAME");
    benchmark::DoNotOptimize(tape.gradient(y, std::vector<Tensor>{x, filters}));
  }
  const double flops = 3 * 2.0 * 27 * 32 * static_cast<double>(x.size());
  state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Conv3D)->UseRealTime();

}  // namespace
