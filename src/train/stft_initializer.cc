// The kernel of a short-time Fourier transform.
#include <cmath>
#include <numbers>
#include <vector>

#include "capstan/initializers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"
#include "src/train/classes.h"

namespace capstan {

using initializers::STFTInitializerOptions;

namespace {

// Raised cosines over `length` points; a periodic window is a symmetric one of one point more without its end.
std::vector<double> window_of(const std::string& name, std::int64_t length, bool periodic) {
  const double mean = name == "hann" ? 0.5 : 0.54;
  const auto steps = static_cast<double>(periodic ? length : length - 1);
  std::vector<double> window(static_cast<std::size_t>(length), 1.0);
  for (std::int64_t t = 0; t < length && length > 1; ++t) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(t) / steps;
    window[static_cast<std::size_t>(t)] = mean - (1 - mean) * std::cos(angle);
  }
  return window;
}

struct STFTBody final : Configured<STFTBody, InitializerBody, STFTInitializerOptions> {
  using Configured::Configured;
  static constexpr std::string_view kName = "STFTInitializer";
  static constexpr std::string_view kText = "The kernel of a convolution that is a short-time Fourier transform.";

  Tensor value(const Shape& shape, DType dtype) const override {
    CAPSTAN_CHECK(shape.rank() == 3 && shape[1] == 1 && shape[2] >= 2, ShapeError,
                  "initializer: stft needs a shape [frame length, 1, fft length / 2 + 1], not ", shape);
    const std::int64_t length = shape[0], bands = shape[2], period = 2 * (bands - 1);
    std::vector<double> window(static_cast<std::size_t>(length), 1.0);
    double scale = 1;
    if (options.window) {
      window = window_of(*options.window, length, options.periodic);
      double sum = 0;
      for (const double w : window) sum += options.scaling == "density" ? w * w : std::abs(w);
      if (options.scaling) scale = *options.scaling == "density" ? std::sqrt(sum) : sum;
    }
    std::vector<double> kernel;
    for (std::int64_t t = 0; t < length; ++t) {
      for (std::int64_t f = 0; f < bands; ++f) {
        const double angle = -2 * std::numbers::pi * static_cast<double>(t * f % period) / static_cast<double>(period);
        const double wave = options.side == "real" ? std::cos(angle) : std::sin(angle);
        kernel.push_back(wave * window[static_cast<std::size_t>(t)] / scale);
      }
    }
    return cast(constant(kernel, shape), dtype);
  }
};

}  // namespace

namespace initializers {

std::span<const OptionField> STFTInitializerOptions::fields() {
  using O = STFTInitializerOptions;
  static constexpr std::string_view sides[] = {"real", "imag"};
  static constexpr std::string_view windows[] = {"hann", "hamming"};
  static constexpr std::string_view scalings[] = {"density", "spectrum"};
  static constexpr OptionField all[] = {option<&O::side>("side", true).one_of(sides),
                                        option<&O::window>("window").one_of(windows), option<&O::periodic>("periodic"),
                                        option<&O::scaling>("scaling").one_of(scalings)};
  return all;
}

STFTInitializer::STFTInitializer(const STFTInitializerOptions& options)
    : Initializer(make_configurable<STFTBody>(options)) {}

}  // namespace initializers

const ClassInfo& detail::stft_initializer_class() { return STFTBody::info(); }

}  // namespace capstan
