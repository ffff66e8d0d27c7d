// Signals: frames, windows, short-time Fourier transforms. All are composites, so that their gradients of any order are
// those of gather, sums by segments and the transforms.
#include <bit>
#include <cmath>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/ops/segment.h"
#include "capstan/ops/signal.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/dims.h"
#include "src/ops/axis.h"
#include "src/ops/axes.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

// --- fftshift ---

Tensor shift(std::string_view op, const Tensor& x, const Axes& axes, bool back) {
  const AxisSet set = normalize_axes(op, axes, x.rank());
  std::vector<std::int64_t> shifts;
  std::vector<int> moved;
  for (int i = 0; i < x.rank(); ++i) {
    if (!set.on[i]) continue;
    shifts.push_back(back ? -(x.dim(i) / 2) : x.dim(i) / 2);
    moved.push_back(i);
  }
  if (moved.empty()) return identity(x);
  return roll(x, shifts, Axes(std::span<const int>(moved)));
}

// --- frame, overlap_and_add ---

// A length or a step of frames. No axis is longer than this, so larger ones mean nothing and would overflow.
void check_length(std::string_view op, const char* what, std::int64_t value) {
  CAPSTAN_CHECK(value >= 1 && value <= kMaxLength, ValueError, op, ": ", what, " must be from 1 to ", kMaxLength,
                ", not ", value);
}

// int64[frames, length]: where the elements of every frame are.
Tensor frame_positions(std::string_view op, std::int64_t frames, std::int64_t length, std::int64_t step) {
  CAPSTAN_CHECK(frames == 0 || length < (std::int64_t{1} << 40) / frames, ShapeError, op, ": ", frames, " frames of ",
                length, " elements are too many");
  Tensor positions = new_tensor(DType::kInt64, Shape{frames, length});
  auto* data = mutable_data<std::int64_t>(positions);
  for (std::int64_t i = 0; i < frames; ++i) {
    for (std::int64_t k = 0; k < length; ++k) *data++ = i * step + k;
  }
  return positions;
}

Tensor cut_frames(std::string_view op, const Tensor& signal, std::int64_t length, std::int64_t step,
                  const FrameOptions& options) {
  check_length(op, "frame_length", length);
  check_length(op, "frame_step", step);
  const int axis = normalize_axis(op, options.axis, signal.rank());
  const std::int64_t n = signal.dim(axis);
  // A view of its own, whose gradient is dense: that of gather alone would be rows.
  Tensor x = reshape(signal, signal.shape());
  std::int64_t frames = n < length ? 0 : 1 + (n - length) / step;
  if (options.pad_end) {
    frames = (n + step - 1) / step;
    const std::int64_t end = frames == 0 ? 0 : (frames - 1) * step + length;
    if (end > n) {
      PadWidth widths[kMaxRank];
      widths[axis].after = end - n;
      x = with_errors_of(op, [&] {
        return pad(x, std::span<const PadWidth>(widths, static_cast<std::size_t>(x.rank())), PadMode::kConstant,
                   options.pad_value);
      });
    }
  }
  return with_errors_of(op, [&] { return gather(x, frame_positions(op, frames, length, step), axis); });
}

// --- Windows ---

// a - b cos(2 pi k / n), and 1 for a single point.
double window_element(double a, double b, std::int64_t length, bool periodic, std::int64_t k) {
  if (length == 1) return 1;
  const std::int64_t n = length - 1 + (periodic && length % 2 == 0 ? 1 : 0);
  return a - b * std::cos(2 * 3.14159265358979323846 * static_cast<double>(k) / static_cast<double>(n));
}

Tensor raised_cosine(std::string_view op, double a, double b, std::int64_t length, bool periodic, DType dtype) {
  CAPSTAN_CHECK(is_floating(dtype), DTypeError, op, ": dtype ", dtype, " is not supported");
  check_length(op, "window_length", length);
  Tensor window = new_tensor(DType::kFloat64, Shape{length});
  auto* data = mutable_data<double>(window);
  for (std::int64_t k = 0; k < length; ++k) data[k] = window_element(a, b, length, periodic, k);
  return cast(window, dtype);
}

// --- Short-time Fourier transforms ---

// The windows that have a name.
WindowFunction window_of(std::string_view op, std::string_view name) {
  CAPSTAN_CHECK(name.empty() || name == "hann_window" || name == "hamming_window" || name == "none", ValueError, op,
                ": there is no window \"", name, "\"", help("hann_window, hamming_window or none"));
  return name == "none" ? nullptr : name == "hamming_window" ? &hamming_window : &hann_window;
}

}  // namespace

template <>
struct AttributeOf<WindowFunction> {
  using Type = Text;
  static WindowFunction give(const Text& attribute) { return window_of("stft", attribute.view()); }
};

namespace {

Tensor inverse_stft_by_name(Operand stfts, std::int64_t frame_length, std::int64_t frame_step,
                            std::optional<std::int64_t> fft_length, std::string_view window_fn) {
  return inverse_stft(stfts, frame_length, frame_step, {fft_length, window_of("inverse_stft", window_fn), {}});
}

std::int64_t enclosing_power_of_two(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}

// --- The ops ---

constinit const OpDef kFftshift =
    composite<&fftshift, "x, axes", NoValue{}>("fftshift", "Moves the element of frequency 0 to the middle.");
constinit const OpDef kIfftshift = composite<&ifftshift, "x, axes", NoValue{}>("ifftshift", "The inverse of fftshift.");
constinit const OpDef kFrame = composite<&frame, "signal, frame_length, frame_step, pad_end, pad_value, axis">(
    "frame", "Pieces of a signal, which may overlap.");
constinit const OpDef kOverlapAndAdd =
    composite<&overlap_and_add, "signal, frame_step">("overlap_and_add", "Frames set one step apart and added.");
constinit const OpDef kHannWindow = composite<&hann_window, "window_length, periodic, dtype", true, DType::kFloat32>(
    "hann_window", "A raised cosine from 0 to 1 and back.", kNotDifferentiable);
constinit const OpDef kHammingWindow =
    composite<&hamming_window, "window_length, periodic, dtype", true, DType::kFloat32>(
        "hamming_window", "A raised cosine from 0.08 to 1 and back.", kNotDifferentiable);
constinit const OpDef kStft = composite<&stft, "signals, frame_length, frame_step, fft_length, window_fn, pad_end">(
    "stft", "The short-time Fourier transform of real signals.");
constinit const OpDef kInverseStft =
    composite<&inverse_stft_by_name, "stfts, frame_length, frame_step, fft_length, window_fn", NoValue{}, NoValue{}>(
        "inverse_stft", "Signals from short-time Fourier transforms.");

}  // namespace

Tensor fftshift(Operand x, Axes axes) try {
  return shift("fftshift", to_tensor(x), axes, false);
} catch (const Error&) {
  rethrow_as("fftshift");
}
Tensor ifftshift(Operand x, Axes axes) try {
  return shift("ifftshift", to_tensor(x), axes, true);
} catch (const Error&) {
  rethrow_as("ifftshift");
}

Tensor frame(Operand signal, std::int64_t frame_length, std::int64_t frame_step, const FrameOptions& options) try {
  return cut_frames("frame", to_tensor(signal), frame_length, frame_step, options);
} catch (const Error&) {
  rethrow_as("frame");
}

Tensor overlap_and_add(Operand signal, std::int64_t frame_step) try {
  Tensor frames = to_tensor(signal);
  CAPSTAN_CHECK(frames.rank() >= 2, ShapeError, "overlap_and_add: needs rank 2 or more, not ", frames.rank(),
                arguments({{"signal", frames}}));
  check_length("overlap_and_add", "frame_step", frame_step);
  const std::int64_t count = frames.dim(-2);
  const std::int64_t length = frames.dim(-1);
  const std::int64_t samples = count == 0 ? 0 : (count - 1) * frame_step + length;
  const Tensor positions = frame_positions("overlap_and_add", count, length, frame_step);
  // The batch comes last, where sums by segments have it.
  const int batch = frames.rank() - 2;
  if (batch > 0) {
    std::vector<int> order = {batch, batch + 1};
    for (int i = 0; i < batch; ++i) order.push_back(i);
    frames = transpose(frames, Axes(std::span<const int>(order)));
  }
  Tensor sums = with_errors_of("overlap_and_add", [&] { return unsorted_segment_sum(frames, positions, samples); });
  if (batch == 0) return sums;
  std::vector<int> order;
  for (int i = 1; i <= batch; ++i) order.push_back(i);
  order.push_back(0);
  return transpose(sums, Axes(std::span<const int>(order)));
} catch (const Error&) {
  rethrow_as("overlap_and_add");
}

Tensor hann_window(std::int64_t window_length, bool periodic, DType dtype) {
  return raised_cosine("hann_window", 0.5, 0.5, window_length, periodic, dtype);
}
Tensor hamming_window(std::int64_t window_length, bool periodic, DType dtype) {
  return raised_cosine("hamming_window", 0.54, 0.46, window_length, periodic, dtype);
}

Tensor stft(Operand signals, std::int64_t frame_length, std::int64_t frame_step, const StftOptions& options) try {
  const Tensor x = to_tensor(signals);
  CAPSTAN_CHECK(x.dtype() == DType::kFloat32 || x.dtype() == DType::kFloat64, DTypeError, "stft: dtype ", x.dtype(),
                " is not supported", arguments({{"signals", x}}));
  Tensor frames = cut_frames("stft", x, frame_length, frame_step, {.pad_end = options.pad_end});
  if (options.window_fn != nullptr) frames = frames * options.window_fn(frame_length, true, x.dtype());
  return with_errors_of(
      "stft", [&] { return rfft(frames, options.fft_length.value_or(enclosing_power_of_two(frame_length))); });
} catch (const Error&) {
  rethrow_as("stft");
}

Tensor inverse_stft(Operand stfts, std::int64_t frame_length, std::int64_t frame_step,
                    const InverseStftOptions& options) try {
  const Tensor x = to_tensor(stfts);
  CAPSTAN_CHECK(is_complex(x.dtype()), DTypeError, "inverse_stft: dtype ", x.dtype(), " is not supported",
                arguments({{"stfts", x}}));
  CAPSTAN_CHECK(x.rank() >= 2, ShapeError, "inverse_stft: needs rank 2 or more, not ", x.rank(),
                arguments({{"stfts", x}}));
  check_length("inverse_stft", "frame_length", frame_length);
  check_length("inverse_stft", "frame_step", frame_step);
  Tensor frames = irfft(x, options.fft_length.value_or(enclosing_power_of_two(frame_length)));
  if (frames.dim(-1) < frame_length) {
    PadWidth widths[kMaxRank];
    widths[frames.rank() - 1].after = frame_length - frames.dim(-1);
    frames = pad(frames, std::span<const PadWidth>(widths, static_cast<std::size_t>(frames.rank())));
  }
  if (frames.dim(-1) > frame_length) frames = frames(ellipsis, slice(0, frame_length));
  if (options.window.has_value()) {
    CAPSTAN_CHECK(options.window.shape() == Shape{frame_length}, ShapeError, "inverse_stft: the window has shape ",
                  options.window.shape(), " for frames of ", frame_length);
    frames = frames * options.window;
  } else if (options.window_fn != nullptr) {
    frames = frames * options.window_fn(frame_length, true, frames.dtype());
  }
  return overlap_and_add(frames, frame_step);
} catch (const Error&) {
  rethrow_as("inverse_stft");
}

Tensor inverse_stft_window(std::int64_t frame_length, std::int64_t frame_step, WindowFunction window_fn, DType dtype) {
  check_length("inverse_stft_window", "frame_length", frame_length);
  check_length("inverse_stft_window", "frame_step", frame_step);
  const Tensor window = window_fn != nullptr ? window_fn(frame_length, true, dtype) : ones({frame_length}, dtype);
  const std::int64_t overlaps = (frame_length + frame_step - 1) / frame_step;
  const Tensor squares = pad(square(window), {{0, overlaps * frame_step - frame_length}});
  const Tensor sums = reduce_sum(reshape(squares, {overlaps, frame_step}), 0);
  return window / tile(sums, {overlaps})(slice(0, frame_length));
}

CAPSTAN_OPS(signal, &kFftshift, &kIfftshift, &kFrame, &kOverlapAndAdd, &kHannWindow, &kHammingWindow, &kStft,
            &kInverseStft);

}  // namespace capstan
