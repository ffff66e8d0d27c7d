// Every optimizer against its formula in plain numbers, for 1,000 steps in float64: plain, in a traced function, and
// with row-sparse gradients.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "src/core/apply.h"
#include "tests/train/every_way.h"

namespace capstan {
namespace {

using Numbers = std::vector<double>;

constexpr std::int64_t kRows = 4, kColumns = 3;
constexpr std::size_t kSize = kRows * kColumns;
constexpr int kSteps = 1000;

// What a formula keeps between steps; slots begin with zeros, or what `first` says.
struct State {
  Numbers w;
  Numbers a = Numbers(kSize), b = Numbers(kSize), c = Numbers(kSize);
  double product = 1;
};
using Formula = std::function<void(State& s, const Numbers& g, int t)>;

// f of every element.
Formula each(const std::function<void(State& s, std::size_t i, double g, int t)>& f) {
  return [f](State& s, const Numbers& g, int t) {
    for (std::size_t i = 0; i < kSize; ++i) f(s, i, g[i], t);
  };
}

void moments(State& s, std::size_t i, double g, double beta_1, double beta_2) {
  s.a[i] = beta_1 * s.a[i] + (1 - beta_1) * g;
  s.b[i] = beta_2 * s.b[i] + (1 - beta_2) * g * g;
}

double root_mean_square(const Numbers& x) {
  double sum = 0;
  for (const double element : x) sum += element * element;
  return std::sqrt(sum / static_cast<double>(x.size()));
}

void adafactor(State& s, const Numbers& g, int t) {
  const double b = 1 - std::pow(t, -0.8);
  std::vector<Numbers> square(kRows, Numbers(kColumns));
  Numbers u(kSize);
  double mean_r = 0;
  for (std::size_t i = 0; i < kSize; ++i) square[i / kColumns][i % kColumns] = g[i] * g[i] + 1e-30;
  for (std::size_t i = 0; i < kRows; ++i) {
    double mean = 0;
    for (std::size_t j = 0; j < kColumns; ++j) mean += square[i][j] / kColumns;
    s.a[i] = b * s.a[i] + (1 - b) * mean;
    mean_r += s.a[i] / kRows;
  }
  for (std::size_t j = 0; j < kColumns; ++j) {
    double mean = 0;
    for (std::size_t i = 0; i < kRows; ++i) mean += square[i][j] / kRows;
    s.b[j] = b * s.b[j] + (1 - b) * mean;
  }
  for (std::size_t i = 0; i < kSize; ++i) u[i] = g[i] / std::sqrt(s.a[i / kColumns] / mean_r * s.b[i % kColumns]);
  const double clip = std::max(1.0, root_mean_square(u) / 1.0);
  const double rate = std::max(0.001, root_mean_square(s.w)) * std::min(0.01, 1 / std::sqrt(t));
  for (std::size_t i = 0; i < kSize; ++i) s.w[i] -= rate * u[i] / clip;
}

// x y of matrices, row by row.
Numbers product(const Numbers& x, const Numbers& y, std::size_t m, std::size_t k, std::size_t n) {
  Numbers z(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t l = 0; l < k; ++l) z[i * n + j] += x[i * k + l] * y[l * n + j];
    }
  }
  return z;
}

// The matrix has more rows than columns, so x' x stands where the definition has x x' of the transpose.
void muon(State& s, const Numbers& g, int) {
  Numbers x(kSize), transposed(kSize);
  for (std::size_t i = 0; i < kSize; ++i) {
    s.w[i] -= s.w[i] * 0.004 * 0.01;
    s.a[i] = 0.95 * s.a[i] + g[i];
    x[i] = g[i] + 0.95 * s.a[i];
  }
  const double length = root_mean_square(x) * std::sqrt(kSize) + 1e-7;
  for (double& element : x) element /= length;
  for (int k = 0; k < 5; ++k) {
    for (std::size_t i = 0; i < kSize; ++i) transposed[i % kColumns * kRows + i / kColumns] = x[i];
    const Numbers a = product(transposed, x, kColumns, kRows, kColumns);
    Numbers b = product(a, a, kColumns, kColumns, kColumns);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = -4.775 * a[i] + 2.0315 * b[i];
    const Numbers xb = product(x, b, kRows, kColumns, kColumns);
    for (std::size_t i = 0; i < kSize; ++i) x[i] = 3.4445 * x[i] + xb[i];
  }
  for (std::size_t i = 0; i < kSize; ++i) s.w[i] -= 0.01 * 0.2 * std::sqrt(kRows) * x[i];
}

struct Case {
  std::string config;  // JSON
  Formula formula;
  double first_a = 0;
};

double u_of(int t) { return 0.9 * (1 - 0.5 * std::pow(0.96, t)); }

std::multimap<std::string, Case> cases() {
  constexpr double kRate = 0.01, kEpsilon = 1e-7;
  std::multimap<std::string, Case> all;
  all.emplace("SGD", Case{R"({"learning_rate": 0.01})",
                          each([](State& s, std::size_t i, double g, int) { s.w[i] -= kRate * g; })});
  all.emplace("SGD", Case{R"({"learning_rate": 0.01, "momentum": 0.9, "nesterov": true})",
                          each([](State& s, std::size_t i, double g, int) {
                            s.a[i] = 0.9 * s.a[i] - kRate * g;
                            s.w[i] += 0.9 * s.a[i] - kRate * g;
                          })});
  const auto adam = [](double decay, bool amsgrad) {
    return each([=](State& s, std::size_t i, double g, int t) {
      s.w[i] -= s.w[i] * decay * kRate;
      moments(s, i, g, 0.9, 0.999);
      s.c[i] = std::max(s.c[i], s.b[i]);
      const double v = (amsgrad ? s.c[i] : s.b[i]);
      s.w[i] -= kRate * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t)) * s.a[i] / (std::sqrt(v) + kEpsilon);
    });
  };
  all.emplace("Adam", Case{R"({"learning_rate": 0.01})", adam(0, false)});
  all.emplace("Adam", Case{R"({"learning_rate": 0.01, "amsgrad": true})", adam(0, true)});
  all.emplace("AdamW", Case{R"({"learning_rate": 0.01})", adam(0.004, false)});
  all.emplace("Adamax", Case{R"({"learning_rate": 0.01})", each([](State& s, std::size_t i, double g, int t) {
                               s.a[i] = 0.9 * s.a[i] + 0.1 * g;
                               s.b[i] = std::max(0.999 * s.b[i], std::abs(g));
                               s.w[i] -= kRate / (1 - std::pow(0.9, t)) * s.a[i] / (s.b[i] + kEpsilon);
                             })});
  all.emplace("Nadam", Case{R"({"learning_rate": 0.01})", [](State& s, const Numbers& g, int t) {
                              s.product *= u_of(t);
                              for (std::size_t i = 0; i < kSize; ++i) {
                                moments(s, i, g[i], 0.9, 0.999);
                                const double m = u_of(t + 1) * s.a[i] / (1 - s.product * u_of(t + 1)) +
                                                 (1 - u_of(t)) * g[i] / (1 - s.product);
                                const double v = s.b[i] / (1 - std::pow(0.999, t));
                                s.w[i] -= kRate * m / (std::sqrt(v) + kEpsilon);
                              }
                            }});
  all.emplace("Adafactor", Case{R"({"learning_rate": 0.01})", adafactor});
  all.emplace("Muon", Case{R"({"learning_rate": 0.01})", muon});
  all.emplace("Muon", Case{R"({"learning_rate": 0.01, "exclude_layers": [".*"], "adam_lr_ratio": 0.5})",
                           each([](State& s, std::size_t i, double g, int t) {
                             s.w[i] -= s.w[i] * 0.004 * kRate;
                             moments(s, i, g, 0.9, 0.999);
                             const double rate = kRate * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t));
                             s.w[i] -= 0.5 * rate * s.a[i] / (std::sqrt(s.b[i]) + kEpsilon);
                           })});
  // a is z, c is x.
  all.emplace("ScheduleFreeAdamW",
              Case{R"({"learning_rate": 0.01, "warmup_steps": 7})", each([](State& s, std::size_t i, double g, int t) {
                     if (t == 1) s.a[i] = s.c[i] = s.w[i];
                     s.b[i] = 0.999 * s.b[i] + 0.001 * g * g;
                     const double v = s.b[i] / (1 - std::pow(0.999, t));
                     s.a[i] -= kRate * std::min(1.0, t / 7.0) * g / (std::sqrt(v) + 1e-8);
                     s.c[i] += (s.a[i] - s.c[i]) / t;
                     s.w[i] = 0.1 * s.a[i] + 0.9 * s.c[i];
                   })});
  all.emplace(
      "LossScaleOptimizer",
      Case{R"({"initial_scale": 1, "dynamic_growth_steps": 300,
                      "inner_optimizer": {"class_name": "SGD", "config": {"learning_rate": 0.01}}})",
           each([](State& s, std::size_t i, double g, int t) { s.w[i] -= kRate * g / (1 << ((t - 1) / 300)); })});
  const auto rmsprop = [](double momentum, bool centered) {
    return each([=](State& s, std::size_t i, double g, int) {
      s.a[i] = 0.9 * s.a[i] + 0.1 * g * g;
      s.b[i] = 0.9 * s.b[i] + 0.1 * g;
      const double square = s.a[i] - (centered ? s.b[i] * s.b[i] : 0) + kEpsilon;
      s.c[i] = momentum * s.c[i] + kRate * g / std::sqrt(square);
      s.w[i] -= s.c[i];
    });
  };
  all.emplace("RMSprop", Case{R"({"learning_rate": 0.01})", rmsprop(0, false)});
  all.emplace("RMSprop", Case{R"({"learning_rate": 0.01, "centered": true})", rmsprop(0, true)});
  all.emplace("RMSprop", Case{R"({"learning_rate": 0.01, "momentum": 0.5, "centered": true})", rmsprop(0.5, true)});
  all.emplace("Adagrad", Case{R"({"learning_rate": 0.01})", each([](State& s, std::size_t i, double g, int) {
                                s.a[i] += g * g;
                                s.w[i] -= kRate * g / std::sqrt(s.a[i] + kEpsilon);
                              }),
                              0.1});
  all.emplace("Adadelta", Case{R"({"learning_rate": 1.0})", each([](State& s, std::size_t i, double g, int) {
                                 s.a[i] = 0.95 * s.a[i] + 0.05 * g * g;
                                 const double d = -std::sqrt(s.b[i] + kEpsilon) / std::sqrt(s.a[i] + kEpsilon) * g;
                                 s.b[i] = 0.95 * s.b[i] + 0.05 * d * d;
                                 s.w[i] += d;
                               })});
  const auto ftrl = [](double p, double l1, double l2, double shrinkage, double beta) {
    return each([=](State& s, std::size_t i, double g, int) {
      const double n = s.a[i] + g * g;
      s.b[i] += g + 2 * shrinkage * s.w[i] - (std::pow(n, p) - std::pow(s.a[i], p)) / kRate * s.w[i];
      const double quadratic = std::pow(n, p) / kRate + 2 * (l2 + beta / (2 * kRate));
      s.w[i] = (std::clamp(s.b[i], -l1, l1) - s.b[i]) / quadratic;
      s.a[i] = n;
    });
  };
  all.emplace("Ftrl", Case{R"({"learning_rate": 0.01})", ftrl(0.5, 0, 0, 0, 0), 0.1});
  all.emplace("Ftrl", Case{R"({"learning_rate": 0.01, "learning_rate_power": -0.25, "l1_regularization_strength": 0.5,
                              "l2_regularization_strength": 0.25, "l2_shrinkage_regularization_strength": 0.125,
                              "beta": 0.5})",
                           ftrl(0.25, 0.5, 0.25, 0.125, 0.5), 0.1});
  all.emplace("Lion", Case{R"({"learning_rate": 0.01})", each([](State& s, std::size_t i, double g, int) {
                             const double c = 0.9 * s.a[i] + (1 - 0.9) * g;
                             s.w[i] -= kRate * (c > 0 ? 1 : c < 0 ? -1 : 0);
                             s.a[i] = 0.99 * s.a[i] + (1 - 0.99) * g;
                           })});
  all.emplace("Lamb", Case{R"({"learning_rate": 0.01})", [](State& s, const Numbers& g, int t) {
                             double length = 0, given = 0;
                             Numbers r(kSize);
                             for (std::size_t i = 0; i < kSize; ++i) {
                               moments(s, i, g[i], 0.9, 0.999);
                               r[i] = s.a[i] / (1 - std::pow(0.9, t)) /
                                      (std::sqrt(s.b[i] / (1 - std::pow(0.999, t))) + kEpsilon);
                               length += s.w[i] * s.w[i];
                               given += r[i] * r[i];
                             }
                             const double ratio = length > 0 && given > 0 ? std::sqrt(length) / std::sqrt(given) : 1;
                             for (std::size_t i = 0; i < kSize; ++i) s.w[i] -= ratio * kRate * r[i];
                           }});
  return all;
}

// Gradients as rows: some rows twice, some not at all.
struct Rows {
  Tensor indices, values;
};

TEST(OptimizerFormulas, HoldForAThousandSteps) {
  const Tensor start = random::normal({kRows, kColumns}, 0, 1, float64, 1);
  std::vector<Rows> gradients;
  for (std::uint64_t k = 0; k < 20; ++k) {
    gradients.push_back(
        {random::uniform({4}, 0, kRows, int64, 100 + k), random::normal({4, kColumns}, 0, 1, float64, 200 + k)});
  }
  const auto sparse = [](const Tensor& indices, const Tensor& values) {
    return make_row_sparse(indices, values, {kRows, kColumns});
  };
  for (const auto& [name, one] : cases()) {
    State want{start.to_vector<double>()};
    std::fill(want.a.begin(), want.a.end(), one.first_a);
    for (int t = 1; t <= kSteps; ++t) {
      const Rows& rows = gradients[static_cast<std::size_t>(t) % gradients.size()];
      one.formula(want, sparse(rows.indices, rows.values).to_dense().to_vector<double>(), t);
    }
    for (const testing::How how : testing::kEveryWay) {
      AttributeValue value = AttributeValue::map();
      value.set("class_name", name);
      value.set("config", AttributeValue::from_json(one.config));
      const Optimizer optimizer = optimizers::get(value);
      const Variable w(start);
      const auto step = [&](const Tensor& indices, const Tensor& values) {
        Tensor g = sparse(indices, values);
        if (!testing::has_rows(how)) g = g.to_dense();
        optimizer.apply_gradients({g}, {w});
      };
      auto traced = function(step);
      for (std::size_t t = 1; t <= kSteps; ++t) {
        const Rows& rows = gradients[t % gradients.size()];
        testing::is_traced(how) ? traced(rows.indices, rows.values) : step(rows.indices, rows.values);
      }
      const std::vector<double> got = w.to_vector<double>();
      for (std::size_t i = 0; i < kSize; ++i) {
        EXPECT_NEAR(got[i], want.w[i], 1e-10 * std::max(1.0, std::abs(want.w[i])))
            << name << " " << one.config << ", way " << static_cast<int>(how) << ", element " << i;
      }
      EXPECT_EQ(optimizer.iterations(), kSteps);
    }
  }
}

TEST(OptimizerFormulas, AreThoseOfAllOptimizers) {
  const std::multimap<std::string, Case> all = cases();
  for (const ClassInfo* info : list_classes("optimizer")) {
    if (info->name == "HeavyBall") continue;  // of another test
    EXPECT_TRUE(all.contains(std::string(info->name))) << info->name << " has no formula here";
  }
}

}  // namespace
}  // namespace capstan
