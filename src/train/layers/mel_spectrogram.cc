// Spectrograms on the mel scale.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/ops/signal.h"
#include "src/train/common.h"
#include "src/train/layers/axis_order.h"
#include "src/train/layers/classes.h"

namespace capstan::layers {

namespace {

constexpr std::string_view kWindows[] = {"hann", "hamming"};

struct MelSpectrogramConfig : MelSpectrogramOptions {
  static std::span<const OptionField> fields() {
    using O = MelSpectrogramConfig;
    static constexpr auto all = with_layer_options<O>(
        {option<&O::fft_length, O>("fft_length").at_least(1),
         option<&O::sequence_stride, O>("sequence_stride").at_least(1),
         option<&O::sequence_length, O>("sequence_length").at_least(1),
         option<&O::window, O>("window").one_of(kWindows), option<&O::sampling_rate, O>("sampling_rate").at_least(1),
         option<&O::num_mel_bins, O>("num_mel_bins").at_least(1), option<&O::min_freq, O>("min_freq").at_least(0),
         option<&O::max_freq, O>("max_freq").above(0), option<&O::power_to_db, O>("power_to_db"),
         option<&O::top_db, O>("top_db").at_least(0), option<&O::mag_exp, O>("mag_exp").above(0),
         option<&O::min_power, O>("min_power").above(0), option<&O::ref_power, O>("ref_power")});
    return all;
  }
};

double mel_of(double hertz) { return 1127 * std::log1p(hertz / 700); }

class MelSpectrogramBody final : public ConfiguredLayer<MelSpectrogramBody, MelSpectrogramConfig> {
 public:
  static constexpr char kName[] = "MelSpectrogram", kText[] = "The strength of bands of frequencies over time.";
  explicit MelSpectrogramBody(const MelSpectrogramConfig& given)
      : ConfiguredLayer(given),
        window_length_(given.sequence_length.value_or(given.fft_length)),
        max_freq_(given.max_freq.value_or(static_cast<double>(given.sampling_rate / 2))) {
    CAPSTAN_CHECK(given.fft_length >= window_length_, ValueError, "MelSpectrogram: fft_length is ", given.fft_length,
                  ", less than the sequence_length of ", window_length_);
    CAPSTAN_CHECK(max_freq_ > given.min_freq, ValueError, "MelSpectrogram: max_freq is ", max_freq_,
                  ", not more than the min_freq of ", given.min_freq);
  }

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override {
    const auto& o = options;
    CAPSTAN_CHECK(x.rank() == 1 || x.rank() == 2, ShapeError, name(),
                  ": the input must be [samples] or [batch, samples], not of rank ", x.rank(), arguments({{"x", x}}));
    const std::int64_t border = o.fft_length / 2;
    CAPSTAN_CHECK(x.dim(-1) > border, ShapeError, name(), ": ", x.dim(-1),
                  " samples cannot be mirrored at their ends for an fft_length of ", o.fft_length,
                  arguments({{"x", x}}));
    CAPSTAN_CHECK(!is_complex(x.dtype()), DTypeError, name(), ": dtype ", x.dtype(), " is not supported",
                  arguments({{"x", x}}));
    const DType result_dtype = compute_dtype();
    const DType dtype = detail::working_dtype(result_dtype);
    std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
    widths.back() = {border, border};
    const Tensor mirrored = pad(detail::in_dtype(x, dtype), widths, PadMode::kReflect);
    Tensor frames = frame(mirrored, o.fft_length, o.sequence_stride);
    if (o.window) frames = frames * window(dtype);
    const Tensor bands = matmul(strength(rfft(frames)), weights(dtype));
    return detail::in_dtype(swapped(o.power_to_db ? in_decibels(bands) : bands), result_dtype);
  }

 private:
  // In the middle of a frame.
  Tensor window(DType dtype) const {
    const Tensor inner = *options.window == "hann" ? hann_window(window_length_, true, dtype)
                                                   : hamming_window(window_length_, true, dtype);
    const std::int64_t left = (options.fft_length - window_length_) / 2;
    return pad(inner, {{left, options.fft_length - window_length_ - left}});
  }

  Tensor strength(const Tensor& transformed) const {
    if (options.mag_exp == 2) return square(real(transformed)) + square(imag(transformed));
    const Tensor magnitude = abs(transformed);
    return options.mag_exp == 1 ? magnitude : pow(magnitude, options.mag_exp);
  }

  // [frequencies, bands]: triangles of height 1 over the mel scale, which begin and end in the middle of their
  // neighbours. The frequency 0 belongs to none.
  Tensor weights(DType dtype) const {
    const std::int64_t frequencies = options.fft_length / 2 + 1, bands = options.num_mel_bins;
    const double lowest = mel_of(options.min_freq), highest = mel_of(max_freq_);
    const double width = (highest - lowest) / static_cast<double>(bands + 1);
    std::vector<double> values(static_cast<std::size_t>(frequencies * bands));
    for (std::int64_t i = 1; i < frequencies; ++i) {
      const double hertz = static_cast<double>(options.sampling_rate) / 2 * static_cast<double>(i) /
                           static_cast<double>(frequencies - 1);
      for (std::int64_t band = 0; band < bands; ++band) {
        const double middle = lowest + width * static_cast<double>(band + 1);
        values[static_cast<std::size_t>(i * bands + band)] =
            std::max(0.0, 1 - std::abs(mel_of(hertz) - middle) / width);
      }
    }
    return cast(constant(values, {frequencies, bands}), dtype);
  }

  Tensor in_decibels(const Tensor& power) const {
    const auto decibels = [](double x) { return 10 * std::log10(x); };
    const double zero = decibels(std::max(std::abs(options.ref_power), options.min_power));
    const Tensor all = log(maximum(power, options.min_power)) * (10 / std::numbers::ln10) - zero;
    return maximum(all, reduce_max(all) - options.top_db);
  }

  static Tensor swapped(const Tensor& x) { return x.rank() == 2 ? transpose(x) : transpose(x, {0, 2, 1}); }

  std::int64_t window_length_;
  double max_freq_;
};

}  // namespace

MelSpectrogram::MelSpectrogram(const MelSpectrogramOptions& options)
    : Layer(make_configurable<MelSpectrogramBody>(MelSpectrogramConfig{options})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::mel_spectrogram_class() { return layers::MelSpectrogramBody::info(); }
