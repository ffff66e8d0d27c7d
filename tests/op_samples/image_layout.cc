// Samples and references of the ops in src/ops/image/image_layout.cc.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::ints;
using reference::Position;

// Pixels [height, width] of which each is the pixel at source(row, column) of the image, or 0 outside it.
template <class Source>
ReferenceTensor move_pixels(const ReferenceTensor& image, std::int64_t height, std::int64_t width,
                            const Source& source) {
  Shape shape = image.shape;
  shape.set(-3, height);
  shape.set(-2, width);
  return reference::build(image.dtype, shape, [&](Position position) {
    const std::size_t row = position.size() - 3;
    const auto [y, x] = source(position[row], position[row + 1]);
    if (y < 0 || y >= image.shape[-3] || x < 0 || x >= image.shape[-2]) return 0.0;
    position[row] = y;
    position[row + 1] = x;
    return reference::at(image, position);
  });
}
using Place = std::pair<std::int64_t, std::int64_t>;

std::vector<OpSample> image_samples() {
  return {{.inputs = {{.shape = {2, 3, 1}}}},
          {.inputs = {{.shape = {2, 3, 4, 2}}}},
          {.inputs = {{.shape = {0, 2, 2, 1}}}},
          {.inputs = {{.shape = {3}}}, .error = "not of rank 1"}};
}
void flip_left_right_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  const Shape& shape = in[0].shape;
  out = {move_pixels(in[0], shape[-3], shape[-2], [&](auto y, auto x) { return Place{y, shape[-2] - 1 - x}; })};
}
void flip_up_down_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  const Shape& shape = in[0].shape;
  out = {move_pixels(in[0], shape[-3], shape[-2], [&](auto y, auto x) { return Place{shape[-3] - 1 - y, x}; })};
}
void transpose_reference(const Inputs& in, const AttributeMap&, Outputs& out) {
  const Shape& shape = in[0].shape;
  out = {move_pixels(in[0], shape[-2], shape[-3], [&](auto y, auto x) { return Place{x, y}; })};
}
std::vector<OpSample> rot90_samples() {
  std::vector<OpSample> samples = image_samples();
  for (int k : {0, 2, 3, -1, 6}) samples.push_back({.inputs = {{.shape = {2, 3, 1}}}, .attributes = {{"k", k}}});
  return samples;
}
void rot90_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const std::int64_t turns = ((reference::integer(attributes, "k", 1) % 4) + 4) % 4;
  ReferenceTensor image = in[0];
  for (std::int64_t i = 0; i < turns; ++i) {
    const Shape shape = image.shape;
    image = move_pixels(image, shape[-2], shape[-3], [&](auto y, auto x) { return Place{x, shape[-2] - 1 - y}; });
  }
  out = {image};
}
AttributeMap target(int height, int width) { return {{"height", height}, {"width", width}}; }
std::vector<OpSample> crop_or_pad_samples() {
  return {{.inputs = {{.shape = {3, 3, 1}}}, .attributes = target(2, 5)},
          {.inputs = {{.shape = {1, 2, 4, 2}}}, .attributes = target(5, 1)},
          {.inputs = {{.shape = {2, 2, 1}}}, .attributes = target(0, 2), .error = "the size is 0 x 2"},
          {.inputs = {{.shape = {2, 2}}}, .attributes = target(1, 2), .error = "not of rank 2"}};
}
void crop_or_pad_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const Shape& shape = in[0].shape;
  const std::int64_t height = attributes.at("height").integer;
  const std::int64_t width = attributes.at("width").integer;
  // How far the result's first pixel lies inside the image; both parts round down.
  const auto shift = [](std::int64_t to, std::int64_t from) {
    return to < from ? (from - to) / 2 : -((to - from) / 2);
  };
  out = {move_pixels(in[0], height, width, [&](auto y, auto x) {
    return Place{y + shift(height, shape[-3]), x + shift(width, shape[-2])};
  })};
}
std::vector<OpSample> central_crop_samples() {
  return {
      {.inputs = {{.shape = {4, 4, 1}}}, .attributes = {{"central_fraction", 0.5}}},
      {.inputs = {{.shape = {2, 5, 7, 1}}}, .attributes = {{"central_fraction", 0.25}}},
      {.inputs = {{.shape = {2, 3, 1}}}, .attributes = {{"central_fraction", 1.0}}},
      {.inputs = {{.shape = {4, 4, 1}}}, .attributes = {{"central_fraction", 1.5}}, .error = "is 1.5, not above 0"}};
}
void central_crop_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const double fraction = attributes.at("central_fraction").number;
  const auto cut = [&](std::int64_t length) {
    return static_cast<std::int64_t>((static_cast<double>(length) - static_cast<double>(length) * fraction) / 2);
  };
  const std::int64_t rows = cut(in[0].shape[-3]);
  const std::int64_t columns = cut(in[0].shape[-2]);
  out = {move_pixels(in[0], in[0].shape[-3] - 2 * rows, in[0].shape[-2] - 2 * columns, [&](auto y, auto x) {
    return Place{y + rows, x + columns};
  })};
}
AttributeMap box(int offset_height, int offset_width, int target_height, int target_width) {
  return {{"offset_height", offset_height},
          {"offset_width", offset_width},
          {"target_height", target_height},
          {"target_width", target_width}};
}
std::vector<OpSample> crop_samples() {
  return {{.inputs = {{.shape = {4, 5, 1}}}, .attributes = box(1, 2, 3, 2)},
          {.inputs = {{.shape = {2, 2, 3, 1}}}, .attributes = box(0, 0, 2, 3)},
          {.inputs = {{.shape = {4, 5, 1}}}, .attributes = box(1, 2, 4, 2), .error = "is not inside 4 x 5"},
          {.inputs = {{.shape = {4, 5, 1}}}, .attributes = box(-1, 2, 1, 2), .error = "is not inside 4 x 5"}};
}
template <int sign>
void box_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  out = {move_pixels(in[0], attributes.at("target_height").integer, attributes.at("target_width").integer,
                     [&](auto y, auto x) {
                       return Place{y + sign * attributes.at("offset_height").integer,
                                    x + sign * attributes.at("offset_width").integer};
                     })};
}
std::vector<OpSample> border_samples() {
  return {{.inputs = {{.shape = {2, 3, 1}}}, .attributes = box(1, 2, 4, 5)},
          {.inputs = {{.shape = {2, 2, 3, 1}}}, .attributes = box(0, 0, 2, 4)},
          {.inputs = {{.shape = {2, 3, 1}}}, .attributes = box(1, 2, 2, 5), .error = "does not fit into 2 x 5"},
          {.inputs = {{.shape = {2, 3, 1}}}, .attributes = box(0, -2, 2, 5), .error = "does not fit into 2 x 5"}};
}
std::vector<OpSample> patch_samples() {
  return {{.inputs = {{.shape = {1, 4, 4, 1}}}, .attributes = {{"sizes", ints({2, 2})}}},
          {.inputs = {{.shape = {2, 5, 4, 2}}},
           .attributes = {{"sizes", ints({2, 3})}, {"strides", ints({2, 1})}, {"padding", "SAME"}}},
          {.inputs = {{.shape = {1, 6, 5, 1}}},
           .attributes = {{"sizes", ints({2, 2})}, {"rates", ints({3, 2})}, {"strides", ints({1, 2})}}},
          {.inputs = {{.shape = {1, 2, 2, 1}}}, .attributes = {{"sizes", ints({3, 1})}}},
          {.inputs = {{.shape = {1, 2, 2, 1}}}, .attributes = {{"sizes", ints({0, 1})}}, .error = "sizes are 0 x 1"},
          {.inputs = {{.shape = {2, 2, 1}}}, .attributes = {{"sizes", ints({1, 1})}}, .error = "not of rank 3"}};
}
void patch_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  const Shape from = in[0].shape;
  const auto pair = [&](const char* name) {
    std::vector<std::int64_t> numbers = reference::integers(attributes, name);
    if (numbers.empty()) numbers = {1, 1};
    return numbers;
  };
  const auto sizes = pair("sizes");
  const auto strides = pair("strides");
  const auto rates = pair("rates");
  const bool same = attributes.contains("padding");
  std::int64_t count[2];
  std::int64_t before[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t length = from[static_cast<int>(i) + 1];
    const std::int64_t extent = (sizes[i] - 1) * rates[i] + 1;
    count[i] = same ? (length + strides[i] - 1) / strides[i] : length < extent ? 0 : (length - extent) / strides[i] + 1;
    before[i] = same ? std::max<std::int64_t>((count[i] - 1) * strides[i] + extent - length, 0) / 2 : 0;
  }
  const Shape shape{from[0], count[0], count[1], sizes[0] * sizes[1] * from[3]};
  out = {reference::build(in[0].dtype, shape, [&](const Position& at) {
    const std::int64_t place = at[3] / from[3];
    const std::int64_t y = at[1] * strides[0] + place / sizes[1] * rates[0] - before[0];
    const std::int64_t x = at[2] * strides[1] + place % sizes[1] * rates[1] - before[1];
    if (y < 0 || y >= from[1] || x < 0 || x >= from[2]) return 0.0;
    return reference::at(in[0], {at[0], y, x, at[3] % from[3]});
  })};
}

const OpTests kImageLayoutTests = {
    {"image_flip_left_right",
     {.samples = image_samples, .reference = flip_left_right_reference, .dtypes = reference::kEveryDType}},
    {"image_flip_up_down",
     {.samples = image_samples, .reference = flip_up_down_reference, .dtypes = reference::kEveryDType}},
    {"image_transpose", {.samples = image_samples, .reference = transpose_reference, .dtypes = reference::kEveryDType}},
    {"image_rot90", {.samples = rot90_samples, .reference = rot90_reference, .dtypes = reference::kEveryDType}},
    {"image_resize_with_crop_or_pad",
     {.samples = crop_or_pad_samples, .reference = crop_or_pad_reference, .dtypes = reference::kEveryDType}},
    {"image_central_crop",
     {.samples = central_crop_samples, .reference = central_crop_reference, .dtypes = reference::kEveryDType}},
    {"image_crop_to_bounding_box",
     {.samples = crop_samples, .reference = box_reference<1>, .dtypes = reference::kEveryDType}},
    {"image_pad_to_bounding_box",
     {.samples = border_samples, .reference = box_reference<-1>, .dtypes = reference::kEveryDType}},
    {"image_extract_patches",
     {.samples = patch_samples, .reference = patch_reference, .dtypes = reference::kEveryNumber}},
};

}  // namespace

}  // namespace capstan::testing
