#pragma once

#include <optional>

#include "capstan/tensor.h"

namespace capstan {

// Discrete Fourier transforms run over the last axis, or the last two or three; all axes before them are a batch. Any
// length takes time in proportion to n log n, those without a prime factor above 5 the least. The forward
// transform is unscaled; the inverse divides by the number of elements. Errors: DTypeError, ShapeError for too few
// axes.

/// The transform of complex numbers and its inverse; complex64 or complex128.
///
///     fft(x);        // out[k] = sum of x[j] exp(-2 pi i j k / n)
///     ifft(fft(x));  // x
///     ifft(fft(x));  // complex64[4]
///     fft2d(cast(ones({2, 2}), complex64));  // complex64[2, 2]
///     ifft2d(cast(ones({2, 2}), complex64));  // complex64[2, 2]
///     fft3d(cast(ones({2, 2, 2}), complex64));  // complex64[2, 2, 2]
///     ifft3d(cast(ones({2, 2, 2}), complex64));  // complex64[2, 2, 2]
CAPSTAN_EXPORT Tensor fft(Operand x);
CAPSTAN_EXPORT Tensor ifft(Operand x);
CAPSTAN_EXPORT Tensor fft2d(Operand x);
CAPSTAN_EXPORT Tensor ifft2d(Operand x);
CAPSTAN_EXPORT Tensor fft3d(Operand x);
CAPSTAN_EXPORT Tensor ifft3d(Operand x);

/// The transform of real numbers (float32, float64): the first n / 2 + 1 elements along the last axis, the conjugates
/// of the others. x is cut or padded with zeros to `fft_length`, if given. Errors: ValueError for a negative length.
///
///     rfft(constant({1.0, 0.0, -1.0, 0.0}));   // complex64[3]
///     rfft2d(ones({4, 6}));  // complex64[4, 4]
///     rfft3d(ones({2, 4, 6}));  // complex64[2, 4, 4]
CAPSTAN_EXPORT Tensor rfft(Operand x, std::optional<std::int64_t> fft_length = {});
CAPSTAN_EXPORT Tensor rfft2d(Operand x, const std::optional<Shape>& fft_length = {});
CAPSTAN_EXPORT Tensor rfft3d(Operand x, const std::optional<Shape>& fft_length = {});
/// The inverse of rfft, real. `fft_length` is that of the result, by default 2 (n - 1) along the last axis, and x is
/// cut or padded to fit. What would make the result complex is ignored: the imaginary part of the first element along
/// the last axis, and of the last one for an even length.
///
///     irfft(rfft(constant({1.0, 0.0, -1.0, 0.0})));  // [1, 0, -1, 0]
///     irfft2d(rfft2d(ones({4, 6})));  // float32[4, 6]
///     irfft3d(rfft3d(ones({2, 4, 6})));  // float32[2, 4, 6]
CAPSTAN_EXPORT Tensor irfft(Operand x, std::optional<std::int64_t> fft_length = {});
CAPSTAN_EXPORT Tensor irfft2d(Operand x, const std::optional<Shape>& fft_length = {});
CAPSTAN_EXPORT Tensor irfft3d(Operand x, const std::optional<Shape>& fft_length = {});

/// Moves the element of frequency 0 to the middle of the given axes (of all axes), and back. Any dtype.
///
///     fftshift(range(5));  // [3, 4, 0, 1, 2]
///     ifftshift(fftshift(range(5)));  // [0, 1, 2, 3, 4]
CAPSTAN_EXPORT Tensor fftshift(Operand x, Axes axes = {});
CAPSTAN_EXPORT Tensor ifftshift(Operand x, Axes axes = {});

/// Options of frame.
struct FrameOptions {
  bool pad_end = false;  // also frames that reach beyond the end, filled with pad_value
  double pad_value = 0;
  int axis = -1;
};
/// Pieces of `frame_length` elements along an axis, which begin every `frame_step` elements; the axis becomes two,
/// [frames, frame_length]. Errors: ValueError for a length or step below 1, IndexError for the axis.
///
///     frame(samples, 400, 160);   // [16000] makes [98, 400]
CAPSTAN_EXPORT Tensor frame(Operand signal, std::int64_t frame_length, std::int64_t frame_step,
                            const FrameOptions& options = {});
/// [..., frames, frame_length] to [..., frame_length + (frames - 1) * frame_step]: frames set one step apart and added.
///
///     overlap_and_add(constant({{1, 2, 3}, {10, 20, 30}}), 2);  // [1, 2, 13, 20, 30]
CAPSTAN_EXPORT Tensor overlap_and_add(Operand signal, std::int64_t frame_step);

/// Raised cosines: 0.5 - 0.5 cos and 0.54 - 0.46 cos of an angle that runs from 0 to 2 pi. `periodic` windows of even
/// length leave out the last point; those of odd length are symmetric either way, as TensorFlow has it.
///
///     hann_window(4);  // [0, 0.5, 1, 0.5]
///     hamming_window(4);  // [0.08, 0.54, 1, 0.54]
CAPSTAN_EXPORT Tensor hann_window(std::int64_t window_length, bool periodic = true, DType dtype = floatx());
CAPSTAN_EXPORT Tensor hamming_window(std::int64_t window_length, bool periodic = true, DType dtype = floatx());

/// A function that makes a window; null means none.
using WindowFunction = Tensor (*)(std::int64_t window_length, bool periodic, DType dtype);

/// Options of stft.
struct StftOptions {
  std::optional<std::int64_t> fft_length = {};  // the smallest power of two that holds a frame, if not given
  WindowFunction window_fn = &hann_window;
  bool pad_end = false;
};
/// The short-time Fourier transform of real signals: frames, times a window, through rfft.
/// [..., samples] makes [..., frames, fft_length / 2 + 1]. Errors: as frame and rfft.
///
///     stft(samples, 400, 160);  // complex64[98, 257]
CAPSTAN_EXPORT Tensor stft(Operand signals, std::int64_t frame_length, std::int64_t frame_step,
                           const StftOptions& options = {});

/// Options of inverse_stft.
struct InverseStftOptions {
  std::optional<std::int64_t> fft_length = {};
  WindowFunction window_fn = &hann_window;
  Tensor window = {};  // float[frame_length], in place of window_fn
};
/// Frames from their transforms, times a window, overlapped and added. With `window` from inverse_stft_window the
/// result is the signal again, but for its ends.
///
///     inverse_stft(stft(samples, 512, 256), 512, 256);  // float32[15872]
CAPSTAN_EXPORT Tensor inverse_stft(Operand stfts, std::int64_t frame_length, std::int64_t frame_step,
                                   const InverseStftOptions& options = {});
/// The window for inverse_stft that undoes the window of stft: `window_fn`'s, divided by the sum of squares of all that
/// overlap.
///
///     inverse_stft_window(4, 2);  // [0, 1, 1, 1]
CAPSTAN_EXPORT Tensor inverse_stft_window(std::int64_t frame_length, std::int64_t frame_step,
                                          WindowFunction window_fn = &hann_window, DType dtype = floatx());

}  // namespace capstan
