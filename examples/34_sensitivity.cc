// Which parameter matters? The derivatives of a simulation's outcome for everything that went into it.
//
// An epidemic: S' = -beta S I, I' = beta S I - gamma I, from a share i0 of the people. One run with a tape gives the
// derivatives of the outcome for all parameters; differences need two runs for each. The elasticity says by how many
// per cent the outcome changes if a parameter changes by one per cent. With them follows what is known of the outcome
// if the parameters are known up to an error each.
#include "capstan/capstan.h"
#include "support/transcript.h"

#include <cmath>

using namespace capstan;

namespace {

constexpr int kSteps = 1500;
constexpr double kDay = 0.2;

// The state is {S, I}; the parameters are {beta, gamma, i0}.
Tensor rate(const Tensor& state, const Tensor& parameters) {
  const Tensor infections = parameters[0] * state[0] * state[1];
  return stack({-infections, infections - parameters[1] * state[1]});
}

struct Outcome {
  Tensor total;  // the share of people who have been infected at the end
  Tensor peak;   // the largest share infected at one time
  std::tuple<Tensor&, Tensor&> fields() { return {total, peak}; }
};

// Runge and Kutta's method of fourth order.
Outcome simulate(const Tensor& parameters) {
  const Tensor start = stack({1 - parameters[2], parameters[2]});
  const Tensor states = scan(
      [&](const Tensor& y, const Tensor&) {
        const Tensor k1 = rate(y, parameters);
        const Tensor k2 = rate(y + kDay / 2 * k1, parameters);
        const Tensor k3 = rate(y + kDay / 2 * k2, parameters);
        const Tensor k4 = rate(y + kDay * k3, parameters);
        return y + kDay / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
      },
      range(kSteps), start);
  return {1 - states(-1, 0), reduce_max(states(slice(), 1))};
}

}  // namespace

int main() {
  examples::Transcript out;
  const Tensor parameters = constant({0.3, 0.1, 0.001}, float64);
  const char* const names[] = {"beta", "gamma", "i0"};

  GradientTape tape({.persistent = true});
  tape.watch(parameters);
  const Outcome outcome = simulate(parameters);
  const Tensor of_total = tape.gradient(outcome.total, parameters);
  const Tensor of_peak = tape.gradient(outcome.peak, parameters);
  out.print("infected in the end: %.4f, at the peak: %.4f", outcome.total.item<double>(), outcome.peak.item<double>());

  const Tensor total_elasticity = of_total * parameters / outcome.total;
  const Tensor peak_elasticity = of_peak * parameters / outcome.peak;
  for (int i = 0; i < 3; ++i) {
    out.print("one per cent more %s: %.4f %% in the end, %.4f %% at the peak", names[i],
              total_elasticity[i].item<double>(), peak_elasticity[i].item<double>());
  }

  // The end of an epidemic is known: s = (1 - i0) exp(-beta / gamma (1 - s)), where s is the share that was spared. Its
  // derivatives follow from the equation.
  const double s = 1 - outcome.total.item<double>();
  const double r = 0.3 / 0.1;
  out.print("error of the end: %.0e", std::abs(s - 0.999 * std::exp(-r * (1 - s))));
  const double slope = 1 - r * s;
  const Tensor known =
      constant({s * (1 - s) / 0.1 / slope, -s * (1 - s) * r / 0.1 / slope, s / 0.999 / slope}, float64);
  out.print("largest relative error of its derivatives: %.0e", reduce_max(abs(of_total / known - 1)).item<double>());

  // Independent errors of 5, 5 and 50 per cent.
  const Tensor errors = constant({0.05, 0.05, 0.5}, float64);
  const Tensor spread = norm(total_elasticity * errors);
  out.print("total known within %.1f %%", 100 * spread.item<double>());
  return out.finish({
      {"infected in the end: 0.9406, at the peak: 0.3008"},
      {"one per cent more beta: 0.2171 % in the end, 1.1969 % at the peak"},
      {"one per cent more gamma: -0.2171 % in the end, -1.2123 % at the peak"},
      {"one per cent more i0: 0.0001 % in the end, -0.0009 % at the peak"},
      {"error of the end: #", {{0, 1e-8}}},
      {"largest relative error of its derivatives: #", {{0, 1e-5}}},
      {"total known within 1.5 %"},
  });
}
