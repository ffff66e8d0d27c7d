// Samples and references of the ops in src/ops/image/image_crop.cc.
#include <cstdint>
#include <vector>

#include "tests/op_samples/image_reference.h"
#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::bilinear_at;
using reference::ints;
using reference::Position;

std::vector<OpSample> crop_samples() {
  const SampleInput images = {.shape = {2, 4, 5, 2}};
  const SampleInput boxes = {.shape = {2, 4}, .values = {0.13, 0.22, 0.81, 0.93, -0.1, 0.05, 1.17, 0.71}};
  const SampleInput which = {.shape = {2}, .values = {1, 0}, .dtype = DType::kInt32, .differentiable = false};
  return {{.inputs = {images, boxes, which}, .attributes = {{"crop_size", ints({3, 2})}}},
          {.inputs = {images, boxes, which}, .attributes = {{"crop_size", ints({1, 3})}, {"extrapolation_value", 0.5}}},
          {.inputs = {images, {.shape = {2, 3}}, which},
           .attributes = {{"crop_size", ints({1, 1})}},
           .error = "must be [boxes, 4] and [boxes]"},
          {.inputs = {images, boxes, which}, .attributes = {{"crop_size", ints({0, 1})}}, .error = "the size is 0 x 1"},
          {.inputs = {images, boxes, {.shape = {2}, .values = {0, 2}, .dtype = DType::kInt32, .differentiable = false}},
           .attributes = {{"crop_size", ints({1, 1})}},
           .error = "box 1 is of image 2, there are 2"},
          {.inputs = {images, boxes, which},
           .attributes = {{"crop_size", ints({1, 1})}, {"method", "cubic"}},
           .error = "method must be bilinear or nearest, not cubic"}};
}
void crop_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const std::vector<std::int64_t> size = reference::integers(attributes, "crop_size");
  const double fill = reference::number(attributes, "extrapolation_value", 0);
  const Shape from = in[0].shape;
  out = {reference::build(in[0].dtype, {in[1].shape[0], size[0], size[1], from[3]}, [&](const Position& at) {
    const auto place = [&](std::size_t axis) {
      const auto low = reference::at(in[1], {at[0], static_cast<std::int64_t>(axis)});
      const auto high = reference::at(in[1], {at[0], static_cast<std::int64_t>(axis) + 2});
      const auto pixels = static_cast<double>(from[static_cast<int>(axis) + 1] - 1);
      if (size[axis] == 1) return (low + high) / 2 * pixels;
      return (low + (high - low) * static_cast<double>(at[axis + 1]) / static_cast<double>(size[axis] - 1)) * pixels;
    };
    const double y = place(0);
    const double x = place(1);
    if (y < 0 || x < 0 || y > static_cast<double>(from[1] - 1) || x > static_cast<double>(from[2] - 1)) return fill;
    return bilinear_at(in[0], static_cast<std::int64_t>(in[2].values[static_cast<std::size_t>(at[0])]), y, x, at[3], 0);
  })};
}

const OpTests kImageCropTests = {
    {"image_crop_and_resize",
     {.samples = crop_samples, .reference = crop_reference, .dtypes = {DType::kFloat32, DType::kFloat64}}},
};

}  // namespace

}  // namespace capstan::testing
