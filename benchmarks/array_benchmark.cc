// Ops that move elements: sorting, transposes, gathers, each beside what it is measured against.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "capstan/capstan.h"

using namespace capstan;

namespace {

void StdSort(benchmark::State& state) {
  const std::vector<float> values = random::normal({state.range(0)}).to_vector<float>();
  for (auto _ : state) {
    std::vector<float> copy = values;
    std::sort(copy.begin(), copy.end());
    benchmark::DoNotOptimize(copy.data());
  }
}
BENCHMARK(StdSort)->Arg(100)->Arg(10000)->Arg(1000000);

void Sort(benchmark::State& state) {
  const Tensor x = random::normal({state.range(0)});
  for (auto _ : state) benchmark::DoNotOptimize(sort(x).block());
}
BENCHMARK(Sort)->Arg(100)->Arg(10000)->Arg(1000000);

void Argsort(benchmark::State& state) {
  const Tensor x = random::normal({state.range(0)});
  for (auto _ : state) benchmark::DoNotOptimize(argsort(x).block());
}
BENCHMARK(Argsort)->Arg(10000)->Arg(1000000);

void TopK(benchmark::State& state) {
  const Tensor x = random::normal({1000000});
  for (auto _ : state) benchmark::DoNotOptimize(top_k(x, state.range(0)).values.block());
}
BENCHMARK(TopK)->Arg(10)->Arg(10000);

// 64 MiB of float32: what a transpose of them is measured against.
void Copy(benchmark::State& state) {
  const Tensor x = random::normal({4096, 4096});
  for (auto _ : state) benchmark::DoNotOptimize(reverse(x, Axes(std::span<const int>())).block());
  state.SetBytesProcessed(state.iterations() * (std::int64_t{128} << 20));
}
BENCHMARK(Copy);

// {rows, columns}
void Transpose(benchmark::State& state) {
  const Tensor x = random::normal({state.range(0), state.range(1)});
  for (auto _ : state) benchmark::DoNotOptimize(transpose(x).block());
  state.SetBytesProcessed(state.iterations() * state.range(0) * state.range(1) * 8);
}
BENCHMARK(Transpose)->Args({4096, 4096})->Args({16384, 1024})->Args({1000, 16777})->Args({256, 256});

// Rows of a table, {rows picked, width}.
void Gather(benchmark::State& state) {
  const Tensor table = random::normal({100000, state.range(1)});
  const Tensor rows = cast(random::uniform({state.range(0)}, 0, 100000), int32);
  for (auto _ : state) benchmark::DoNotOptimize(gather(table, rows).block());
  state.SetBytesProcessed(state.iterations() * state.range(0) * state.range(1) * 8);
}
BENCHMARK(Gather)->Args({1000000, 1})->Args({100000, 64});

}  // namespace
