// The Greeks of options: all first and second derivatives of a price, for several strikes at once, compared with the
// formulas in the books.
//
// The price is a function of one option. Its value, gradient and Hessian are asked for one option, too; vectorized_map
// runs that for all strikes at once, and the function around it makes one program of the whole.
#include "capstan/capstan.h"
#include "support/transcript.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

using namespace capstan;

namespace {

// The elements of the inputs.
enum Input { kSpot, kVolatility, kTime, kRate, kInputs };

constexpr std::array kStrikes = {80.0, 90.0, 100.0, 110.0, 120.0};

// The price of a European call by Black and Scholes: inputs [4] and a strike [] give [].
Tensor call_price(const Tensor& inputs, const Tensor& strike) {
  const std::vector<Tensor> in = unstack(inputs);
  const Tensor spread = in[kVolatility] * sqrt(in[kTime]);
  const Tensor d1 = (log(in[kSpot] / strike) + (in[kRate] + square(in[kVolatility]) / 2) * in[kTime]) / spread;
  return in[kSpot] * ndtr(d1) - strike * exp(-in[kRate] * in[kTime]) * ndtr(d1 - spread);
}

struct Greek {
  const char* name;
  Input first;
  int second;  // -1 for a first derivative
  double value;
};

// What the books say (Haug: The Complete Guide to Option Pricing Formulas); time runs to the expiry.
std::vector<Greek> known(double s, double sigma, double t, double r, double strike) {
  const double root = std::sqrt(t);
  const double d1 = (std::log(s / strike) + (r + sigma * sigma / 2) * t) / (sigma * root);
  const double d2 = d1 - sigma * root;
  const auto normal = [](double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; };
  const double density = std::exp(-d1 * d1 / 2) / std::sqrt(2 * std::numbers::pi);
  const double discounted = strike * std::exp(-r * t);
  const double vega = s * density * root;
  return {
      {"delta", kSpot, -1, normal(d1)},
      {"vega", kVolatility, -1, vega},
      {"theta", kTime, -1, s * density * sigma / (2 * root) + r * discounted * normal(d2)},
      {"rho", kRate, -1, t * discounted * normal(d2)},
      {"gamma", kSpot, kSpot, density / (s * sigma * root)},
      {"vanna", kSpot, kVolatility, -density * d2 / sigma},
      {"volga", kVolatility, kVolatility, vega * d1 * d2 / sigma},
      {"charm", kSpot, kTime, density * (2 * r * t - d2 * sigma * root) / (2 * t * sigma * root)},
      {"veta", kVolatility, kTime, vega * ((1 + d1 * d2) / (2 * t) - r * d1 / (sigma * root))},
      {"delta by rate", kSpot, kRate, density * root / sigma},
      {"rho by rate", kRate, kRate, t * (s * density * root / sigma - t * discounted * normal(d2))},
  };
}

}  // namespace

int main() {
  examples::Transcript out;
  constexpr auto kOptions = static_cast<std::int64_t>(kStrikes.size());
  constexpr double kS = 100, kSigma = 0.2, kT = 0.75, kR = 0.03;
  const Tensor strikes = constant(std::span<const double>(kStrikes));
  const Tensor inputs = tile(constant({{kS, kSigma, kT, kR}}, float64), {kOptions, 1});

  auto greeks = function([](const Tensor& options, const Tensor& strikes) {
    return vectorized_map(
        [](const Tensor& option, const Tensor& strike) {
          const auto price = [&](const Tensor& at) { return call_price(at, strike); };
          const auto [value, gradient] = value_and_gradient(price, option);
          return std::tuple(value, gradient, hessian(price, option));
        },
        std::tuple(options, strikes));
  });
  const auto [price, gradient, hessians] = greeks(inputs, strikes);

  double worst = 0;
  for (std::int64_t i = 0; i < kOptions; ++i) {
    for (const Greek& greek : known(kS, kSigma, kT, kR, kStrikes[static_cast<std::size_t>(i)])) {
      const Tensor found = greek.second < 0 ? gradient(i, greek.first) : hessians(i, greek.first, greek.second);
      worst = std::max(worst, std::abs(found.item<double>() - greek.value));
      if (i == 2) out.print("%s %.6f", greek.name, found.item<double>());
    }
  }
  out.print("price at the money %.6f", price[2].item<double>());
  out.print("largest error over all strikes: %.0e", worst);
  out.print("asymmetry of the Hessians: %.0e",
            reduce_max(abs(hessians - transpose(hessians, {0, 2, 1}))).item<double>());
  return out.finish({
      {"delta 0.585703"},
      {"vega 33.749079"},
      {"theta 6.017159"},
      {"rho 37.932053"},
      {"gamma 0.022499"},
      {"vanna -0.084373"},
      {"volga 1.581988"},
      {"charm 0.056248"},
      {"veta 21.444727"},
      {"delta by rate 1.687454"},
      {"rho by rate 98.110005"},
      {"price at the money 7.994275"},
      {"largest error over all strikes: #", {{0, 1e-8}}},
      {"asymmetry of the Hessians: #", {{0, 1e-10}}},
  });
}
