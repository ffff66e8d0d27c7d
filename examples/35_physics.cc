// A network that solves a differential equation (Raissi, Perdikaris, Karniadakis 2019): the loss is how much the
// network violates it, and holds second derivatives of the network for its input.
//
// Heat spreads in a rod whose ends are kept at 0: u_t = a u_xx with u(x, 0) = sin(pi x), which is
// exp(-a pi^2 t) sin(pi x). Start and ends hold by construction; the rest is learned from points drawn anew in every
// step, without a single value of the solution.
#include "capstan/capstan.h"
#include "support/transcript.h"

#include <numbers>

using namespace capstan;

namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kDiffusion = 0.1;
constexpr int kSteps = 3000;

Tensor solution(const Tensor& x, const Tensor& t) { return exp(-kDiffusion * kPi * kPi * t) * sin(kPi * x); }

// u at the points of [n, 1] and [n, 1].
Tensor temperature(const Sequential& network, const Tensor& x, const Tensor& t) {
  return sin(kPi * x) + t * x * (1 - x) * network(concat({2 * x - 1, 2 * t - 1}, 1));
}

// u_t - a u_xx. Every point's u depends on that point alone, so the gradient of the sum is the derivative at each.
Tensor violation(const Sequential& network, const Tensor& x, const Tensor& t) {
  GradientTape second;
  second.watch(x);
  GradientTape first;
  first.watch(std::pair(x, t));
  const Tensor u = temperature(network, x, t);
  const auto [u_x, u_t] = first.gradient(u, std::pair(x, t));
  const Tensor u_xx = second.gradient(u_x, x);
  return u_t - kDiffusion * u_xx;
}

}  // namespace

int main() {
  set_seed(1);
  examples::Transcript out;
  const Sequential network({
      layers::Dense(24, {.activation = "tanh", .input_shape = {2}, .dtype = float64}),
      layers::Dense(24, {.activation = "tanh", .dtype = float64}),
      layers::Dense(1, {.dtype = float64}),
  });
  const optimizers::Adam optimizer({.learning_rate = schedules::CosineDecay(1e-2, kSteps)});
  auto step = function([&] {
    const Tensor x = random::uniform({128, 1}, 0, 1, float64);
    const Tensor t = random::uniform({128, 1}, 0, 1, float64);
    GradientTape tape;
    const Tensor loss = reduce_mean(square(violation(network, x, t)));
    optimizer.apply_gradients(tape.gradient(loss, network.trainable_variables()), network.trainable_variables());
    return loss;
  });
  for (int i = 0; i <= kSteps; ++i) {
    const Tensor loss = step();
    if (i % 1000 == 0) out.print("step %d: mean squared violation %.1e", i, loss.item<double>());
  }

  const Tensor line = linspace(constant(0.0, float64), 1.0, 51);
  const auto grid = meshgrid({line, line});
  const Tensor x = reshape(grid[0], {-1, 1});
  const Tensor t = reshape(grid[1], {-1, 1});
  const Tensor error = abs(temperature(network, x, t) - solution(x, t));
  out.print("largest error on a grid: %.1e", reduce_max(error).item<double>());
  return out.finish({
      {"step 0: mean squared violation #", {{0.1, 2.0}}},
      {"step 1000: mean squared violation #", {{0, 1e-3}}},
      {"step 2000: mean squared violation #", {{0, 1e-4}}},
      {"step 3000: mean squared violation #", {{0, 5e-5}}},
      {"largest error on a grid: #", {{0, 1e-3}}},
  });
}
