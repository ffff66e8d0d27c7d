// Signals: what samples of single ops do not say.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/ops/signal.h"
#include "capstan/tape.h"

namespace capstan {
namespace {

Tensor chirp(std::int64_t samples) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < samples; ++i) {
    const auto t = static_cast<double>(i);
    values.push_back(std::sin(0.05 * t + 0.001 * t * t));
  }
  return constant(values);
}

TEST(Signal, ComesBackFromItsShortTimeTransform) {
  const Tensor x = chirp(400);
  const Tensor window = inverse_stft_window(64, 16, &hann_window, float64);
  const Tensor y = inverse_stft(stft(x, 64, 16), 64, 16, {.window = window});
  ASSERT_EQ(y.shape(), Shape{400});
  // The ends lie in too few frames.
  const Tensor difference = reduce_max(abs((y - x)(slice(64, 336))));
  EXPECT_LT(difference.item<double>(), 1e-12);
}

TEST(Signal, WindowsAreThoseOfTensorFlow) {
  const auto near = [](const Tensor& got, const std::vector<double>& want) {
    const std::vector<double> values = got.to_vector<double>();
    ASSERT_EQ(values.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(values[i], want[i], 1e-15);
  };
  near(hann_window(4, true, float64), {0, 0.5, 1, 0.5});
  near(hann_window(4, false, float64), {0, 0.75, 0.75, 0});
  near(hann_window(5, true, float64), {0, 0.5, 1, 0.5, 0});
  near(hamming_window(4, true, float64), {0.08, 0.54, 1, 0.54});
}

TEST(Signal, AWindowCanBeAFunctionOfTheCallerOrNone) {
  const Tensor x = chirp(20);
  const Tensor plain = stft(x, 8, 4, {.window_fn = nullptr});
  const Tensor doubled =
      stft(x, 8, 4, {.window_fn = [](std::int64_t n, bool, DType dtype) { return ones({n}, dtype) * 2; }});
  EXPECT_LT(reduce_max(abs(doubled - plain * 2)).item<double>(), 1e-12);
  EXPECT_EQ(plain.shape(), (Shape{4, 5}));
}

TEST(Signal, FramesHaveADenseGradient) {
  const Tensor x = chirp(10);
  GradientTape tape;
  tape.watch(x);
  const Tensor gradient = tape.gradient(frame(x, 4, 2), x);
  EXPECT_FALSE(gradient.is_row_sparse());
  EXPECT_EQ(gradient.to_vector<double>(), (std::vector<double>{1, 1, 2, 2, 2, 2, 2, 2, 1, 1}));
}

TEST(Signal, TransformsAgreeWithEachOther) {
  const Tensor x = reshape(chirp(2 * 6 * 10), {2, 6, 10});
  const Tensor whole = fft2d(cast(x, complex128));
  EXPECT_LT(reduce_max(abs(rfft2d(x) - whole(ellipsis, slice(0, 6)))).item<double>(), 1e-12);
  EXPECT_LT(reduce_max(abs(irfft2d(rfft2d(x)) - x)).item<double>(), 1e-13);
  EXPECT_LT(reduce_max(abs(real(ifft3d(fft3d(cast(x, complex128)))) - x)).item<double>(), 1e-13);
  EXPECT_EQ(rfft(x, 0).shape(), (Shape{2, 6, 0}));
  EXPECT_EQ(irfft(rfft(x), 7).shape(), (Shape{2, 6, 7}));
}

TEST(Signal, RefusesLengthsThatNoAxisHas) {
  const Tensor x = chirp(10);
  EXPECT_THROW(frame(x, INT64_MAX, 1), ValueError);
  EXPECT_THROW(frame(x, 2, INT64_MAX), ValueError);
  EXPECT_THROW(stft(x, 0, 1), ValueError);
  EXPECT_THROW(rfft(x, -1), ValueError);
  EXPECT_THROW(fft(x), DTypeError);
  EXPECT_THROW(rfft(cast(x, complex128)), DTypeError);
}

}  // namespace
}  // namespace capstan
