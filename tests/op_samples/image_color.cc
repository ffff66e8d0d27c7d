// Samples and references of the ops in src/ops/image/image_color.cc.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using Color = std::array<double, 3>;

// [..., 3] by a function of a colour.
ReferenceTensor by_color(const ReferenceTensor& x, const std::function<Color(const Color&)>& function) {
  ReferenceTensor result = x;
  for (std::size_t i = 0; i + 2 < x.values.size(); i += 3) {
    const Color color = function({x.values[i], x.values[i + 1], x.values[i + 2]});
    std::copy(color.begin(), color.end(), result.values.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return result;
}
Color hsv_of(const Color& c) {
  const auto [low, high] = std::minmax({c[0], c[1], c[2]});
  const double range = high - low;
  double hue = 0;
  if (range > 0) {
    hue = high == c[0] ? (c[1] - c[2]) / range : high == c[1] ? (c[2] - c[0]) / range + 2 : (c[0] - c[1]) / range + 4;
  }
  return {(hue < 0 ? hue + 6 : hue) / 6, high == 0 ? 0 : range / high, high};
}
Color rgb_of(const Color& c) {
  const double turn = c[0] * 6;
  const auto part = [&](double n) {  // as in textbooks: distance along the hexagon
    const double k = std::fmod(n + turn, 6);
    return c[2] - c[2] * c[1] * std::max(0.0, std::min({k, 4 - k, 1.0}));
  };
  return {part(5), part(3), part(1)};
}

SampleInput colors(const Shape& shape) { return {.shape = shape, .domain = {0.05, 0.95}}; }

std::vector<OpSample> color_samples() {
  return {{.inputs = {colors({2, 3})}},
          {.inputs = {colors({1, 2, 2, 3})}},
          {.inputs = {{.shape = {2, 3}, .values = {0.25, 0.25, 0.25, 0.75, 0.5, 0.25}, .differentiable = true}}},
          {.inputs = {{.shape = {0, 3}}}},
          {.inputs = {{.shape = {2, 2}}}, .error = "must have 3 channels, not the shape [2, 2]"}};
}
// Grey has no hue, so its gradient is a convention.
std::vector<OpSample> hue_samples() {
  std::vector<OpSample> samples = color_samples();
  samples.erase(samples.begin() + 2);
  return samples;
}
void rgb_to_hsv_reference(const Inputs& in, const AttributeMap&, Outputs& out) { out = {by_color(in[0], hsv_of)}; }
void hsv_to_rgb_reference(const Inputs& in, const AttributeMap&, Outputs& out) { out = {by_color(in[0], rgb_of)}; }
void grayscale_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  Shape shape = in[0].shape;
  shape.set(-1, 1);
  out = {{in[0].dtype, shape, {}}};
  for (std::size_t i = 0; i + 2 < in[0].values.size(); i += 3) {
    out[0].values.push_back(0.2989 * in[0].values[i] + 0.587 * in[0].values[i + 1] + 0.114 * in[0].values[i + 2]);
  }
}
std::vector<OpSample> grayscale_to_rgb_samples() {
  return {{.inputs = {{.shape = {2, 2, 1}}}},
          {.inputs = {{.shape = {2, 1, 2, 1}}}},
          {.inputs = {{.shape = {2, 2}}}, .error = "must have 1 channels"}};
}
void grayscale_to_rgb_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  Shape shape = in[0].shape;
  shape.set(-1, 3);
  out = {{in[0].dtype, shape, {}}};
  for (double value : in[0].values) out[0].values.insert(out[0].values.end(), 3, value);
}
std::vector<OpSample> convert_samples() {
  const SampleInput bytes = {.shape = {3}, .values = {0, 100, 255}, .dtype = DType::kUInt8, .differentiable = false};
  return {{.inputs = {{.shape = {2, 2}}}, .attributes = {{"dtype", "float64"}}},
          {.inputs = {bytes}, .attributes = {{"dtype", "float64"}}},
          {.inputs = {bytes}, .attributes = {{"dtype", "int32"}}},
          {.inputs = {{.shape = {3}, .values = {0, 0.5, 1}}}, .attributes = {{"dtype", "uint8"}, {"saturate", true}}},
          {.inputs = {bytes}, .attributes = {{"dtype", "bool"}}, .error = "dtype bool is not supported"}};
}
void convert_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const DType dtype = dtype_from_name(attributes.at("dtype").text);
  out = {{dtype, in[0].shape, {}}};
  for (double value : in[0].values) {
    const bool bytes = in[0].dtype == DType::kUInt8;
    out[0].values.push_back(dtype == DType::kInt32   ? value * 8388608
                            : dtype == DType::kUInt8 ? std::floor(value * 255.5)
                            : bytes                  ? value / 255
                                                     : value);
  }
}
// Half of 255.5 has no bfloat16.
template <class Function>
void elementwise(const Inputs& in, Outputs& out, const Function& function) {
  out = {in[0]};
  for (double& value : out[0].values) value = function(value);
}
std::vector<OpSample> brightness_samples() {
  return {{.inputs = {{.shape = {2, 2, 1}}}, .attributes = {{"delta", 0.25}}},
          {.inputs = {{.shape = {1}, .values = {1}, .dtype = DType::kBool, .differentiable = false}},
           .attributes = {{"delta", 0.25}},
           .error = "dtype bool is not supported"}};
}
std::vector<OpSample> contrast_samples() {
  return {{.inputs = {{.shape = {2, 3, 2}}}, .attributes = {{"contrast_factor", 1.5}}},
          {.inputs = {{.shape = {2, 2, 2, 1}}}, .attributes = {{"contrast_factor", 0.25}}},
          {.inputs = {{.shape = {2}}}, .attributes = {{"contrast_factor", 1.0}}, .error = "not of rank 1"}};
}
void contrast_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const Shape& shape = in[0].shape;
  out = {reference::build(in[0].dtype, shape, [&](reference::Position position) {
    const double mine = reference::at(in[0], position);
    const std::size_t row = position.size() - 3;
    double sum = 0;
    for (position[row] = 0; position[row] < shape[-3]; ++position[row]) {
      for (position[row + 1] = 0; position[row + 1] < shape[-2]; ++position[row + 1])
        sum += reference::at(in[0], position);
    }
    const double mean = sum / static_cast<double>(shape[-3] * shape[-2]);
    return (mine - mean) * attributes.at("contrast_factor").number + mean;
  })};
}
std::vector<OpSample> gamma_samples() {
  return {{.inputs = {colors({2, 2, 1})}, .attributes = {{"gamma", 1.5}, {"gain", 2.0}}},
          {.inputs = {colors({2, 2, 1})}},
          {.inputs = {colors({1})}, .attributes = {{"gamma", -1.0}}, .error = "gamma is -1, not at least 0"}};
}
std::vector<OpSample> adjust_hue_samples() {
  return {{.inputs = {colors({2, 3})}, .attributes = {{"delta", 0.3}}},
          {.inputs = {colors({1, 2, 2, 3})}, .attributes = {{"delta", -0.7}}},
          {.inputs = {colors({2, 3})}, .attributes = {{"delta", 1.5}}, .error = "delta is 1.5, not from -1 to 1"},
          {.inputs = {colors({2, 2})}, .attributes = {{"delta", 0.5}}, .error = "must have 3 channels"}};
}
std::vector<OpSample> adjust_saturation_samples() {
  return {{.inputs = {colors({2, 3})}, .attributes = {{"saturation_factor", 0.5}}},
          {.inputs = {colors({1, 2, 2, 3})}, .attributes = {{"saturation_factor", 3.0}}},
          {.inputs = {colors({2, 2})}, .attributes = {{"saturation_factor", 0.5}}, .error = "must have 3 channels"}};
}
std::vector<OpSample> standardization_samples() {
  return {{.inputs = {{.shape = {2, 3, 1}}}},
          {.inputs = {{.shape = {2, 2, 2, 2}}}},
          {.inputs = {{.shape = {2}}}, .error = "not of rank 1"}};
}
void standardization_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  const Shape& shape = in[0].shape;
  const auto n = static_cast<std::size_t>(shape[-3] * shape[-2] * shape[-1]);
  out = {in[0]};
  for (std::size_t begin = 0; begin < in[0].values.size(); begin += n) {
    double mean = 0;
    double variance = 0;
    for (std::size_t i = begin; i < begin + n; ++i) mean += in[0].values[i] / static_cast<double>(n);
    for (std::size_t i = begin; i < begin + n; ++i) {
      variance += (in[0].values[i] - mean) * (in[0].values[i] - mean) / static_cast<double>(n);
    }
    const double deviation = std::max(std::sqrt(variance), 1 / std::sqrt(static_cast<double>(n)));
    for (std::size_t i = begin; i < begin + n; ++i) out[0].values[i] = (in[0].values[i] - mean) / deviation;
  }
}

const OpTests kImageColorTests = {
    {"image_convert_image_dtype",
     {.samples = convert_samples, .reference = convert_reference, .dtypes = {DType::kFloat32, DType::kFloat64}}},
    {"image_rgb_to_grayscale", {.samples = color_samples, .reference = grayscale_reference}},
    {"image_grayscale_to_rgb",
     {.samples = grayscale_to_rgb_samples, .reference = grayscale_to_rgb_reference, .dtypes = reference::kRealDTypes}},
    {"image_rgb_to_hsv", {.samples = hue_samples, .reference = rgb_to_hsv_reference}},
    {"image_hsv_to_rgb", {.samples = hue_samples, .reference = hsv_to_rgb_reference}},
    {"image_adjust_brightness",
     {.samples = brightness_samples,
      .reference =
          [](const Inputs& in, const AttributeMap& attributes, Outputs& out) {
            elementwise(in, out, [&](double x) { return x + attributes.at("delta").number; });
          }}},
    {"image_adjust_contrast", {.samples = contrast_samples, .reference = contrast_reference}},
    {"image_adjust_gamma",
     {.samples = gamma_samples,
      .reference =
          [](const Inputs& in, const AttributeMap& attributes, Outputs& out) {
            const double gamma = reference::number(attributes, "gamma", 1);
            const double gain = reference::number(attributes, "gain", 1);
            elementwise(in, out, [&](double x) { return gain * std::pow(x, gamma); });
          }}},
    {"image_adjust_hue",
     {.samples = adjust_hue_samples,
      .reference =
          [](const Inputs& in, const AttributeMap& attributes, Outputs& out) {
            out = {by_color(in[0], [&](const Color& color) {
              Color hsv = hsv_of(color);
              hsv[0] += attributes.at("delta").number;
              hsv[0] -= std::floor(hsv[0]);
              return rgb_of(hsv);
            })};
          },
      .first_order = 1e-5,
      .second_order = 1e-3,
      .why_looser = "the hue divides by the distance of two channels",
      .dtypes = {DType::kFloat32, DType::kFloat64}}},
    {"image_adjust_saturation",
     {.samples = adjust_saturation_samples,
      .reference =
          [](const Inputs& in, const AttributeMap& attributes, Outputs& out) {
            out = {by_color(in[0], [&](const Color& color) {
              Color hsv = hsv_of(color);
              hsv[1] *= attributes.at("saturation_factor").number;
              hsv[1] = std::clamp(hsv[1], 0.0, 1.0);
              return rgb_of(hsv);
            })};
          },
      .first_order = 1e-5,
      .second_order = 1e-3,
      .why_looser = "the hue divides by the distance of two channels",
      .dtypes = {DType::kFloat32, DType::kFloat64}}},
    {"image_per_image_standardization", {.samples = standardization_samples, .reference = standardization_reference}},
};

}  // namespace

}  // namespace capstan::testing
