#include "src/kernels/nn/normalize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "src/core/thread_pool.h"

namespace capstan {
namespace {

template <class T>
struct Results {
  std::vector<T> mean, variance, y, dx, dscale, doffset;
  bool operator==(const Results&) const = default;
};

struct Problem {
  std::int64_t rows, channels;
  double epsilon = 1e-3;
  std::vector<double> x, scale, offset, dy;
};

Problem draw_problem(std::int64_t rows, std::int64_t channels, double mean) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-1, 1);  // float, so that both types see the same
  Problem p{rows, channels, 1e-3, {}, {}, {}, {}};
  p.x.resize(rows * channels);
  p.dy.resize(rows * channels);
  p.scale.resize(channels);
  p.offset.resize(channels);
  for (auto* v : {&p.x, &p.dy, &p.scale, &p.offset}) {
    for (double& e : *v) e = uniform(random);
  }
  for (double& e : p.x) e = static_cast<float>(e + mean);
  return p;
}

template <class T>
Results<T> reference(const Problem& p) {
  Results<double> r;
  const double n = static_cast<double>(p.rows);
  r.y.resize(p.x.size());
  r.dx.resize(p.x.size());
  for (std::int64_t c = 0; c < p.channels; ++c) {
    double mean = 0, variance = 0, sum = 0, scaled = 0;
    for (std::int64_t i = 0; i < p.rows; ++i) mean += p.x[i * p.channels + c] / n;
    for (std::int64_t i = 0; i < p.rows; ++i) {
      variance += std::pow(p.x[i * p.channels + c] - mean, 2) / n;
    }
    const double inverse = 1 / std::sqrt(variance + p.epsilon);
    for (std::int64_t i = 0; i < p.rows; ++i) {
      const std::int64_t at = i * p.channels + c;
      r.y[at] = (p.x[at] - mean) * inverse * p.scale[c] + p.offset[c];
      sum += p.dy[at];
      scaled += p.dy[at] * (p.x[at] - mean) * inverse;
    }
    for (std::int64_t i = 0; i < p.rows; ++i) {
      const std::int64_t at = i * p.channels + c;
      r.dx[at] = p.scale[c] * inverse * (p.dy[at] - sum / n - (p.x[at] - mean) * inverse * scaled / n);
    }
    r.mean.push_back(mean);
    r.variance.push_back(variance);
    r.dscale.push_back(scaled);
    r.doffset.push_back(sum);
  }
  auto convert = [](const std::vector<double>& v) { return std::vector<T>(v.begin(), v.end()); };
  return {convert(r.mean), convert(r.variance), convert(r.y), convert(r.dx), convert(r.dscale), convert(r.doffset)};
}

template <class T>
Results<T> run(const Problem& p, int set) {
  auto convert = [](const std::vector<double>& v) { return std::vector<T>(v.begin(), v.end()); };
  const std::vector<T> x = convert(p.x), scale = convert(p.scale), offset = convert(p.offset), dy = convert(p.dy);
  Results<T> r;
  const T stale = 99;
  r.mean.resize(p.channels, stale);
  r.variance = r.dscale = r.doffset = r.mean;
  r.y.resize(x.size(), stale);
  r.dx = r.y;
  std::vector<T> inverse(p.channels);
  const BatchNormKernels<T> kernels = batch_norm_kernels<T>(set);
  BatchNormMoments<T>(p.rows, p.channels, x.data(), r.mean.data(), r.variance.data(), set).run();
  batch_norm_inverse_deviation(p.channels, r.variance.data(), T(p.epsilon), inverse.data());
  kernels.apply(p.rows, p.channels, x.data(), r.mean.data(), inverse.data(), scale.data(), offset.data(), r.y.data());
  std::vector<T> rest(3 * inverse.size());
  T* const channels = rest.data();
  const BatchNormSums<T> sums{r.dscale.data(), r.doffset.data(), channels, channels + p.channels,
                              channels + 2 * p.channels};
  BatchNormGradientSums<T>(p.rows, p.channels, x.data(), r.mean.data(), inverse.data(), scale.data(), dy.data(), sums,
                           set)
      .run();
  kernels.gradient_of_x(p.rows, p.channels, x.data(), r.mean.data(), dy.data(), sums, r.dx.data());
  return r;
}

template <class T>
void expect_near(const std::vector<T>& actual, const std::vector<T>& expected, double tolerance, const char* what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], tolerance) << what << " at " << i;
  }
}

template <class T>
void check(std::int64_t rows, std::int64_t channels, double mean = 0.5) {
  SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(channels));
  const Problem problem = draw_problem(rows, channels, mean);
  const Results<T> expected = reference<T>(problem);
  const double unit = sizeof(T) == 4 ? 1e-6 : 1e-14;
  const Results<T> first = run<T>(problem, 0);
  // The standard deviation is at least 0.03 with this epsilon.
  const double n = static_cast<double>(rows);
  expect_near(first.mean, expected.mean, unit * (1 + std::abs(mean)), "mean");
  expect_near(first.variance, expected.variance, unit * (1 + std::abs(mean)), "variance");
  expect_near(first.y, expected.y, 50 * unit * (1 + std::abs(mean)), "y");
  expect_near(first.dx, expected.dx, 1000 * unit * (1 + std::abs(mean)), "dx");
  expect_near(first.dscale, expected.dscale, 10 * unit * (4 + n) * (1 + std::abs(mean)), "dscale");
  expect_near(first.doffset, expected.doffset, unit * (4 + n), "doffset");
  for (int set = 0; set <= instruction_set(); ++set) {
    for (int threads = 1; threads <= 2; ++threads) {
      set_thread_count(threads);
      ASSERT_TRUE(run<T>(problem, set) == first)
          << "bits depend on instruction set " << set << " or threads " << threads;
    }
  }
  set_thread_count(1);
}

TEST(BatchNorm, AgreesWithTheDefinitionAndHasTheSameBitsEverywhere) {
  for (std::int64_t rows : {1, 2, 3, 5, 31, 257, 1000}) {
    for (std::int64_t channels : {1, 2, 7, 16, 33, 64, 256}) {
      check<float>(rows, channels);
      check<double>(rows, channels);
      if (HasFatalFailure()) return;
    }
  }
  check<float>(50176, 16);
}

TEST(BatchNorm, KeepsTheVarianceOfValuesFarFromZero) { check<float>(5000, 20, 1000); }

TEST(BatchNorm, TakesMissingScaleAndOffsetForOneAndZero) {
  const std::vector<float> x = {1, 2, 3, 6}, mean = {2, 4}, inverse = {1, 0.5};
  std::vector<float> y(4);
  batch_norm_apply<float>(2, 2, x.data(), mean.data(), inverse.data(), nullptr, nullptr, y.data());
  EXPECT_EQ(y, (std::vector<float>{-1, -1, 1, 1}));
}

TEST(BatchNorm, GivesNanForTheMomentsOfNoRowsAndZeroGradients) {
  std::vector<float> mean(3), variance(3), dscale(3, 99), doffset(3, 99), inverse(3, 1);
  BatchNormMoments<float>(0, 3, nullptr, mean.data(), variance.data()).run();
  for (int c = 0; c < 3; ++c) {
    EXPECT_TRUE(std::isnan(mean[c]));
    EXPECT_TRUE(std::isnan(variance[c]));
  }
  std::vector<float> rest(9);
  BatchNormGradientSums<float>(0, 3, nullptr, mean.data(), inverse.data(), nullptr, nullptr,
                               {dscale.data(), doffset.data(), rest.data(), rest.data() + 3, rest.data() + 6})
      .run();
  EXPECT_EQ(dscale, std::vector<float>(3, 0));
  EXPECT_EQ(doffset, std::vector<float>(3, 0));
}

TEST(RowSums, RowsMayComeInAnyOrder) {
  const std::int64_t rows = 1000, channels = 20;
  const Problem problem = draw_problem(rows, channels, 0.5);
  const std::vector<float> x(problem.x.begin(), problem.x.end());
  std::vector<float> mean(channels), variance(channels), mean_in_parts(channels), variance_in_parts(channels);
  BatchNormMoments<float>(rows, channels, x.data(), mean.data(), variance.data()).run();
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    for (const std::int64_t range : {1, 7, 204, 333, 1000}) {
      std::fill(mean_in_parts.begin(), mean_in_parts.end(), 99.0f);
      const BatchNormMoments<float> sums(rows, channels, x.data(), mean_in_parts.data(), variance_in_parts.data());
      sums.expect_rows();
      const std::int64_t ranges = (rows + range - 1) / range;
      parallel_for(ranges, [&](std::int64_t task) {
        const std::int64_t begin = task * 7 % ranges * range;  // 7 divides no number of ranges
        sums.add_rows(begin, std::min(rows, begin + range));
      });
      sums.finish();
      EXPECT_EQ(mean_in_parts, mean) << range;
      EXPECT_EQ(variance_in_parts, variance) << range;
    }
  }
  set_thread_count(1);
}

}  // namespace
}  // namespace capstan
