// Fourier transforms against their definition, for lengths with small, large and no other prime factors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "src/kernels/signal/fft.h"
#include "tests/support/random.h"

namespace capstan::testing {
namespace {

template <class T>
std::vector<std::complex<T>> draw(std::int64_t count) {
  Random random("fft");
  std::vector<std::complex<T>> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    numbers.emplace_back(static_cast<T>(random.uniform(-1, 1)), static_cast<T>(random.uniform(-1, 1)));
  }
  return numbers;
}

// [outer, n, inner], by the definition in float64.
template <class T>
std::vector<std::complex<double>> by_definition(bool inverse, std::int64_t outer, std::int64_t n, std::int64_t inner,
                                                const std::vector<std::complex<T>>& in) {
  std::vector<std::complex<double>> out(in.size());
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t k = 0; k < n; ++k) {
      for (std::int64_t i = 0; i < inner; ++i) {
        std::complex<double> sum = 0;
        for (std::int64_t j = 0; j < n; ++j) {
          const double angle = 2 * 3.14159265358979323846 * static_cast<double>(j * k % n) / static_cast<double>(n);
          sum += std::complex<double>(in[static_cast<std::size_t>((o * n + j) * inner + i)]) *
                 std::polar(1.0, inverse ? angle : -angle);
        }
        out[static_cast<std::size_t>((o * n + k) * inner + i)] = sum;
      }
    }
  }
  return out;
}

// The largest difference, over the size of a typical result.
template <class T>
double error(const std::vector<std::complex<T>>& got, const std::vector<std::complex<double>>& want, std::int64_t n) {
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::abs(std::complex<double>(got[i]) - want[i]));
  }
  return largest / std::sqrt(static_cast<double>(n));
}

constexpr std::int64_t kLengths[] = {1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11,  12,  13,   15,   16,
                                     17,  21,  25,  29,  30,  31,  32,  33,  36,  37,  41,  49,  64,   74,   97,
                                     100, 127, 128, 143, 210, 243, 256, 331, 360, 625, 841, 961, 1000, 1009, 1024};

template <class T>
void expect_right(double allowed) {
  for (const std::int64_t n : kLengths) {
    for (const bool inverse : {false, true}) {
      const auto in = draw<T>(n);
      std::vector<std::complex<T>> out(in.size());
      fft_axis(inverse, 1, n, 1, in.data(), out.data());
      EXPECT_LT(error(out, by_definition(inverse, 1, n, 1, in), n), allowed) << n << (inverse ? ", inverse" : "");
    }
  }
}
TEST(Fft, IsTheDefinitionInFloat64) { expect_right<double>(1e-13); }
TEST(Fft, IsTheDefinitionInFloat32) { expect_right<float>(5e-6); }

TEST(Fft, RunsAlongAnyAxisAndInPlace) {
  for (const std::int64_t inner : {1, 3, 8, 11}) {
    for (const std::int64_t n : {1, 4, 14, 37}) {
      const auto in = draw<double>(3 * n * inner);
      auto out = in;
      fft_axis(false, 3, n, inner, out.data(), out.data());
      EXPECT_LT(error(out, by_definition(false, 3, n, inner, in), n), 1e-13) << n << ", inner " << inner;
    }
  }
}

TEST(Fft, OfRealRowsIsTheFirstHalf) {
  for (const std::int64_t n : kLengths) {
    const auto drawn = draw<double>(2 * n);
    std::vector<double> in;
    for (const auto& z : drawn) in.push_back(z.real());
    std::vector<std::complex<double>> whole(in.begin(), in.end());
    whole = by_definition(false, 2, n, 1, whole);
    const std::int64_t half = n / 2 + 1;
    std::vector<std::complex<double>> out(static_cast<std::size_t>(2 * half));
    fft_real(2, n, in.data(), out.data());
    for (std::int64_t row = 0; row < 2; ++row) {
      for (std::int64_t k = 0; k < half; ++k) {
        EXPECT_LT(
            std::abs(out[static_cast<std::size_t>(row * half + k)] - whole[static_cast<std::size_t>(row * n + k)]),
            1e-12)
            << n << " at " << k;
      }
    }
    std::vector<double> back(in.size());
    fft_to_real(2, n, out.data(), back.data());
    for (std::size_t i = 0; i < in.size(); ++i) EXPECT_NEAR(back[i] / static_cast<double>(n), in[i], 1e-13) << n;
  }
}

// A square of a prime, a large prime, and twice one: each would take seconds and more by its largest factor alone.
TEST(Fft, OfAwkwardLengthsIsQuickAndComesBack) {
  for (const std::int64_t n : {100003, 96721, 2 * 50021}) {
    const auto in = draw<double>(n);
    auto out = in;
    fft_axis(false, 1, n, 1, in.data(), out.data());
    std::complex<double> sum = 0;
    for (const auto& z : in) sum += z;
    EXPECT_LT(std::abs(out[0] - sum), 1e-8);
    fft_axis(true, 1, n, 1, out.data(), out.data());
    double largest = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      largest = std::max(largest, std::abs(out[i] / static_cast<double>(n) - in[i]));
    }
    EXPECT_LT(largest, 1e-13) << n;
  }
}

}  // namespace
}  // namespace capstan::testing
