// Samples and references of the ops in src/ops/signal/signal.cc.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/op_samples/fft_reference.h"
#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

using reference::at;
using reference::build;
using reference::integer;
using reference::Position;

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
// Element k of a periodic raised cosine.
double raised_cosine(double a, double b, std::int64_t length, std::int64_t k) {
  if (length == 1) return 1;
  const std::int64_t n = length % 2 == 0 ? length : length - 1;
  return a - b * std::cos(2 * 3.14159265358979323846 * static_cast<double>(k) / static_cast<double>(n));
}
void stft_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  frame_reference(in, attributes, out);
  const std::int64_t length = integer(attributes, "frame_length", 0);
  const double a = reference::has(attributes, "window_fn") ? 0.54 : 0.5;
  for (std::size_t i = 0; i < out[0].values.size(); ++i) {
    out[0].values[i] *= raised_cosine(a, 1 - a, length, static_cast<std::int64_t>(i) % length);
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
                              : raised_cosine(0.5, 0.5, length, static_cast<std::int64_t>(i) % length);
    values.push_back(frames.values[i].real() * window);
  }
  ReferenceTensor sum;
  overlap(values, frames.shape, integer(attributes, "frame_step", 0), sum);
  out = {{DType::kFloat64, sum.shape, {sum.values.begin(), sum.values.end()}}};
}

const OpTests kSignalTests = {
    {"fftshift", {.samples = shift_samples, .reference = shift_reference<false>, .dtypes = reference::kEveryDType}},
    {"ifftshift", {.samples = shift_samples, .reference = shift_reference<true>, .dtypes = reference::kEveryDType}},
    {"frame",
     {.samples = frame_samples,
      .reference = frame_reference,
      .dtypes = {float32, float64, bfloat16, complex64, complex128}}},
    {"overlap_and_add",
     {.samples = overlap_samples,
      .reference = overlap_reference,
      .dtypes = {float32, float64, int32, complex64, complex128}}},
    {"hann_window", {.samples = window_samples, .reference = window_reference<50>}},
    {"hamming_window", {.samples = window_samples, .reference = window_reference<54>}},
    {"stft", {.samples = stft_samples, .reference = stft_reference, .dtypes = {float32, float64}}},
    {"inverse_stft",
     {.samples = inverse_stft_samples, .complex_reference = inverse_stft_reference, .dtypes = {complex64, complex128}}},
};

}  // namespace

}  // namespace capstan::testing
