// A training step of an embedding: 512 rows of a table of 100,000 x 64, with each optimizer, plain and as a function.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "capstan/capstan.h"

using namespace capstan;

namespace {

constexpr std::int64_t kRows = 100'000, kWidth = 64, kPicked = 512;

template <class Make>
void step(benchmark::State& state, const Make& make) {
  const Variable table(random::uniform({kRows, kWidth}, -1, 1, float32, 1));
  const Tensor ids = random::uniform({kPicked}, 0, kRows, int32, 2);
  const Tensor wanted = random::uniform({kPicked, kWidth}, -1, 1, float32, 3);
  const auto optimizer = make();
  const auto train = [&](const Tensor& picked, const Tensor& y) {
    GradientTape tape;
    const Tensor loss = reduce_mean(square(embedding_lookup(table, picked) - y));
    optimizer.apply_gradients({tape.gradient(loss, table)}, {table});
    return loss;
  };
  auto traced = function(train);
  const auto run = [&] { return state.range(0) == 0 ? train(ids, wanted) : traced(ids, wanted); };
  run();
  const std::size_t before = memory_stats().in_use;
  for (auto _ : state) benchmark::DoNotOptimize(run());
  state.counters["held_MB"] = static_cast<double>(memory_stats().in_use - before) / 1e6;
  state.counters["peak_MB"] = static_cast<double>(memory_stats().peak) / 1e6;
}

void sgd(benchmark::State& state) {
  step(state, [] { return optimizers::SGD({.learning_rate = 0.1}); });
}
void momentum(benchmark::State& state) {
  step(state, [] { return optimizers::SGD({.learning_rate = 0.1, .momentum = 0.9}); });
}
void adam(benchmark::State& state) {
  step(state, [] { return optimizers::Adam(); });
}
void adam_clipped(benchmark::State& state) {
  step(state, [] { return optimizers::Adam({.global_clipnorm = 1}); });
}

BENCHMARK(sgd)->Arg(0)->Arg(1)->ArgName("traced")->Unit(benchmark::kMicrosecond);
BENCHMARK(momentum)->Arg(0)->Arg(1)->ArgName("traced")->Unit(benchmark::kMicrosecond);
BENCHMARK(adam)->Arg(0)->Arg(1)->ArgName("traced")->Unit(benchmark::kMicrosecond);
BENCHMARK(adam_clipped)->Arg(0)->Arg(1)->ArgName("traced")->Unit(benchmark::kMicrosecond);

}  // namespace
