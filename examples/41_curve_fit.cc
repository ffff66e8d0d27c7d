// Fitting curves by Levenberg and Marquardt's method, with the jacobian of the residuals from a tape.
//
// The problems are three of the Statistical Reference Datasets for nonlinear regression of the National Institute of
// Standards and Technology (itl.nist.gov/div898/strd), with the farther of their two starts. The certified values have
// eleven digits; what is found agrees to eight, and so do the standard deviations.
#include "capstan/capstan.h"
#include "support/transcript.h"

#include <algorithm>
#include <cmath>

using namespace capstan;

namespace {

struct Problem {
  const char* name;
  Tensor (*model)(const Tensor& x, const std::vector<Tensor>& b);
  std::vector<double> x, y;
  std::vector<double> start, certified, deviations;
};

std::vector<Problem> problems() {
  return {
      {"Misra1a",
       [](const Tensor& x, const std::vector<Tensor>& b) { return b[0] * (1 - exp(-b[1] * x)); },
       {77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0},
       {10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78},
       {500, 0.0001},
       {2.3894212918e+02, 5.5015643181e-04},
       {2.7070075241e+00, 7.2668688436e-06}},
      {"MGH09",
       [](const Tensor& x, const std::vector<Tensor>& b) {
         return b[0] * (square(x) + x * b[1]) / (square(x) + x * b[2] + b[3]);
       },
       {4, 2, 1, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625},
       {0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246},
       {25, 39, 41.5, 39},
       {1.9280693458e-01, 1.9128232873e-01, 1.2305650693e-01, 1.3606233068e-01},
       {1.1435312227e-02, 1.9633220911e-01, 8.0842031232e-02, 9.0025542308e-02}},
      {"Thurber",
       [](const Tensor& x, const std::vector<Tensor>& b) {
         return (b[0] + x * (b[1] + x * (b[2] + x * b[3]))) / (1 + x * (b[4] + x * (b[5] + x * b[6])));
       },
       {-3.067, -2.981, -2.921, -2.912, -2.840, -2.797, -2.702, -2.699, -2.633, -2.481, -2.363, -2.322, -1.501,
        -1.460, -1.274, -1.212, -1.100, -1.046, -0.915, -0.714, -0.566, -0.545, -0.400, -0.309, -0.109, -0.103,
        0.010,  0.119,  0.377,  0.790,  0.963,  1.006,  1.115,  1.572,  1.841,  2.047,  2.200},
       {80.574,   84.248,   87.264,   87.195,   89.076,   89.608,   89.868,   90.101,   92.405,   95.854,
        100.696,  101.060,  401.672,  390.724,  567.534,  635.316,  733.054,  759.087,  894.206,  990.785,
        1090.109, 1080.914, 1122.643, 1178.351, 1260.531, 1273.514, 1288.339, 1327.543, 1353.863, 1414.509,
        1425.208, 1421.384, 1442.962, 1464.350, 1468.705, 1447.894, 1457.628},
       {1000, 1000, 400, 40, 0.7, 0.3, 0.03},
       {1.2881396800e+03, 1.4910792535e+03, 5.8323836877e+02, 7.5416644291e+01, 9.6629502864e-01, 3.9797285797e-01,
        4.9727297349e-02},
       {4.6647963344e+00, 3.9571156086e+01, 2.8698696102e+01, 5.5675370270e+00, 3.1333340687e-02, 1.4984928198e-02,
        6.5842344623e-03}},
  };
}

double sum_of_squares(const Tensor& r) { return reduce_sum(square(r)).item<double>(); }

// How many digits agree in the worst of the numbers.
double digits(const Tensor& found, const std::vector<double>& certified) {
  return -std::log10(reduce_max(abs(found / constant(certified) - 1)).item<double>());
}

// The x with matrix x = right, of an upper triangle.
Tensor solve_upper(const Tensor& matrix, const Tensor& right) {
  return squeeze(triangular_solve(matrix, expand_dims(right, 1), {.lower = false}), {1});
}

}  // namespace

int main() {
  examples::Transcript out;
  for (const Problem& problem : problems()) {
    const Tensor x = constant(problem.x), y = constant(problem.y);
    auto residuals = function([&](const Tensor& b) { return problem.model(x, unstack(b)) - y; });
    auto linearized = function([&](const Tensor& b) {
      GradientTape tape;
      tape.watch(b);
      const Tensor r = problem.model(x, unstack(b)) - y;
      return std::pair(r, tape.jacobian(r, b));
    });

    Tensor b = constant(problem.start);
    auto [r, j] = linearized(b);
    double damping = 1e-3;
    int steps = 0;
    for (; steps < 2000; ++steps) {
      // The step for which |J step + r|^2 + damping |step / scale|^2 is least, in units in which the columns of J have
      // length 1; by orthogonal factors, which lose half as many digits as the normal equations.
      const Tensor scale = rsqrt(reduce_sum(square(j), 0));
      const Tensor tall = concat({j * scale, std::sqrt(damping) * eye(b.size(), {}, float64)}, 0);
      const Tensor right = concat({-r, zeros_like(b)}, 0);
      const auto [q, upper] = qr(tall);
      const Tensor step = scale * solve_upper(upper, matvec(q, right, {.transpose_a = true}));
      if (reduce_max(abs(step / b)).item<double>() < 1e-11) break;
      const double before = sum_of_squares(r), after = sum_of_squares(residuals(b + step));
      if (!(after <= before * (1 + 1e-14))) {  // Near the end both are the same but for rounding.
        damping *= 4;
        continue;
      }
      b = b + step;
      damping = std::max(damping / 3, 1e-12);
      std::tie(r, j) = linearized(b);
    }
    const double variance = sum_of_squares(r) / static_cast<double>(y.size() - b.size());
    // The covariance is that times the inverse of J'J, which is the product of the inverse of R and its transpose.
    const Tensor inverse = triangular_solve(qr(j).r, eye(b.size(), {}, float64), {.lower = false});
    const Tensor deviations = sqrt(variance * reduce_sum(square(inverse), 1));
    out.print("%s, %d steps: sum of squares %.10g; %.1f digits of the parameters, %.1f of their deviations",
              problem.name, steps, sum_of_squares(r), digits(b, problem.certified),
              digits(deviations, problem.deviations));
  }
  return out.finish({
      {"Misra1a, # steps: sum of squares 0.1245513889; # digits of the parameters, # of their deviations",
       {{5, 100}, {8, 16}, {8, 16}}},
      {"MGH09, # steps: sum of squares 0.0003075056038; # digits of the parameters, # of their deviations",
       {{5, 500}, {8, 16}, {8, 16}}},
      {"Thurber, # steps: sum of squares 5642.70824; # digits of the parameters, # of their deviations",
       {{5, 300}, {8, 16}, {8, 16}}},
  });
}
