// Layers that make images of sounds: which frequencies there are, over time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capstan/layer.h"

namespace capstan {
namespace layers {

/// Options of MelSpectrogram.
struct MelSpectrogramOptions {
  std::int64_t fft_length = 2048;
  std::int64_t sequence_stride = 512;                ///< samples from one column to the next
  std::optional<std::int64_t> sequence_length = {};  ///< of the window; fft_length, if not given
  std::optional<std::string> window = "hann";        ///< or "hamming", or none
  std::int64_t sampling_rate = 16000;                ///< samples per second
  std::int64_t num_mel_bins = 128;
  double min_freq = 20;
  std::optional<double> max_freq = {};  ///< half of the sampling rate, if not given
  bool power_to_db = true;              ///< the result is in decibels
  double top_db = 80;                   ///< how far below the largest number of the batch they go
  double mag_exp = 2;                   ///< 1: magnitudes, 2: their squares
  double min_power = 1e-10;             ///< what smaller powers count as in decibels
  double ref_power = 1;                 ///< the power that is 0 decibels
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// The strength of bands of frequencies that are equally far apart for the ear: [batch, samples] makes
/// [batch, num_mel_bins, columns], and [samples] makes [num_mel_bins, columns]. The signal is mirrored at its ends, so
/// that column i is about sample i * sequence_stride. In bfloat16 the arithmetic is in float32. Errors: ValueError for
/// lengths below 1, fft_length < sequence_length, max_freq <= min_freq; ShapeError for an input of another rank or one
/// that is not longer than half of fft_length.
///
///     layers::MelSpectrogram mel({.fft_length = 256, .sequence_stride = 128, .num_mel_bins = 40});
///     Tensor image = mel(sound);   // [2, 1000] makes [2, 40, 8]
class CAPSTAN_EXPORT MelSpectrogram final : public Layer {
 public:
  explicit MelSpectrogram(const MelSpectrogramOptions& options = {});
};

/// Options of STFTSpectrogram.
struct STFTSpectrogramOptions {
  /// "log" (of the magnitude), "magnitude", "psd" (power spectral density), "real", "imag", "angle" or "stft" (the real
  /// parts of all frequencies, then the imaginary ones).
  std::string mode = "log";
  std::int64_t frame_length = 256;
  std::optional<std::int64_t> frame_step = {};     ///< half of frame_length, if not given
  std::optional<std::int64_t> fft_length = {};     ///< the smallest power of two that holds a frame, if not given
  std::optional<std::string> window = "hann";      ///< or "hamming", or none
  bool periodic = false;                           ///< the window is
  std::optional<std::string> scaling = "density";  ///< of the window: see STFTInitializerOptions; "spectrum", or none
  std::string padding = "valid";                   ///< or "same"
  bool expand_dims = false;                        ///< channels and frequencies are axes of their own
  std::string data_format = "channels_last";
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// The short-time Fourier transform of signals [batch, time, channels] as a convolution, whose kernels can be trained.
/// The result is [batch, frames, channels * frequencies], or [batch, frames, frequencies, channels] with `expand_dims`;
/// with data_format "channels_first" it is [batch, channels * frequencies, frames] or [batch, channels, frames,
/// frequencies] of signals [batch, channels, time]. There are fft_length / 2 + 1 frequencies, and twice as many numbers
/// in mode "stft". Weights: real_kernel, imag_kernel, each [frame_length, 1, frequencies], as far as the mode reads
/// them. Errors: ValueError for frame_length < 2, a step outside [1, frame_length], fft_length < frame_length and
/// unknown names; ShapeError for an input of another rank or, with padding "valid", shorter than a frame.
///
///     layers::STFTSpectrogram spectrogram({.mode = "magnitude", .frame_length = 64, .trainable = false});
///     Tensor image = spectrogram(stereo);   // [2, 1000, 2] makes [2, 30, 66]
class CAPSTAN_EXPORT STFTSpectrogram final : public Layer {
 public:
  explicit STFTSpectrogram(const STFTSpectrogramOptions& options = {});
};

static_assert(detail::kAddNothing<MelSpectrogram, STFTSpectrogram>);

}  // namespace layers
}  // namespace capstan
