// Signals: frames, windows, short-time Fourier transforms. All are composites, so that their gradients of any order are
// those of gather, sums by segments and the transforms.
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/ops/segment.h"
#include "capstan/ops/signal.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/op_test.h"
#include "src/core/dims.h"
#include "src/ops/axis.h"
#include "src/ops/axes.h"
#include "src/ops/families.h"
#include "src/ops/fft_reference.h"

namespace capstan {

namespace {

// --- fftshift ---

struct ShiftAttributes {
  Axes axes;
};
constexpr AttributeType kShiftAttributes = attribute_type<ShiftAttributes>({field<&ShiftAttributes::axes>("axes")});

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

struct FrameAttributes {
  std::int64_t frame_length = 0;
  std::int64_t frame_step = 0;
  bool pad_end = false;
  double pad_value = 0;
  Axis axis = -1;
};
constexpr AttributeType kFrameAttributes = attribute_type<FrameAttributes>(
    {field<&FrameAttributes::frame_length>("frame_length", true),
     field<&FrameAttributes::frame_step>("frame_step", true), field<&FrameAttributes::pad_end>("pad_end"),
     field<&FrameAttributes::pad_value>("pad_value"), field<&FrameAttributes::axis>("axis")});

struct OverlapAttributes {
  std::int64_t frame_step = 0;
};
constexpr AttributeType kOverlapAttributes =
    attribute_type<OverlapAttributes>({field<&OverlapAttributes::frame_step>("frame_step", true)});

// A length or a step of frames. No axis is longer than this, so larger ones mean nothing and would overflow.
void check_length(std::string_view op, const char* what, std::int64_t value) {
  CAPSTAN_CHECK(value >= 1 && value <= kMaxLength, ValueError, op, ": ", what, " must be from 1 to ", kMaxLength,
                ", not ", value);
}

// int64[frames, length]: where the elements of every frame stand.
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

struct WindowAttributes {
  std::int64_t window_length = 0;
  bool periodic = true;
  DType dtype = DType::kFloat32;
};
constexpr AttributeType kWindowAttributes = attribute_type<WindowAttributes>(
    {field<&WindowAttributes::window_length>("window_length", true), field<&WindowAttributes::periodic>("periodic"),
     field<&WindowAttributes::dtype>("dtype")});

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

struct StftAttributes {
  std::int64_t frame_length = 0;
  std::int64_t frame_step = 0;
  OptionalInt fft_length;
  Text window_fn;
  bool pad_end = false;

  std::optional<std::int64_t> length() const {
    return fft_length.has_value ? std::optional<std::int64_t>(fft_length.value) : std::nullopt;
  }
};
constexpr AttributeType kStftAttributes = attribute_type<StftAttributes>(
    {field<&StftAttributes::frame_length>("frame_length", true), field<&StftAttributes::frame_step>("frame_step", true),
     field<&StftAttributes::fft_length>("fft_length"), field<&StftAttributes::window_fn>("window_fn"),
     field<&StftAttributes::pad_end>("pad_end")});
constexpr AttributeType kInverseStftAttributes = attribute_type<StftAttributes>(
    {field<&StftAttributes::frame_length>("frame_length", true), field<&StftAttributes::frame_step>("frame_step", true),
     field<&StftAttributes::fft_length>("fft_length"), field<&StftAttributes::window_fn>("window_fn")});

std::int64_t enclosing_power_of_two(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}

// --- Samples and references ---

#if CAPSTAN_TESTING
using reference::at;
using reference::build;
using reference::integer;
using reference::Position;
using Inputs = std::vector<ReferenceTensor>;
using Outputs = std::vector<ReferenceTensor>;

std::vector<OpSample> shift_samples() {
  return {{.inputs = {{.shape = {5}}}},
          {.inputs = {{.shape = {4}}}},
          {.inputs = {{.shape = {2, 3}}}, .attributes = {{"axes", reference::ints({1})}}},
          {.inputs = {{.shape = {0, 3}}}},
          {.inputs = {{.shape = {2}}}, .attributes = {{"axes", 1}}, .error = "axis 1 is out of range"}};
}
template <bool kBack>
void shift_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const std::vector<std::int64_t> axes = reference::integers(attributes, "axes");
  out = {build(in[0].dtype, in[0].shape, [&](Position position) {
    for (int i = 0; i < in[0].shape.rank(); ++i) {
      if (!axes.empty() && std::count(axes.begin(), axes.end(), i) == 0) continue;
      const std::int64_t n = in[0].shape[i];
      std::int64_t& p = position[static_cast<std::size_t>(i)];
      p = (p + (kBack ? n / 2 : n - n / 2)) % n;
    }
    return at(in[0], position);
  })};
}

std::vector<OpSample> frame_samples() {
  const auto sample = [](Shape shape, int length, int step, AttributeMap more = {}, const char* error = "") {
    OpSample result{.inputs = {{.shape = shape}}, .attributes = std::move(more), .error = error};
    result.attributes["frame_length"] = length;
    result.attributes["frame_step"] = step;
    return result;
  };
  return {sample({7}, 3, 2),
          sample({2, 7}, 3, 5),
          sample({2, 5, 2}, 2, 1, {{"axis", 1}}),
          sample({7}, 3, 2, {{"pad_end", true}, {"pad_value", 2.5}}),
          sample({2}, 3, 1),
          sample({7}, 0, 2, {}, "frame_length must be from 1"),
          sample({7}, 2, -1, {}, "frame_step must be from 1"),
          sample({7}, 2, 1, {{"axis", 1}}, "axis 1 is out of range")};
}
void frame_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const std::int64_t length = integer(attributes, "frame_length", 0);
  const std::int64_t step = integer(attributes, "frame_step", 0);
  const std::int64_t given = integer(attributes, "axis", -1);
  const auto axis = static_cast<std::size_t>(given < 0 ? given + in[0].shape.rank() : given);
  const bool pads = reference::has(attributes, "pad_end");
  const std::int64_t n = in[0].shape[static_cast<int>(axis)];
  std::int64_t frames = 0;
  while (pads ? frames * step < n : frames * step + length <= n) ++frames;
  Shape shape;
  for (int i = 0; i < in[0].shape.rank(); ++i) {
    shape.push_back(static_cast<std::size_t>(i) == axis ? frames : in[0].shape[i]);
    if (static_cast<std::size_t>(i) == axis) shape.push_back(length);
  }
  out = {build(in[0].dtype, shape, [&](Position position) {
    const std::int64_t from = position[axis] * step + position[axis + 1];
    if (from >= n) return reference::number(attributes, "pad_value", 0);
    position[axis] = from;
    position.erase(position.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
    return at(in[0], position);
  })};
}

std::vector<OpSample> overlap_samples() {
  return {{.inputs = {{.shape = {3, 4}}}, .attributes = {{"frame_step", 2}}},
          {.inputs = {{.shape = {2, 3, 2}}}, .attributes = {{"frame_step", 3}}},
          {.inputs = {{.shape = {0, 4}}}, .attributes = {{"frame_step", 2}}},
          {.inputs = {{.shape = {4}}}, .attributes = {{"frame_step", 2}}, .error = "needs rank 2 or more, not 1"},
          {.inputs = {{.shape = {2, 4}}}, .attributes = {{"frame_step", 0}}, .error = "frame_step must be from 1"}};
}
void overlap(const std::vector<double>& frames, const Shape& shape, std::int64_t step, ReferenceTensor& out) {
  const std::int64_t count = shape[-2];
  const std::int64_t length = shape[-1];
  std::int64_t batch = 1;
  out.shape = {};
  for (int i = 0; i + 2 < shape.rank(); ++i) {
    out.shape.push_back(shape[i]);
    batch *= shape[i];
  }
  const std::int64_t samples = count == 0 ? 0 : (count - 1) * step + length;
  out.shape.push_back(samples);
  out.values.assign(static_cast<std::size_t>(batch * samples), 0);
  for (std::int64_t i = 0; i < batch * count * length; ++i) {
    const std::int64_t to = i / (count * length) * samples + i / length % count * step + i % length;
    out.values[static_cast<std::size_t>(to)] += frames[static_cast<std::size_t>(i)];
  }
}
void overlap_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  out = {{in[0].dtype, {}, {}}};
  overlap(in[0].values, in[0].shape, integer(attributes, "frame_step", 0), out[0]);
}

std::vector<OpSample> window_samples() {
  return {{.inputs = {}, .attributes = {{"window_length", 6}}},
          {.inputs = {}, .attributes = {{"window_length", 6}, {"periodic", false}, {"dtype", "float64"}}},
          {.inputs = {}, .attributes = {{"window_length", 5}, {"dtype", "float64"}}},
          {.inputs = {}, .attributes = {{"window_length", 1}}},
          {.inputs = {}, .attributes = {{"window_length", 0}}, .error = "window_length must be from 1"},
          {.inputs = {}, .attributes = {{"window_length", 2}, {"dtype", "int32"}}, .error = "dtype int32"}};
}
template <int kHundredths>
void window_reference(const Inputs&, const AttributeMap& attributes, Outputs& out) {
  const std::int64_t n = integer(attributes, "window_length", 0);
  const bool shorter = reference::has(attributes, "periodic") || n % 2 == 1;
  const double a = kHundredths / 100.0;
  out = {build(reference::has(attributes, "dtype") ? DType::kFloat64 : DType::kFloat32, {n}, [&](const Position& p) {
    const double turn = static_cast<double>(p[0]) / static_cast<double>(shorter ? n - 1 : n);
    return n == 1 ? 1 : a - (1 - a) * std::cos(2 * 3.14159265358979323846 * turn);
  })};
}

std::vector<OpSample> stft_samples() {
  const AttributeMap frames = {{"frame_length", 4}, {"frame_step", 2}};
  AttributeMap longer = frames;
  longer["fft_length"] = 6;
  longer["window_fn"] = "hamming_window";
  AttributeMap padded = frames;
  padded["pad_end"] = true;
  AttributeMap unknown = frames;
  unknown["window_fn"] = "kaiser";
  return {{.inputs = {{.shape = {9}}}, .attributes = frames},
          {.inputs = {{.shape = {2, 6}}}, .attributes = longer},
          {.inputs = {{.shape = {7}}}, .attributes = padded},
          {.inputs = {{.shape = {7}}}, .attributes = unknown, .error = "there is no window \"kaiser\""},
          {.inputs = {{.shape = {}}}, .attributes = frames, .error = "stft: axis -1 is out of range"}};
}
void stft_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  frame_reference(in, attributes, out);
  const std::int64_t length = integer(attributes, "frame_length", 0);
  const double a = reference::has(attributes, "window_fn") ? 0.54 : 0.5;
  for (std::size_t i = 0; i < out[0].values.size(); ++i) {
    out[0].values[i] *= window_element(a, 1 - a, length, true, static_cast<std::int64_t>(i) % length);
  }
  const AttributeMap fft = {{"fft_length", reference::ints({static_cast<int>(integer(attributes, "fft_length", 4))})}};
  const Inputs frames = out;
  reference::rfft<1>(frames, fft, out);
}

std::vector<OpSample> inverse_stft_samples() {
  const AttributeMap frames = {{"frame_length", 4}, {"frame_step", 2}};
  AttributeMap longer = frames;
  longer["fft_length"] = 6;
  longer["window_fn"] = "none";
  AttributeMap shorter = {{"frame_length", 5}, {"frame_step", 2}, {"fft_length", 4}};
  return {{.inputs = {{.shape = {4, 3}}}, .attributes = frames},
          {.inputs = {{.shape = {2, 3, 4}}}, .attributes = longer},
          {.inputs = {{.shape = {3, 3}}}, .attributes = shorter},
          {.inputs = {{.shape = {3}}}, .attributes = frames, .error = "needs rank 2 or more, not 1"}};
}
void inverse_stft_reference(const std::vector<ComplexTensor>& in, const AttributeMap& attributes,
                            std::vector<ComplexTensor>& out) {
  const std::int64_t length = integer(attributes, "frame_length", 0);
  const AttributeMap fft = {{"fft_length", reference::ints({static_cast<int>(integer(attributes, "fft_length", 4))})}};
  reference::irfft<1>(in, fft, out);
  ComplexTensor frames = reference::fit(out[0], {length});
  std::vector<double> values;
  for (std::size_t i = 0; i < frames.values.size(); ++i) {
    const double window = reference::has(attributes, "window_fn")
                              ? 1
                              : window_element(0.5, 0.5, length, true, static_cast<std::int64_t>(i) % length);
    values.push_back(frames.values[i].real() * window);
  }
  ReferenceTensor sum;
  overlap(values, frames.shape, integer(attributes, "frame_step", 0), sum);
  out = {{DType::kFloat64, sum.shape, {sum.values.begin(), sum.values.end()}}};
}

const OpTest kFftshiftTest = {
    .samples = shift_samples, .reference = shift_reference<false>, .dtypes = reference::kEveryDType};
const OpTest kIfftshiftTest = {
    .samples = shift_samples, .reference = shift_reference<true>, .dtypes = reference::kEveryDType};
const OpTest kFrameTest = {.samples = frame_samples,
                           .reference = frame_reference,
                           .dtypes = {float32, float64, bfloat16, complex64, complex128}};
const OpTest kOverlapTest = {.samples = overlap_samples,
                             .reference = overlap_reference,
                             .dtypes = {float32, float64, int32, complex64, complex128}};
const OpTest kHannTest = {.samples = window_samples, .reference = window_reference<50>};
const OpTest kHammingTest = {.samples = window_samples, .reference = window_reference<54>};
const OpTest kStftTest = {.samples = stft_samples, .reference = stft_reference, .dtypes = {float32, float64}};
const OpTest kInverseStftTest = {
    .samples = inverse_stft_samples, .complex_reference = inverse_stft_reference, .dtypes = {complex64, complex128}};
#endif

// --- The ops ---

constinit const OpDef kFftshift = {
    .name = "fftshift",
    .text = "Moves the element of frequency 0 to the middle.",
    .kind = OpKind::kComposite,
    .attributes = &kShiftAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          outputs.push_back(fftshift(inputs[0], static_cast<const ShiftAttributes*>(attributes)->axes));
        },
    .test = CAPSTAN_OP_TEST(kFftshiftTest),
};
constinit const OpDef kIfftshift = {
    .name = "ifftshift",
    .text = "The inverse of fftshift.",
    .kind = OpKind::kComposite,
    .attributes = &kShiftAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          outputs.push_back(ifftshift(inputs[0], static_cast<const ShiftAttributes*>(attributes)->axes));
        },
    .test = CAPSTAN_OP_TEST(kIfftshiftTest),
};
constinit const OpDef kFrame = {
    .name = "frame",
    .text = "Pieces of a signal, which may overlap.",
    .kind = OpKind::kComposite,
    .input_names = "signal",
    .attributes = &kFrameAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const FrameAttributes*>(attributes);
          outputs.push_back(frame(inputs[0], a.frame_length, a.frame_step, {a.pad_end, a.pad_value, a.axis}));
        },
    .test = CAPSTAN_OP_TEST(kFrameTest),
};
constinit const OpDef kOverlapAndAdd = {
    .name = "overlap_and_add",
    .text = "Frames set one step apart and added.",
    .kind = OpKind::kComposite,
    .input_names = "signal",
    .attributes = &kOverlapAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          outputs.push_back(overlap_and_add(inputs[0], static_cast<const OverlapAttributes*>(attributes)->frame_step));
        },
    .test = CAPSTAN_OP_TEST(kOverlapTest),
};
constinit const OpDef kHannWindow = {
    .name = "hann_window",
    .text = "A raised cosine from 0 to 1 and back.",
    .kind = OpKind::kComposite,
    .flags = kNotDifferentiable,
    .arity = 0,
    .input_names = "",
    .attributes = &kWindowAttributes,
    .compose =
        [](std::span<const Operand>, const void* attributes, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const WindowAttributes*>(attributes);
          outputs.push_back(hann_window(a.window_length, a.periodic, a.dtype));
        },
    .test = CAPSTAN_OP_TEST(kHannTest),
};
constinit const OpDef kHammingWindow = {
    .name = "hamming_window",
    .text = "A raised cosine from 0.08 to 1 and back.",
    .kind = OpKind::kComposite,
    .flags = kNotDifferentiable,
    .arity = 0,
    .input_names = "",
    .attributes = &kWindowAttributes,
    .compose =
        [](std::span<const Operand>, const void* attributes, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const WindowAttributes*>(attributes);
          outputs.push_back(hamming_window(a.window_length, a.periodic, a.dtype));
        },
    .test = CAPSTAN_OP_TEST(kHammingTest),
};
constinit const OpDef kStft = {
    .name = "stft",
    .text = "The short-time Fourier transform of real signals.",
    .kind = OpKind::kComposite,
    .input_names = "signals",
    .attributes = &kStftAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const StftAttributes*>(attributes);
          outputs.push_back(stft(inputs[0], a.frame_length, a.frame_step,
                                 {a.length(), window_of("stft", a.window_fn.view()), a.pad_end}));
        },
    .test = CAPSTAN_OP_TEST(kStftTest),
};
constinit const OpDef kInverseStft = {
    .name = "inverse_stft",
    .text = "Signals from short-time Fourier transforms.",
    .kind = OpKind::kComposite,
    .input_names = "stfts",
    .attributes = &kInverseStftAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const StftAttributes*>(attributes);
          outputs.push_back(inverse_stft(inputs[0], a.frame_length, a.frame_step,
                                         {a.length(), window_of("inverse_stft", a.window_fn.view()), {}}));
        },
    .test = CAPSTAN_OP_TEST(kInverseStftTest),
};

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

OpFamily signal_ops() {
  static constexpr const OpDef* ops[] = {&kFftshift,   &kIfftshift,     &kFrame, &kOverlapAndAdd,
                                         &kHannWindow, &kHammingWindow, &kStft,  &kInverseStft};
  return ops;
}

}  // namespace capstan
