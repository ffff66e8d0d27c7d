#include "src/kernels/pool/pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "src/core/thread_pool.h"

namespace capstan {
namespace {

struct Reference {
  std::vector<double> max, max_gradient, gather, average, average_gradient;
  std::vector<std::int64_t> places;
};

template <class T>
Reference reference(const Pool2DShape& s, const std::vector<T>& x, const std::vector<T>& g,
                    const std::vector<T>& from) {
  Reference r;
  r.max.resize(g.size());
  r.gather.resize(g.size());
  r.average.resize(g.size());
  r.places.resize(g.size(), -1);
  r.max_gradient.resize(x.size());
  r.average_gradient.resize(x.size());
  const std::int64_t image = s.in_height * s.in_width * s.channels;
  std::size_t o = 0;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t oh = 0; oh < s.out_height; ++oh)
      for (std::int64_t ow = 0; ow < s.out_width; ++ow)
        for (std::int64_t c = 0; c < s.channels; ++c, ++o) {
          std::vector<std::int64_t> window;
          for (std::int64_t kh = 0; kh < s.window_height; ++kh)
            for (std::int64_t kw = 0; kw < s.window_width; ++kw) {
              const std::int64_t h = oh * s.stride_height - s.pad_top + kh;
              const std::int64_t w = ow * s.stride_width - s.pad_left + kw;
              if (h < 0 || w < 0 || h >= s.in_height || w >= s.in_width) continue;
              window.push_back(((n * s.in_height + h) * s.in_width + w) * s.channels + c);
            }
          r.max[o] = -std::numeric_limits<double>::infinity();
          if (window.empty()) continue;
          std::int64_t best = window[0];
          for (std::int64_t i : window) {
            if (x[i] > x[best]) best = i;
            r.average[o] += double(x[i]) / window.size();
            r.average_gradient[i] += double(g[o]) / window.size();
          }
          r.max[o] = x[best];
          r.gather[o] = from[best];
          r.max_gradient[best] += g[o];
          r.places[o] = best - n * image;
        }
  return r;
}

template <class T>
void expect_near(const std::vector<T>& actual, const std::vector<double>& expected, const char* what) {
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (double(actual[i]) == expected[i]) continue;  // infinities too
    ASSERT_NEAR(actual[i], expected[i], sizeof(T) == 4 ? 1e-5 : 1e-14) << what << " at " << i;
  }
}

template <class T>
void check(const Pool2DShape& s) {
  std::string text;
  for (std::int64_t v : {s.batch, s.in_height, s.in_width, s.channels, s.window_height, s.window_width, s.out_height,
                         s.out_width, s.stride_height, s.stride_width, s.pad_top, s.pad_left}) {
    text += std::to_string(v) + " ";
  }
  SCOPED_TRACE(text);
  std::mt19937 random(3);
  std::uniform_int_distribution<int> few(-3, 3);  // with many equal values
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> x(s.batch * s.in_height * s.in_width * s.channels), from(x.size());
  std::vector<T> g(s.batch * s.out_height * s.out_width * s.channels);
  for (T& v : x) v = T(few(random));
  for (T& v : from) v = T(uniform(random));
  for (T& v : g) v = T(uniform(random));
  const Reference expected = reference(s, x, g, from);
  for (int set = 0; set <= instruction_set(); ++set) {
    SCOPED_TRACE("instruction set " + std::to_string(set));
    const Pool2DKernels<T> kernels = pool2d_kernels<T>(set);
    std::vector<T> first;
    for (int threads = 1; threads <= 2; ++threads) {
      set_thread_count(threads);
      std::vector<T> y(g.size(), T(99)), y2 = y, y3 = y, dx(x.size(), T(99)), dx2 = dx;
      std::vector<std::int64_t> places(g.size(), 99);
      kernels.max(s, x.data(), y.data(), kAlone);
      kernels.max_gradient(s, x.data(), g.data(), dx.data(), kAlone);
      kernels.max_gather(s, x.data(), from.data(), y2.data(), kAlone);
      kernels.max_places(s, x.data(), places.data(), kAlone);
      kernels.average(s, x.data(), y3.data(), kAlone);
      kernels.average_gradient(s, g.data(), dx2.data(), kAlone);
      expect_near(y, expected.max, "max");
      expect_near(y2, expected.gather, "gather");
      expect_near(y3, expected.average, "average");
      expect_near(dx, expected.max_gradient, "max gradient");
      expect_near(dx2, expected.average_gradient, "average gradient");
      ASSERT_EQ(places, expected.places);
      std::vector<T> all = dx;
      all.insert(all.end(), dx2.begin(), dx2.end());
      all.insert(all.end(), y3.begin(), y3.end());
      if (threads == 1) first = all;
      ASSERT_TRUE(all == first) << "bits depend on the number of threads";
    }
    set_thread_count(1);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

Pool2DShape square(std::int64_t batch, std::int64_t size, std::int64_t channels, std::int64_t window,
                   std::int64_t stride) {
  Pool2DShape s;
  s.batch = batch;
  s.in_height = s.in_width = size;
  s.channels = channels;
  s.window_height = s.window_width = window;
  s.stride_height = s.stride_width = stride;
  s.out_height = s.out_width = size < window ? 0 : (size - window) / stride + 1;
  return s;
}

TEST(Pool2D, AgreesWithTheDefinitionForTypicalWindows) {
  check<float>(square(9, 28, 16, 2, 2));
  check<float>(square(9, 7, 64, 2, 2));
  check<float>(square(2, 7, 64, 7, 7));
  check<float>(square(2, 15, 33, 3, 2));
  check<double>(square(2, 9, 5, 2, 1));
}

TEST(Pool2D, AgreesWithTheDefinitionOnRandomShapes) {
  std::mt19937 random(21);
  auto draw = [&](int low, int high) { return std::uniform_int_distribution<std::int64_t>(low, high)(random); };
  for (int i = 0; i < 150; ++i) {
    Pool2DShape s;
    s.batch = draw(0, 12) == 0 ? 0 : draw(1, 4);
    s.in_height = draw(1, 12);
    s.in_width = draw(1, 12);
    s.channels = draw(0, 12) == 0 ? 0 : draw(1, 40);
    s.window_height = draw(1, 4);
    s.window_width = draw(1, 4);
    s.stride_height = draw(1, 5);
    s.stride_width = draw(1, 5);
    s.pad_top = draw(0, 3);
    s.pad_left = draw(0, 3);
    const std::int64_t height = s.in_height + s.pad_top + draw(0, 3);
    const std::int64_t width = s.in_width + s.pad_left + draw(0, 3);
    s.out_height = height < s.window_height ? 0 : (height - s.window_height) / s.stride_height + 1;
    s.out_width = width < s.window_width ? 0 : (width - s.window_width) / s.stride_width + 1;
    i % 4 == 3 ? check<double>(s) : check<float>(s);
    if (HasFatalFailure()) return;
  }
}

TEST(Pool2D, MaximumIgnoresNanButItsGradientGoesToANanThatComesFirst) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int set = 0; set <= instruction_set(); ++set) {
    const Pool2DKernels<float> kernels = pool2d_kernels<float>(set);
    const Pool2DShape s = square(1, 2, 1, 2, 2);
    const float g = -1.65f;
    auto check_window = [&](std::vector<float> x, float value, std::vector<float> gradient) {
      float y = 0;
      std::vector<float> dx(4, 99);
      kernels.max(s, x.data(), &y, kAlone);
      kernels.max_gradient(s, x.data(), &g, dx.data(), kAlone);
      EXPECT_EQ(std::isnan(y), std::isnan(value));
      if (!std::isnan(value)) {
        EXPECT_EQ(y, value);
      }
      EXPECT_EQ(dx, gradient);
    };
    check_window({nan, 1, 2, 3}, 3, {g, 0, 0, 0});
    check_window({1, nan, 2, 0}, 2, {0, 0, g, 0});
    check_window({1, 0, 0, nan}, 1, {g, 0, 0, 0});
    check_window({nan, nan, nan, nan}, nan, {g, 0, 0, 0});
    const float low = -std::numeric_limits<float>::infinity();
    check_window({low, low, low, low}, low, {g, 0, 0, 0});
  }
}

}  // namespace
}  // namespace capstan
