// What recompute_grad saves and costs: a training step of 64 layers, plain and in eight blocks that are run again; and
// what a function saves by itself that may keep 30 % of the memory.
//
//     recompute_memory [ROWS]
//
// Prints the most memory that a step holds beyond weights and inputs, and the shortest time of ten steps.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "capstan/capstan.h"

using namespace capstan;

namespace {

constexpr int kBlocks = 8;
constexpr int kLayersPerBlock = 8;
constexpr int kUnits = 128;

struct Cost {
  std::size_t bytes;
  double seconds;
};

template <class Step>
Cost measure(Step&& step) {
  // The peak is that of the process and cannot be set back, so it is raised from where it stands.
  const MemoryStats before = memory_stats();
  const Tensor ballast = zeros({static_cast<std::int64_t>((before.peak - before.in_use) / sizeof(float))});
  const std::size_t begin = memory_stats().in_use;
  step();  // the first one makes a function's program, whose memory counts
  step();
  Cost cost{memory_stats().peak - begin, 1e9};
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    step();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    cost.seconds = std::min(cost.seconds, time.count());
  }
  return cost;
}

void print(const char* what, const Cost& plain, const Cost& recomputed) {
  std::printf("%-9s plain %7.2f MB %7.2f ms   recomputed %7.2f MB %7.2f ms   %.0f %% of the memory, %.2f of the time\n",
              what, static_cast<double>(plain.bytes) * 1e-6, plain.seconds * 1e3,
              static_cast<double>(recomputed.bytes) * 1e-6, recomputed.seconds * 1e3,
              100.0 * static_cast<double>(recomputed.bytes) / static_cast<double>(plain.bytes),
              recomputed.seconds / plain.seconds);
}

}  // namespace

int main(int argc, char** argv) {
  const long rows = argc > 1 ? std::atol(argv[1]) : 1024;
  const Tensor x = random::normal({rows, kUnits});
  std::vector<Variable> weights;
  for (int i = 0; i < kBlocks * kLayersPerBlock; ++i) weights.emplace_back(random::normal({kUnits, kUnits}, 0, 0.05));
  const auto block = [&](Tensor h, int first) {
    for (int i = first; i < first + kLayersPerBlock; ++i) {
      h = h + tanh(matmul(h, weights[static_cast<std::size_t>(i)]));
    }
    return h;
  };
  const auto step_of = [&](const auto& f) {
    return [&](const Tensor& input) {
      GradientTape tape;
      Tensor h = input;
      for (int b = 0; b < kBlocks; ++b) h = f(h, b * kLayersPerBlock);
      const Tensor loss = reduce_mean(h * h);
      h = Tensor();
      return tape.gradient(loss, weights);
    };
  };
  const auto recomputed = recompute_grad(block);
  const auto plain_step = step_of(block);
  const auto recomputed_step = step_of(recomputed);
  const Cost second = measure([&] { recomputed_step(x); });
  print("eager", measure([&] { plain_step(x); }), second);
  auto traced_plain = function(plain_step);
  auto traced_recomputed = function(recomputed_step);
  const Cost fourth = measure([&] { traced_recomputed(x); });
  const Cost third = measure([&] { traced_plain(x); });
  print("function", third, fourth);
  const double kept = std::strtod(memory_use(traced_plain).c_str() + 6, nullptr);  // "keeps ... bytes"
  auto within_budget = function(plain_step, {.memory_budget = static_cast<std::size_t>(0.3 * kept)});
  print("budget", third, measure([&] { within_budget(x); }));
}
