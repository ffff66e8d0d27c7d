// Spectrograms by convolution.
#include <bit>
#include <vector>

#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/conv.h"
#include "capstan/ops/math.h"
#include "src/train/common.h"
#include "src/train/layers/classes.h"
#include "src/train/layers/spatial.h"

namespace capstan::layers {

namespace {

constexpr std::string_view kSpectra[] = {"log", "magnitude", "psd", "real", "imag", "angle", "stft"};
constexpr std::string_view kWindows[] = {"hann", "hamming"};
constexpr std::string_view kScalings[] = {"density", "spectrum"};
// What magnitudes and powers are at least.
constexpr double kSmallest = 1e-7;

struct STFTSpectrogramConfig : STFTSpectrogramOptions {
  static std::span<const OptionField> fields() {
    using O = STFTSpectrogramConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::mode, O>("mode").one_of(kSpectra), option<&O::frame_length, O>("frame_length").at_least(2),
         option<&O::frame_step, O>("frame_step").at_least(1), option<&O::fft_length, O>("fft_length").at_least(2),
         option<&O::window, O>("window").one_of(kWindows), option<&O::periodic, O>("periodic"),
         option<&O::scaling, O>("scaling").one_of(kScalings), detail::padding_option<O>(),
         option<&O::expand_dims, O>("expand_dims"), detail::data_format_option<O>()});
    return all;
  }
};

class STFTSpectrogramBody final : public ConfiguredLayer<STFTSpectrogramBody, STFTSpectrogramConfig> {
 public:
  static constexpr char kName[] = "STFTSpectrogram", kText[] = "The short-time Fourier transform of signals.";
  explicit STFTSpectrogramBody(const STFTSpectrogramConfig& given)
      : ConfiguredLayer(given),
        step_(given.frame_step.value_or(given.frame_length / 2)),
        fft_length_(given.fft_length ? *given.fft_length : next_power(given.frame_length)) {
    CAPSTAN_CHECK(step_ <= given.frame_length, ValueError, "STFTSpectrogram: frame_step is ", step_,
                  ", more than the frame_length of ", given.frame_length);
    CAPSTAN_CHECK(fft_length_ >= given.frame_length, ValueError, "STFTSpectrogram: fft_length is ", fft_length_,
                  ", less than the frame_length of ", given.frame_length);
  }

 protected:
  void build(const Shape&) override {
    const auto kernel = [&](const char* weight, const char* side) {
      return add_weight(
          {.name = weight,
           .shape = {options.frame_length, 1, fft_length_ / 2 + 1},
           .initializer = initializers::STFTInitializer(
               {.side = side, .window = options.window, .scaling = options.scaling, .periodic = options.periodic})});
    };
    if (options.mode != "imag") real_kernel_ = kernel("real_kernel", "real");
    if (options.mode != "real") imag_kernel_ = kernel("imag_kernel", "imag");
  }

  Tensor call(const Tensor& x, const CallOptions&) override {
    detail::check_spatial(name(), x.shape(), 1);
    CAPSTAN_CHECK(!is_complex(x.dtype()), DTypeError, name(), ": dtype ", x.dtype(), " is not supported",
                  arguments({{"x", x}}));
    const bool is_first = options.data_format == "channels_first";
    if (options.padding == "valid") {
      const std::int64_t window[] = {options.frame_length};
      detail::check_window(name(), x.shape(), is_first, window, {});
    }
    const Tensor floating = is_floating(x.dtype()) ? x : cast(x, compute_dtype());
    const Tensor signals = is_first ? floating : transpose(floating, {0, 2, 1});
    const std::int64_t channels = signals.dim(1);
    const Tensor each = reshape(signals, {channels == 0 ? 0 : open(signals), signals.dim(2), 1});
    const Tensor frames = spectrum(each);
    // [batch, channels, frames, frequencies]
    const Tensor all = reshape(frames, {open(signals), channels, frames.dim(1), frames.dim(2)});
    if (options.expand_dims) return is_first ? all : transpose(all, {0, 2, 3, 1});
    const std::int64_t numbers = channels * frames.dim(2);
    return is_first ? reshape(transpose(all, {0, 1, 3, 2}), {open(signals), numbers, frames.dim(1)})
                    : reshape(transpose(all, {0, 2, 1, 3}), {open(signals), frames.dim(1), numbers});
  }

 private:
  static std::int64_t next_power(std::int64_t length) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(length)));
  }

  // The length of the first axis in a reshape, which may be any in a function; of nothing it has to be given.
  static std::int64_t open(const Tensor& x) { return x.size() == 0 ? x.dim(0) : -1; }

  // [signals, frames, frequencies]
  Tensor spectrum(const Tensor& signals) const {
    const auto along = [&](const Variable& kernel) {
      return conv1d(signals, value_of(kernel), step_, options.padding == "same" ? "SAME" : "VALID");
    };
    const std::string& mode = options.mode;
    if (mode == "real") return along(real_kernel_);
    if (mode == "imag") return along(imag_kernel_);
    const Tensor re = along(real_kernel_), im = along(imag_kernel_);
    if (mode == "angle") return atan2(im, re);
    if (mode == "stft") return concat({re, im}, 2);
    const Tensor power = square(re) + square(im);
    // All frequencies but the first and the last stand for their negatives, too.
    if (mode == "psd") return power * doubled(power.dim(2), power.dtype());
    const Tensor magnitude = sqrt(maximum(power, kSmallest));
    return mode == "magnitude" ? magnitude : log(maximum(magnitude, kSmallest));
  }

  static Tensor doubled(std::int64_t count, DType dtype) {
    std::vector<double> factors(static_cast<std::size_t>(count), 2.0);
    factors.front() = factors.back() = 1;
    return cast(constant(factors, {count}), dtype);
  }

  std::int64_t step_, fft_length_;
  Variable real_kernel_, imag_kernel_;
};

}  // namespace

STFTSpectrogram::STFTSpectrogram(const STFTSpectrogramOptions& options)
    : Layer(make_configurable<STFTSpectrogramBody>(STFTSpectrogramConfig{options})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::stft_spectrogram_class() { return layers::STFTSpectrogramBody::info(); }
