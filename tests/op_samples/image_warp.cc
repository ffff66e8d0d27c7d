// Samples and references of the ops in src/ops/image/image_warp.cc.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/op_samples/image_reference.h"
#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::bilinear_at;
using reference::pixel_at;
using reference::Position;

std::vector<OpSample> warp_samples() {
  const SampleInput turn = {.shape = {8}, .values = {0.8, -0.3, 0.79, 0.35, 0.9, -0.61, 0.01, -0.02}};
  const SampleInput two = {.shape = {2, 8},
                           .values = {1, 0.1, -1.33, 0.2, 0.9, 0.27, 0, 0,  //
                                      0.7, 0, 0.41, 0.13, 1.2, -0.85, 0, 0.01}};
  const SampleInput image = {.shape = {3, 4, 2}};
  std::vector<OpSample> samples = {
      {.inputs = {image, turn}},
      {.inputs = {{.shape = {2, 3, 3, 1}}, two}, .attributes = {{"fill_value", 0.5}}},
      {.inputs = {{.shape = {2, 3, 3, 1}}, turn}},
      {.inputs = {image, {.shape = {6}}}, .error = "one of shape [8] or one for each image"},
      {.inputs = {image, turn}, .attributes = {{"interpolation", "cubic"}}, .error = "must be bilinear or nearest"},
      {.inputs = {image, turn}, .attributes = {{"fill_mode", "edge"}}, .error = "not edge"}};
  for (const char* mode : {"nearest", "reflect", "wrap"}) {
    samples.push_back({.inputs = {image, turn}, .attributes = {{"fill_mode", mode}}});
  }
  // Steps have no gradient for the transform.
  SampleInput constant = turn;
  constant.dtype = DType::kFloat64;
  constant.differentiable = false;
  samples.push_back({.inputs = {image, constant}, .attributes = {{"interpolation", "nearest"}}});
  return samples;
}
double folded_place(double place, std::int64_t length, const std::string& mode) {
  const auto n = static_cast<double>(length);
  if (mode == "reflect") {
    while (place < -0.5 || place > n - 0.5) place = place < -0.5 ? -1 - place : 2 * n - 1 - place;
  } else if (mode == "wrap" && length > 1) {
    // TensorFlow counts periods of n - 1 and moves by n.
    const double periods = place < 0 ? -std::floor(-place / (n - 1)) - 1 : std::floor(place / (n - 1));
    if (place < 0 || place > n - 1) place -= n * periods;
  }
  return mode == "constant" ? place : std::clamp(place, 0.0, n - 1);
}
void warp_reference_at(const ReferenceTensor& images, const std::vector<double>& transforms,
                       const AttributeMap& attributes, Outputs& out) {
  const std::string mode = attributes.contains("fill_mode") ? attributes.at("fill_mode").text : "constant";
  const double fill = reference::number(attributes, "fill_value", 0);
  const bool batch = images.shape.rank() == 4;
  out = {reference::build(images.dtype, images.shape, [&](const Position& at) {
    const std::int64_t b = batch ? at[0] : 0;
    const double* a = transforms.data() + (transforms.size() == 8 ? 0 : 8 * b);
    const auto row = static_cast<double>(at[at.size() - 3]);
    const auto column = static_cast<double>(at[at.size() - 2]);
    const double k = a[6] * column + a[7] * row + 1;
    const double x = folded_place((a[0] * column + a[1] * row + a[2]) / k, images.shape[-2], mode);
    const double y = folded_place((a[3] * column + a[4] * row + a[5]) / k, images.shape[-3], mode);
    if (attributes.contains("interpolation")) {
      return pixel_at(images, b, std::round(y), std::round(x), at.back(), fill);
    }
    return bilinear_at(images, b, y, x, at.back(), fill);
  })};
}
void warp_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  warp_reference_at(in[0], in[1].values, attributes, out);
}
// Places in bfloat16 are too coarse to compare.
std::vector<OpSample> warp_adjoint_samples() {
  const SampleInput turn = {.shape = {8}, .values = {0.8, -0.3, 0.79, 0.35, 0.9, -0.61, 0.01, -0.02}};
  const SampleInput two = {.shape = {2, 8},
                           .values = {1, 0.1, -1.33, 0.2, 0.9, 0.27, 0, 0,  //
                                      0.7, 0, 0.41, 0.13, 1.2, -0.85, 0, 0.01}};
  return {{.inputs = {{.shape = {3, 4, 2}}, turn}},
          {.inputs = {{.shape = {2, 3, 3, 1}}, two}, .attributes = {{"fill_mode", "reflect"}}},
          {.inputs = {{.shape = {2, 3, 2, 2}}, turn}, .attributes = {{"fill_mode", "wrap"}}},
          {.inputs = {{.shape = {3, 4, 2}}, turn}, .attributes = {{"fill_mode", "nearest"}}},
          {.inputs = {{.shape = {3, 4, 2}}, {.shape = {6}}}, .error = "one of shape [8] or one for each image"},
          {.inputs = {{.shape = {3, 4}}, turn}, .error = "not of rank 2"},
          {.inputs = {{.shape = {3, 4, 2}}, turn}, .attributes = {{"fill_mode", "edge"}}, .error = "not edge"}};
}
// The sum of every image of one pixel, as the op itself warps it, with g.
void warp_adjoint_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  ReferenceTensor unit = in[0];
  ReferenceTensor result = in[0];
  std::fill(unit.values.begin(), unit.values.end(), 0);
  for (std::size_t i = 0; i < unit.values.size(); ++i) {
    unit.values[i] = 1;
    Outputs seen;
    warp_reference_at(unit, in[1].values, attributes, seen);
    unit.values[i] = 0;
    result.values[i] = 0;
    for (std::size_t j = 0; j < seen[0].values.size(); ++j) result.values[i] += seen[0].values[j] * in[0].values[j];
  }
  out = {result};
}
std::vector<OpSample> rotate_samples() {
  return {{.inputs = {{.shape = {4, 3, 1}}, {.shape = {}, .values = {0.4}}}},
          {.inputs = {{.shape = {2, 3, 4, 2}}, {.shape = {2}, .values = {-0.7, 2.1}}},
           .attributes = {{"fill_mode", "reflect"}}},
          {.inputs = {{.shape = {4, 3, 1}}, {.shape = {2}}}, .error = "one of shape [] or one for each image"}};
}
void rotate_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const double middle_x = static_cast<double>(in[0].shape[-2] - 1) / 2;
  const double middle_y = static_cast<double>(in[0].shape[-3] - 1) / 2;
  std::vector<double> transforms;
  for (double angle : in[1].values) {
    const double c = std::cos(angle);
    const double s = std::sin(angle);
    const double own[] = {c, -s, middle_x - c * middle_x + s * middle_y, s, c, middle_y - s * middle_x - c * middle_y,
                          0, 0};
    transforms.insert(transforms.end(), std::begin(own), std::end(own));
  }
  warp_reference_at(in[0], transforms, attributes, out);
}

const OpTests kImageWarpTests = {
    {"image_affine_transform",
     {.samples = warp_samples, .reference = warp_reference, .dtypes = {DType::kFloat32, DType::kFloat64}}},
    {"image_affine_transform_adjoint",
     {.samples = warp_adjoint_samples,
      .reference = warp_adjoint_reference,
      .dtypes = {DType::kFloat32, DType::kFloat64}}},
    {"image_rotate",
     {.samples = rotate_samples, .reference = rotate_reference, .dtypes = {DType::kFloat32, DType::kFloat64}}},
};

}  // namespace

}  // namespace capstan::testing
