#include "src/kernels/conv/conv2d.h"

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

// The definition, with every gradient from the same seven loops.
struct Reference {
  std::vector<double> output, input_gradient, filter_gradient;
};

template <class T>
Reference reference(const Conv2DShape& s, const std::vector<T>& x, const std::vector<T>& w, const std::vector<T>& g) {
  Reference r;
  r.output.resize(g.size());
  r.input_gradient.resize(x.size());
  r.filter_gradient.resize(w.size());
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t oh = 0; oh < s.out_height; ++oh)
      for (std::int64_t ow = 0; ow < s.out_width; ++ow)
        for (std::int64_t kh = 0; kh < s.kernel_height; ++kh)
          for (std::int64_t kw = 0; kw < s.kernel_width; ++kw) {
            const std::int64_t h = oh * s.stride_height - s.pad_top + kh;
            const std::int64_t c = ow * s.stride_width - s.pad_left + kw;
            if (h < 0 || c < 0 || h >= s.in_height || c >= s.in_width) continue;
            for (std::int64_t i = 0; i < s.in_channels; ++i)
              for (std::int64_t o = 0; o < s.out_channels; ++o) {
                const std::int64_t xi = ((n * s.in_height + h) * s.in_width + c) * s.in_channels + i;
                const std::int64_t wi = ((kh * s.kernel_width + kw) * s.in_channels + i) * s.out_channels + o;
                const std::int64_t yi = ((n * s.out_height + oh) * s.out_width + ow) * s.out_channels + o;
                r.output[yi] += double(x[xi]) * w[wi];
                r.input_gradient[xi] += double(g[yi]) * w[wi];
                r.filter_gradient[wi] += double(g[yi]) * x[xi];
              }
          }
  return r;
}

std::string describe(const Conv2DShape& s) {
  std::string text;
  for (std::int64_t v :
       {s.batch, s.in_height, s.in_width, s.in_channels, s.kernel_height, s.kernel_width, s.out_channels, s.out_height,
        s.out_width, s.stride_height, s.stride_width, s.pad_top, s.pad_left}) {
    text += std::to_string(v) + " ";
  }
  return text;
}

template <class T>
void expect_near(const std::vector<T>& actual, const std::vector<double>& expected, double scale) {
  const double tolerance = (sizeof(T) == 4 ? 4e-6 : 8e-15) * scale;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], tolerance) << "at " << i;
  }
}

template <class T>
void check(const Conv2DShape& s) {
  SCOPED_TRACE(describe(s));
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> x(s.batch * s.in_height * s.in_width * s.in_channels);
  std::vector<T> w(s.kernel_height * s.kernel_width * s.in_channels * s.out_channels);
  std::vector<T> g(s.batch * s.out_height * s.out_width * s.out_channels);
  for (auto* v : {&x, &w, &g}) {
    for (T& e : *v) e = T(uniform(random));
  }
  const Reference expected = reference(s, x, w, g);
  for (int set = 0; set <= instruction_set(); ++set) {
    SCOPED_TRACE("instruction set " + std::to_string(set));
    const Conv2DKernels<T> kernels = conv2d_kernels<T>(set);
    std::vector<T> first[3];
    for (int threads = 1; threads <= 2; ++threads) {
      set_thread_count(threads);
      // Stale values, and one element behind the end to see that nothing is written there.
      std::vector<T> y(g.size() + 1, T(99)), dx(x.size() + 1, T(99)), dw(w.size() + 1, T(99));
      kernels.forward(s, x.data(), w.data(), y.data(), kAlone);
      kernels.backward_input(s, g.data(), w.data(), dx.data(), kAlone);
      kernels.backward_filter(s, x.data(), g.data(), dw.data());
      for (auto* v : {&y, &dx, &dw}) {
        ASSERT_EQ(v->back(), T(99));
        v->pop_back();
      }
      const double taps = s.kernel_height * s.kernel_width;
      expect_near(y, expected.output, 1 + std::sqrt(taps * s.in_channels));
      expect_near(dx, expected.input_gradient, 1 + std::sqrt(taps * s.out_channels));
      expect_near(dw, expected.filter_gradient, 1 + std::sqrt(1.0 * s.batch * s.out_height * s.out_width));
      if (threads == 1) {
        first[0] = y, first[1] = dx, first[2] = dw;
      } else {
        ASSERT_TRUE(y == first[0] && dx == first[1] && dw == first[2]) << "bits depend on the number of threads";
      }
    }
    set_thread_count(1);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

Conv2DShape shape_of(std::int64_t batch, std::int64_t size, std::int64_t in, std::int64_t out, std::int64_t kernel,
                     std::int64_t stride) {
  Conv2DShape s;
  s.batch = batch;
  s.in_height = s.in_width = size;
  s.in_channels = in;
  s.out_channels = out;
  s.kernel_height = s.kernel_width = kernel;
  s.stride_height = s.stride_width = stride;
  s.out_height = s.out_width = (size + stride - 1) / stride;
  s.pad_top = s.pad_left = std::max<std::int64_t>((s.out_height - 1) * stride + kernel - size, 0) / 2;
  return s;
}

TEST(Conv2D, AgreesWithTheDefinitionOnTheLayersOfASmallNetwork) {
  check<float>(shape_of(3, 28, 1, 16, 3, 1));
  check<float>(shape_of(3, 14, 16, 32, 3, 1));
  check<float>(shape_of(3, 14, 32, 32, 3, 1));
  check<float>(shape_of(5, 7, 32, 64, 3, 1));
  check<float>(shape_of(5, 7, 64, 64, 3, 1));
  check<double>(shape_of(3, 7, 20, 24, 3, 1));
}

TEST(Conv2D, AgreesWithTheDefinitionForTypicalKernelsAndStrides) {
  check<float>(shape_of(2, 32, 3, 32, 3, 1));
  check<float>(shape_of(2, 32, 3, 48, 7, 2));
  check<float>(shape_of(2, 16, 32, 48, 3, 2));
  check<float>(shape_of(2, 9, 64, 80, 1, 1));
  check<float>(shape_of(2, 9, 24, 112, 1, 2));
  check<float>(shape_of(1, 20, 5, 7, 5, 1));
  check<float>(shape_of(1, 50, 40, 3, 4, 3));
  check<float>(shape_of(1, 12, 2, 1, 11, 1));
}

TEST(Conv2D, AgreesWithTheDefinitionForFewChannels) {
  for (int few = 1; few <= 5; ++few) {
    check<float>(shape_of(5, 12, 24, few, 5, 1));
    check<float>(shape_of(2, 13, 50, few, 3, 2));
    check<float>(shape_of(5, 12, few, 24, 5, 1));
    check<float>(shape_of(2, 13, few, 50, 3, 2));
    check<double>(shape_of(3, 6, few, few, 3, 1));
    if (HasFatalFailure()) return;
  }
}

// The stride times the channels is a block of 16: pixels of a phase look contiguous and are not.
TEST(Conv2D, KeepsOtherPhasesOutOfTheLanesThatABlockHasLeft) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (int set = 0; set <= instruction_set(); ++set) {
    Conv2DShape s = shape_of(1, 8, 8, 1, 1, 2);  // reads even columns only
    std::vector<float> x(8 * 8 * 8, 1), w(8, 1), y(16);
    for (int pixel = 1; pixel < 64; pixel += 2) x[pixel * 8] = infinity;
    conv2d_kernels<float>(set).forward(s, x.data(), w.data(), y.data(), kAlone);
    EXPECT_EQ(y, std::vector<float>(16, 8));
  }
}

TEST(Conv2D, AgreesWithTheDefinitionOnRandomShapes) {
  std::mt19937 random(20);
  auto draw = [&](int low, int high) { return std::uniform_int_distribution<std::int64_t>(low, high)(random); };
  for (int i = 0; i < 150; ++i) {
    Conv2DShape s;
    s.batch = draw(0, 12) == 0 ? 0 : draw(1, 4);
    s.in_height = draw(0, 12) == 0 ? 0 : draw(1, 17);
    s.in_width = draw(0, 12) == 0 ? 0 : draw(1, 33);
    s.in_channels = draw(0, 2) == 0 ? draw(0, 4) : draw(1, 40);
    s.out_channels = draw(0, 2) == 0 ? draw(0, 4) : draw(1, 90);
    s.kernel_height = draw(1, 5);
    s.kernel_width = draw(1, 5);
    s.stride_height = draw(1, 4);
    s.stride_width = draw(1, 4);
    s.pad_top = draw(0, 4);
    s.pad_left = draw(0, 4);
    const std::int64_t height = s.in_height + s.pad_top + draw(0, 4), width = s.in_width + s.pad_left + draw(0, 4);
    s.out_height = height < s.kernel_height ? 0 : (height - s.kernel_height) / s.stride_height + 1;
    s.out_width = width < s.kernel_width ? 0 : (width - s.kernel_width) / s.stride_width + 1;
    i % 4 == 3 ? check<double>(s) : check<float>(s);
    if (HasFatalFailure()) return;
  }
}

// The first has a source that is read where it is, whole and in bands.
TEST(Conv2D, AgreesWithTheDefinitionWithoutPadding) {
  for (const std::int64_t channels : {16, 3, 1, 32}) {
    Conv2DShape s = shape_of(3, 12, channels, 32, 3, 1);
    s.out_height = s.out_width = 10;
    s.pad_top = s.pad_left = 0;
    check<float>(s);
    s = shape_of(1, 70, channels, 16, 5, 1);
    s.out_height = s.out_width = 66;
    s.pad_top = s.pad_left = 0;
    check<double>(s);
    if (HasFatalFailure()) return;
  }
}

// Taps that read beside a narrow image for one pixel of a row, for both ends, or for all of them.
TEST(Conv2D, AgreesWithTheDefinitionOnNarrowImages) {
  for (std::int64_t width = 1; width <= 4; ++width)
    for (std::int64_t left = 0; left <= 2; ++left)
      for (std::int64_t right = 0; right <= 2; ++right)
        for (const std::int64_t in : {1, 3, 16, 37})
          for (const std::int64_t out : {8, 16, 40}) {
            Conv2DShape s = shape_of(2, 3, in, out, 3, 1);
            s.in_width = width;
            s.pad_left = left;
            s.out_width = std::max<std::int64_t>(width + left + right - 2, 0);
            check<float>(s);
            if (HasFatalFailure()) return;
          }
}

// A tile leaves the pixel at the end of a row out; what a neighbour in memory holds there is no business of it.
TEST(Conv2D, ReadsNothingBesideTheImage) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int set = 0; set <= instruction_set(); ++set)
    for (const std::int64_t channels : {1, 16, 32, 1024}) {
      const Conv2DShape s = shape_of(1, 7, channels, 16, 3, 1);
      const std::int64_t margin = 16 * channels, count = 7 * 7 * channels;
      std::vector<float> x(count + 2 * margin, nan), w(9 * channels * 16, 1), y(7 * 7 * 16);
      std::fill(x.begin() + margin, x.begin() + margin + count, 1.0f);
      conv2d_kernels<float>(set).forward(s, x.data() + margin, w.data(), y.data(), kAlone);
      EXPECT_EQ(y[0], 4.0f * channels);
      EXPECT_EQ(y[3 * 16], 6.0f * channels);
      EXPECT_EQ(y[(3 * 7 + 3) * 16], 9.0f * channels);
      EXPECT_EQ(y[(7 * 7 - 1) * 16], 4.0f * channels);
    }
}

template <class T>
void check_pointwise(const Conv2DShape& s) {
  SCOPED_TRACE(describe(s));
  std::mt19937 random(8);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> x(pixels(s) * s.in_channels), w(s.in_channels * s.out_channels), g(pixels(s) * s.out_channels);
  for (auto* v : {&x, &w, &g}) {
    for (T& e : *v) e = T(uniform(random));
  }
  const Reference expected = reference(s, x, w, g);
  std::vector<T> first;
  for (int threads = 1; threads <= 3; ++threads) {
    set_thread_count(threads);
    std::vector<T> y(g.size(), T(99)), dx(x.size(), T(99)), dw(w.size(), T(99));
    conv2d_forward(s, x.data(), w.data(), y.data());
    conv2d_backward_input(s, g.data(), w.data(), dx.data());
    conv2d_backward_filter(s, x.data(), g.data(), dw.data());
    expect_near(y, expected.output, 1 + std::sqrt(1.0 * s.in_channels));
    expect_near(dx, expected.input_gradient, 1 + std::sqrt(1.0 * s.out_channels));
    expect_near(dw, expected.filter_gradient, 1 + std::sqrt(1.0 * pixels(s)));
    if (threads == 1) first = dw;
    EXPECT_TRUE(dw == first) << "bits depend on the number of threads";
  }
  set_thread_count(1);
}

TEST(Conv2D, AgreesWithTheDefinitionForFiltersOfOnePixel) {
  check_pointwise<float>(shape_of(0, 4, 16, 16, 1, 1));
  check_pointwise<float>(shape_of(1, 1, 16, 16, 1, 1));
  check_pointwise<float>(shape_of(9, 31, 16, 16, 1, 1));
  check_pointwise<float>(shape_of(3, 29, 64, 16, 1, 1));
  check_pointwise<float>(shape_of(3, 29, 24, 70, 1, 1));
  check_pointwise<float>(shape_of(2, 30, 300, 5, 1, 1));
  check_pointwise<double>(shape_of(3, 29, 16, 7, 1, 1));
  check_pointwise<double>(shape_of(2, 17, 3, 40, 1, 1));
  check_pointwise<float>(shape_of(2, 5, 0, 4, 1, 1));
}

TEST(Conv2D, CutsImagesThatAreLargerThanAScratchBlockIntoBands) {
  Conv2DShape s = shape_of(1, 90, 17, 5, 3, 1);
  s.in_width = 120;
  s.out_width = 120;
  check<float>(s);
}

TEST(Conv2D, GivesZeroGradientsForAnEmptyBatch) {
  Conv2DShape s = shape_of(0, 5, 3, 4, 3, 1);
  std::vector<float> dw(3 * 3 * 3 * 4, 99);
  conv2d_backward_filter<float>(s, nullptr, nullptr, dw.data());
  for (float v : dw) EXPECT_EQ(v, 0);
}

}  // namespace
}  // namespace capstan
