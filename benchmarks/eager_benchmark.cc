// What an eager op costs: by itself, recorded, with its gradient, with a number, broadcast, under two tapes.
#include <benchmark/benchmark.h>

#include <vector>

#include "capstan/capstan.h"

using namespace capstan;

namespace {

Tensor vector_of(std::int64_t n) { return constant(std::vector<float>(static_cast<std::size_t>(n), 0.999f)); }

void Multiply(benchmark::State& state) {
  const Tensor x = vector_of(state.range(0));
  for (auto _ : state) {
    const Tensor y = x * x;
    benchmark::DoNotOptimize(y.block());
  }
}
BENCHMARK(Multiply)->Arg(1)->Arg(16)->Arg(1000)->Arg(100000);

void MultiplyByNumber(benchmark::State& state) {
  const Tensor x = vector_of(state.range(0));
  for (auto _ : state) {
    const Tensor y = 0.5 * x;
    benchmark::DoNotOptimize(y.block());
  }
}
BENCHMARK(MultiplyByNumber)->Arg(1)->Arg(1000);

void AddRow(benchmark::State& state) {
  const Tensor x = reshape(vector_of(6), {2, 3});
  const Tensor row = vector_of(3);
  for (auto _ : state) {
    const Tensor y = x + row;
    benchmark::DoNotOptimize(y.block());
  }
}
BENCHMARK(AddRow);

void OpenTapeAndDifferentiate(benchmark::State& state) {
  const Tensor x = vector_of(1);
  for (auto _ : state) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = x * x;
    const Tensor gradient = tape.gradient(y, x);
    benchmark::DoNotOptimize(gradient.block());
  }
}
BENCHMARK(OpenTapeAndDifferentiate);

// Per op of a chain of a hundred.
void ChainForwardAndBackward(benchmark::State& state) {
  const Tensor x = vector_of(state.range(0));
  for (auto _ : state) {
    GradientTape tape;
    tape.watch(x);
    Tensor y = x;
    for (int i = 0; i < 50; ++i) {
      y = y * x;
      y = y + x;
    }
    const Tensor gradient = tape.gradient(y, x);
    benchmark::DoNotOptimize(gradient.block());
  }
  state.SetItemsProcessed(state.iterations() * 100);
}
BENCHMARK(ChainForwardAndBackward)->Arg(1)->Arg(1000);

void SecondOrder(benchmark::State& state) {
  const Tensor x = vector_of(1);
  for (auto _ : state) {
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    inner.watch(x);
    const Tensor y = x * x * x;
    const Tensor first = inner.gradient(y, x);
    const Tensor second = outer.gradient(first, x);
    benchmark::DoNotOptimize(second.block());
  }
}
BENCHMARK(SecondOrder);

}  // namespace
