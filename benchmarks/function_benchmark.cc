// What function() makes of layers: products with what follows them, and short steps that run at once.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

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

// --- On one thread and two: {threads, ...} ---

void products(benchmark::State& state, const std::vector<Tensor>& left, const std::vector<Tensor>& right,
              const MatmulOptions& options = {}) {
  const int before = num_threads();
  set_num_threads(static_cast<int>(state.range(0)));
  auto f = function([&](const std::vector<Tensor>& in) {
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
      results.push_back(matmul(in[left.size() == 1 ? 0 : i], right[right.size() == 1 ? 0 : i], options));
    }
    return results;
  });
  for (auto _ : state) benchmark::DoNotOptimize(f(left));
  set_num_threads(before);
}

std::vector<Tensor> matrices(std::int64_t count, std::int64_t rows, std::int64_t columns) {
  std::vector<Tensor> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(random::normal({rows, columns}));
  return all;
}

// {threads, size}: eight products that have nothing in common.
void EightProducts(benchmark::State& state) {
  products(state, matrices(8, state.range(1), state.range(1)), matrices(8, state.range(1), state.range(1)));
}
BENCHMARK(EightProducts)->ArgsProduct({{1, 2}, {32, 48, 64, 96}})->UseRealTime();

// {threads, rows, units}: queries, keys and values.
void OneLeftOperand(benchmark::State& state) {
  products(state, matrices(1, state.range(1), state.range(2)), matrices(3, state.range(2), state.range(2)));
}
BENCHMARK(OneLeftOperand)->ArgsProduct({{1, 2}, {64}, {64, 128, 192}})->UseRealTime();

// {threads, rows, units}: with one stored matrix that is packed.
void OneRightOperand(benchmark::State& state) {
  products(state, matrices(4, state.range(1), state.range(2)), matrices(1, state.range(2), state.range(2)),
           {.transpose_b = true});
}
BENCHMARK(OneRightOperand)->ArgsProduct({{1, 2}, {8, 32}, {128, 256}})->UseRealTime();

// {threads, rows, updates}: the gradients of an actor and a critic, and the steps of Adam.
void TwoNetworks(benchmark::State& state) {
  const int before = num_threads();
  set_num_threads(static_cast<int>(state.range(0)));
  const auto network = [](std::int64_t outputs) {
    return std::vector<Variable>{Variable(random::normal({16, 64}) * 0.1), Variable(zeros({64})),
                                 Variable(random::normal({64, 64}) * 0.1), Variable(zeros({64})),
                                 Variable(random::normal({64, outputs}) * 0.1)};
  };
  const std::vector<Variable> actor = network(4), critic = network(1);
  std::vector<Variable> all = actor;
  all.insert(all.end(), critic.begin(), critic.end());
  const auto run = [](const Tensor& x, const std::vector<Variable>& w) {
    return matmul(tanh(matmul(tanh(matmul(x, w[0]) + w[1]), w[2]) + w[3]), w[4]);
  };
  const Tensor x = random::normal({state.range(1), 16});
  const optimizers::Adam optimizer;
  const bool updates = state.range(2) != 0;
  auto f = function([&](const Tensor& in) {
    GradientTape tape;
    const Tensor loss = reduce_mean(square(run(in, actor))) + reduce_mean(square(run(in, critic)));
    std::vector<Tensor> gradients = tape.gradient(loss, all);
    if (updates) optimizer.apply_gradients(gradients, all);
    return updates ? std::vector<Tensor>{loss} : gradients;
  });
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
  set_num_threads(before);
}
BENCHMARK(TwoNetworks)->ArgsProduct({{1, 2}, {64, 256}, {0, 1}})->UseRealTime();

}  // namespace
