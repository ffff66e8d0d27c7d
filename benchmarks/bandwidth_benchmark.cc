// Ops that are as fast as memory: on tensors of 64 MiB, beside a copy with memcpy. The rate counts the bytes that an op
// must read and write.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "capstan/capstan.h"

using namespace capstan;

namespace {

constexpr std::int64_t kRows = 4096;
constexpr std::int64_t kBytes = kRows * kRows * 4;

void Copy(benchmark::State& state) {
  const std::vector<float> from(static_cast<std::size_t>(kRows * kRows), 1.0f);
  std::vector<float> to(from.size());
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), static_cast<std::size_t>(kBytes));
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * kBytes);
}
BENCHMARK(Copy)->UseRealTime();

template <Tensor (*F)(Operand, Operand)>
void Binary(benchmark::State& state) {
  const Tensor a = random::normal({kRows, kRows});
  const Tensor b = random::normal({kRows, kRows});
  for (auto _ : state) benchmark::DoNotOptimize(F(a, b).block());
  state.SetBytesProcessed(state.iterations() * 3 * kBytes);
}
BENCHMARK(Binary<add>)->Name("Add")->UseRealTime();
BENCHMARK(Binary<multiply>)->Name("Multiply")->UseRealTime();

void Relu(benchmark::State& state) {
  const Tensor x = random::normal({kRows, kRows});
  for (auto _ : state) benchmark::DoNotOptimize(relu(x).block());
  state.SetBytesProcessed(state.iterations() * 2 * kBytes);
}
BENCHMARK(Relu)->UseRealTime();

void RowSums(benchmark::State& state) {
  const Tensor x = random::normal({kRows, kRows});
  for (auto _ : state) benchmark::DoNotOptimize(reduce_sum(x, 1).block());
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(RowSums)->UseRealTime();

void Transpose(benchmark::State& state) {
  const Tensor x = random::normal({kRows, kRows});
  for (auto _ : state) benchmark::DoNotOptimize(transpose(x).block());
  state.SetBytesProcessed(state.iterations() * 2 * kBytes);
}
BENCHMARK(Transpose)->UseRealTime();

// Threads share the memory, so one is what the copy is compared with.
const bool one_thread = [] {
  set_num_threads(1);
  return true;
}();

}  // namespace
