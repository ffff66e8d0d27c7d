// Newton's method for a thousand unknowns without a matrix: conjugate gradients need only products of the Hessian with
// vectors. Such a product is the tangent of the gradient along the vector, and costs a few times what the gradient
// does.
//
// The function is Rosenbrock's valley in 1000 dimensions, whose minimum lies at ones. Steps end early where the
// function bends down, and get shorter until the function falls (Nocedal, Wright: Numerical Optimization, 7.1).
#include "capstan/capstan.h"
#include "support/transcript.h"

#include <algorithm>
#include <cmath>

using namespace capstan;

namespace {

constexpr std::int64_t kUnknowns = 1000;

Tensor rosenbrock(const Tensor& x) {
  const Tensor left = x(slice(0, -1));
  const Tensor right = x(slice(1));
  return reduce_sum(100 * square(right - square(left)) + square(1 - left));
}

double dot(const Tensor& a, const Tensor& b) { return reduce_sum(a * b).item<double>(); }

}  // namespace

int main() {
  examples::Transcript out;
  auto value_and_slope = function([](const Tensor& x) { return value_and_gradient(rosenbrock, x); });
  auto hessian_times = function([](const Tensor& x, const Tensor& vector) { return hvp(rosenbrock, x, vector); });

  // The Hessian of this function is known, and has three diagonals.
  Tensor x = tile(constant({-1.2, 1.0}, float64), {kUnknowns / 2});
  const Tensor vector = random::normal({kUnknowns}, 0, 1, float64);
  const PadWidth at_begin{1, 0}, at_end{0, 1};
  const Tensor left = x(slice(0, -1));
  const Tensor diagonal =
      pad(1200 * square(left) - 400 * x(slice(1)) + 2, {at_end}) + pad(200 * ones_like(left), {at_begin});
  const Tensor known =
      diagonal * vector - 400 * (pad(left * vector(slice(1)), {at_end}) + pad(left * vector(slice(0, -1)), {at_begin}));
  out.print("largest error of a product with the Hessian: %.0e",
            reduce_max(abs(hessian_times(x, vector) - known)).item<double>());

  // The direction p with H p = -g, as far as that is worth it.
  int products = 0;
  const auto newton_direction = [&](const Tensor& x, const Tensor& g) {
    const double norm = std::sqrt(dot(g, g));
    const double tolerance = std::min(0.5, std::sqrt(norm)) * norm;
    Tensor p = zeros_like(g);
    Tensor residual = g;
    Tensor d = -g;
    for (std::int64_t i = 0; i < kUnknowns; ++i) {
      const Tensor hd = hessian_times(x, d);
      ++products;
      const double curvature = dot(d, hd);
      const double rr = dot(residual, residual);
      if (curvature <= 0) return i == 0 ? d : p;
      const double step = rr / curvature;
      p = p + step * d;
      residual = residual + step * hd;
      if (std::sqrt(dot(residual, residual)) < tolerance) break;
      d = dot(residual, residual) / rr * d - residual;
    }
    return p;
  };

  auto [value, gradient] = value_and_slope(x);
  out.print("at the start: f = %.1f", value.item<double>());
  int steps = 0;
  while (std::sqrt(dot(gradient, gradient)) > 1e-9 && steps < 100000) {
    const Tensor p = newton_direction(x, gradient);
    const double slope = dot(gradient, p);
    double length = 1;
    Tensor next = x + p;
    auto [next_value, next_gradient] = value_and_slope(next);
    while (next_value.item<double>() > value.item<double>() + 1e-4 * length * slope) {
      length /= 2;
      next = x + length * p;
      std::tie(next_value, next_gradient) = value_and_slope(next);
    }
    x = next;
    value = next_value;
    gradient = next_gradient;
    ++steps;
  }
  out.print("Newton steps: %d, products with the Hessian: %d", steps, products);
  out.print("f = %.1e, largest distance of an unknown from 1: %.1e", value.item<double>(),
            reduce_max(abs(x - 1)).item<double>());
  return out.finish({
      {"largest error of a product with the Hessian: #", {{0, 1e-10}}},
      {"at the start: f = #", {{253615.9, 253616.1}}},
      {"Newton steps: #, products with the Hessian: #", {{100, 5000}, {100, 50000}}},
      {"f = #, largest distance of an unknown from 1: #", {{0, 1e-16}, {0, 1e-8}}},
  });
}
