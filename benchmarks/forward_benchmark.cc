// Forward mode: what tangents cost beside the ops that they are of.
#include <benchmark/benchmark.h>

#include <optional>

#include "capstan/capstan.h"

using namespace capstan;

namespace {

// The network of shared_workloads.cc: 20-64-32-5, batch 32.
struct Network {
  Variable w1{random::normal({20, 64}, 0, 0.2)}, b1{zeros({64})};
  Variable w2{random::normal({64, 32}, 0, 0.2)}, b2{zeros({32})};
  Variable w3{random::normal({32, 5}, 0, 0.2)}, b3{zeros({5})};
  Tensor x = random::normal({32, 20});
  Tensor v = random::normal({32, 20});

  Tensor operator()(const Tensor& in) const {
    return softmax(matmul(relu(matmul(relu(matmul(in, w1) + b1), w2) + b2), w3) + b3);
  }
};

template <class F>
void run(benchmark::State& state, const Network& network, F f) {
  if (state.range(0) == 0) {
    for (auto _ : state) benchmark::DoNotOptimize(f(network.x, network.v));
    return;
  }
  auto traced = function(f);
  for (auto _ : state) benchmark::DoNotOptimize(traced(network.x, network.v));
}

// {traced}
void Forward(benchmark::State& state) {
  const Network network;
  run(state, network, [&](const Tensor& x, const Tensor&) { return network(x); });
}
BENCHMARK(Forward)->Arg(0)->Arg(1);

void Jvp(benchmark::State& state) {
  const Network network;
  run(state, network, [&](const Tensor& x, const Tensor& v) { return jvp(network, x, v); });
}
BENCHMARK(Jvp)->Arg(0)->Arg(1);

void Gradient(benchmark::State& state) {
  const Network network;
  run(state, network, [&](const Tensor& x, const Tensor&) {
    return value_and_gradient([&](const Tensor& in) { return reduce_sum(network(in)); }, x);
  });
}
BENCHMARK(Gradient)->Arg(0)->Arg(1);

void Hvp(benchmark::State& state) {
  const Network network;
  run(state, network, [&](const Tensor& x, const Tensor& v) {
    return hvp([&](const Tensor& in) { return reduce_sum(square(network(in))); }, x, v);
  });
}
BENCHMARK(Hvp)->Arg(0)->Arg(1);

// An accumulator around a function.
void JvpOfFunction(benchmark::State& state) {
  const Network network;
  auto traced = function([&](const Tensor& x) { return network(x); });
  for (auto _ : state) benchmark::DoNotOptimize(jvp(traced, network.x, network.v));
}
BENCHMARK(JvpOfFunction);

// One small op, {with a tangent}.
void Op(benchmark::State& state) {
  const Tensor x = random::normal({4});
  std::optional<ForwardAccumulator> accumulator;
  if (state.range(0) != 0) accumulator.emplace(x, x);
  for (auto _ : state) benchmark::DoNotOptimize(x * x);
}
BENCHMARK(Op)->Arg(0)->Arg(1);

void Product(benchmark::State& state) {
  const Tensor x = random::normal({32, 64});
  const Tensor w = random::normal({64, 64});
  std::optional<ForwardAccumulator> accumulator;
  if (state.range(0) != 0) accumulator.emplace(x, x);
  for (auto _ : state) benchmark::DoNotOptimize(matmul(x, w));
}
BENCHMARK(Product)->Arg(0)->Arg(1);

void Softmax(benchmark::State& state) {
  const Tensor x = random::normal({32, 64});
  std::optional<ForwardAccumulator> accumulator;
  if (state.range(0) != 0) accumulator.emplace(x, x);
  for (auto _ : state) benchmark::DoNotOptimize(softmax(x));
}
BENCHMARK(Softmax)->Arg(0)->Arg(1);

}  // namespace
