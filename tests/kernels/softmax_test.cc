#include "src/kernels/nn/softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "src/core/thread_pool.h"

namespace capstan {
namespace {

template <class T>
void expect_close(const std::vector<T>& actual, const std::vector<double>& expected, double relative, double absolute,
                  const char* what) {
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], absolute + relative * std::abs(expected[i])) << what << " at " << i;
  }
}

template <class T>
void check(std::int64_t rows, std::int64_t classes, double spread) {
  SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(classes));
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> x(rows * classes), labels(rows * classes);
  std::vector<std::int32_t> sparse(rows);
  std::vector<std::int64_t> sparse64(rows);
  for (T& v : x) v = T(spread * uniform(random));
  for (T& v : labels) v = T(uniform(random));
  std::vector<double> p(x.size()), log_p(x.size()), loss(rows), difference(x.size()), sparse_loss(rows),
      sparse_difference(x.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    if (classes == 0) continue;
    sparse64[r] = sparse[r] = static_cast<std::int32_t>(random() % classes);
    const T* row = x.data() + r * classes;
    const double largest = *std::max_element(row, row + classes);
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(row[c] - largest);
    for (std::int64_t c = 0; c < classes; ++c) {
      const std::int64_t i = r * classes + c;
      p[i] = std::exp(row[c] - largest) / sum;
      log_p[i] = row[c] - largest - std::log(sum);
      loss[r] -= labels[i] * log_p[i];
      difference[i] = p[i] - labels[i];
      sparse_difference[i] = p[i] - (sparse[r] == c);
    }
    sparse_loss[r] = -log_p[r * classes + sparse[r]];
  }
  const double unit = sizeof(T) == 4 ? 1.2e-7 : 2.3e-16;
  for (int set = 0; set <= instruction_set(); ++set) {
    SCOPED_TRACE("instruction set " + std::to_string(set));
    const SoftmaxKernels<T> kernels = softmax_kernels<T>(set);
    std::vector<T> first;
    for (int threads = 1; threads <= 2; ++threads) {
      set_thread_count(threads);
      // One element behind the end, to see that nothing is written there.
      std::vector<T> y(x.size() + 1, T(99)), log_y = y, d = y, sd = y, sd64 = y;
      std::vector<T> l(rows, T(99)), sl = l, sl64 = l;
      kernels.softmax(rows, classes, x.data(), y.data());
      kernels.log_softmax(rows, classes, x.data(), log_y.data());
      kernels.cross_entropy(rows, classes, x.data(), labels.data(), l.data(), d.data());
      kernels.sparse_cross_entropy32(rows, classes, x.data(), sparse.data(), sl.data(), sd.data());
      kernels.sparse_cross_entropy64(rows, classes, x.data(), sparse64.data(), sl64.data(), sd64.data());
      for (auto* v : {&y, &log_y, &d, &sd, &sd64}) {
        ASSERT_EQ(v->back(), T(99));
        v->pop_back();
      }
      // Beside the exponential's own error: x - largest is rounded, and so are sums of many terms.
      const double few = unit * (4 + spread + 0.05 * classes);
      expect_close(y, p, few, 1e-45, "softmax");
      expect_close(log_y, log_p, few, few, "log softmax");
      expect_close(d, difference, few, few, "difference");
      expect_close(l, loss, few, few * (1 + spread) * (1 + classes), "loss");
      expect_close(sd, sparse_difference, few, few, "sparse difference");
      expect_close(sl, sparse_loss, few, few, "sparse loss");
      ASSERT_TRUE(sd64 == sd && sl64 == sl);
      for (auto* v : {&log_y, &d, &l, &sl, &sd}) y.insert(y.end(), v->begin(), v->end());
      if (threads == 1) first = y;
      ASSERT_TRUE(y == first) << "bits depend on the number of threads";
    }
    set_thread_count(1);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Softmax, AgreesWithTheDefinition) {
  for (std::int64_t rows : {0, 1, 2, 15, 16, 17, 32, 100}) {
    for (std::int64_t classes : {0, 1, 2, 3, 5, 10, 16, 17, 31, 32, 33, 48, 100, 1000}) {
      check<float>(rows, classes, 5);
      check<double>(rows, classes, 5);
      if (HasFatalFailure()) return;
    }
  }
  check<float>(3000, 10, 20);
}

TEST(Softmax, FadesIntoSubnormalNumbersAndZero) {
  for (int set = 0; set <= instruction_set(); ++set) {
    for (int classes : {4, 40}) {
      std::vector<float> x(classes, -1000), y(classes);
      x[0] = 0, x[1] = -87, x[2] = -95, x[3] = -102;
      softmax_kernels<float>(set).softmax(1, classes, x.data(), y.data());
      EXPECT_FLOAT_EQ(y[0], 1);
      EXPECT_FLOAT_EQ(y[1], std::exp(-87.0f));
      EXPECT_NEAR(y[2], std::exp(-95.0), 2e-45);
      EXPECT_NEAR(y[3], std::exp(-102.0), 2e-45);
      for (int c = 4; c < classes; ++c) EXPECT_EQ(y[c], 0);
    }
  }
}

TEST(Softmax, TreatsInfinityAndNanAsTheDefinitionDoes) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (int set = 0; set <= instruction_set(); ++set) {
    const SoftmaxKernels<float> kernels = softmax_kernels<float>(set);
    for (int classes : {3, 50}) {
      std::vector<float> y(classes), x(classes, -inf), labels(classes, 0), loss(1);
      x[1] = 7;
      kernels.softmax(1, classes, x.data(), y.data());
      for (int c = 0; c < classes; ++c) EXPECT_EQ(y[c], c == 1);
      const std::int32_t label = 0;
      kernels.sparse_cross_entropy32(1, classes, x.data(), &label, loss.data(), y.data());
      EXPECT_EQ(loss[0], inf);
      EXPECT_EQ(y[0], -1);
      for (float bad : {nan, inf}) {
        for (int place : {0, 1, classes - 1}) {
          std::fill(x.begin(), x.end(), 0.0f);
          x[place] = bad;
          kernels.softmax(1, classes, x.data(), y.data());
          EXPECT_TRUE(std::isnan(y[place]));
          // TensorFlow agrees: one NaN spoils its row; one infinity leaves zeros beside it or NaN.
          if (std::isnan(bad)) {
            for (float v : y) EXPECT_TRUE(std::isnan(v));
          }
          kernels.log_softmax(1, classes, x.data(), y.data());
          EXPECT_TRUE(std::isnan(y[place]));
        }
      }
    }
  }
}

}  // namespace
}  // namespace capstan
