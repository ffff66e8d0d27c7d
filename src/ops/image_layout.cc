// Crops, borders, flips and patches of images: other ops in the order of rows and columns. With the list of the family.
#include <algorithm>
#include <cmath>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/image.h"
#include "capstan/ops/rearrange.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/op_test.h"
#include "src/ops/families.h"
#include "src/ops/image.h"
#include "src/ops/reference.h"
#include "src/ops/window.h"

namespace capstan {

namespace {

struct TargetAttributes {
  std::int64_t height = 0;
  std::int64_t width = 0;
};
constexpr AttributeType kTargetAttributes = attribute_type<TargetAttributes>(
    {field<&TargetAttributes::height>("height", true), field<&TargetAttributes::width>("width", true)});

struct FractionAttributes {
  double central_fraction = 1;
};
constexpr AttributeType kFractionAttributes =
    attribute_type<FractionAttributes>({field<&FractionAttributes::central_fraction>("central_fraction", true)});

struct BoxAttributes {
  std::int64_t offset_height = 0;
  std::int64_t offset_width = 0;
  std::int64_t target_height = 0;
  std::int64_t target_width = 0;
};
constexpr AttributeType kBoxAttributes =
    attribute_type<BoxAttributes>({field<&BoxAttributes::offset_height>("offset_height", true),
                                   field<&BoxAttributes::offset_width>("offset_width", true),
                                   field<&BoxAttributes::target_height>("target_height", true),
                                   field<&BoxAttributes::target_width>("target_width", true)});

struct TurnAttributes {
  std::int64_t k = 1;
};
constexpr AttributeType kTurnAttributes = attribute_type<TurnAttributes>({field<&TurnAttributes::k>("k")});

struct PatchAttributes {
  HeightWidth sizes;
  HeightWidth strides;
  HeightWidth rates;
  PackedPadding padding;
};
constexpr AttributeType kPatchAttributes = attribute_type<PatchAttributes>(
    {field<&PatchAttributes::sizes>("sizes", true), field<&PatchAttributes::strides>("strides"),
     field<&PatchAttributes::rates>("rates"), field<&PatchAttributes::padding>("padding")});

// A border of zeros around rows and columns.
Tensor with_border(const Tensor& x, const PadWidth& height, const PadWidth& width) {
  std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
  widths[static_cast<std::size_t>(x.rank() - 3)] = height;
  widths[static_cast<std::size_t>(x.rank() - 2)] = width;
  return pad(x, widths);
}

// --- Samples and references ---

#if CAPSTAN_TESTING
using reference::ints;
using reference::Position;
using Inputs = std::vector<ReferenceTensor>;
using Outputs = std::vector<ReferenceTensor>;

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
const OpTest kFlipLeftRightTest = {
    .samples = image_samples, .reference = flip_left_right_reference, .dtypes = reference::kEveryDType};
const OpTest kFlipUpDownTest = {
    .samples = image_samples, .reference = flip_up_down_reference, .dtypes = reference::kEveryDType};
const OpTest kTransposeTest = {
    .samples = image_samples, .reference = transpose_reference, .dtypes = reference::kEveryDType};

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
const OpTest kRot90Test = {.samples = rot90_samples, .reference = rot90_reference, .dtypes = reference::kEveryDType};

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
const OpTest kCropOrPadTest = {
    .samples = crop_or_pad_samples, .reference = crop_or_pad_reference, .dtypes = reference::kEveryDType};

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
const OpTest kCentralCropTest = {
    .samples = central_crop_samples, .reference = central_crop_reference, .dtypes = reference::kEveryDType};

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
const OpTest kCropTest = {.samples = crop_samples, .reference = box_reference<1>, .dtypes = reference::kEveryDType};
const OpTest kBorderTest = {
    .samples = border_samples, .reference = box_reference<-1>, .dtypes = reference::kEveryDType};

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
const OpTest kPatchTest = {.samples = patch_samples, .reference = patch_reference, .dtypes = reference::kEveryNumber};
#endif

// --- The ops ---

constexpr OpDef kFlipLeftRight = {
    .name = "image_flip_left_right",
    .text = "The image mirrored, left to right.",
    .kind = OpKind::kComposite,
    .input_names = "image",
    .compose = compose_image<image::flip_left_right>,
    .test = CAPSTAN_OP_TEST(kFlipLeftRightTest),
};
constexpr OpDef kFlipUpDown = {
    .name = "image_flip_up_down",
    .text = "The image upside down.",
    .kind = OpKind::kComposite,
    .input_names = "image",
    .compose = compose_image<image::flip_up_down>,
    .test = CAPSTAN_OP_TEST(kFlipUpDownTest),
};
constexpr OpDef kImageTranspose = {
    .name = "image_transpose",
    .text = "The image with rows and columns exchanged.",
    .kind = OpKind::kComposite,
    .input_names = "image",
    .compose = compose_image<image::transpose>,
    .test = CAPSTAN_OP_TEST(kTransposeTest),
};
constexpr OpDef kRot90 = {
    .name = "image_rot90",
    .text = "The image after quarter turns, counter-clockwise.",
    .kind = OpKind::kComposite,
    .input_names = "image",
    .attributes = &kTurnAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* data, std::vector<Tensor>& outputs) {
          outputs.push_back(image::rot90(inputs[0], static_cast<int>(static_cast<const TurnAttributes*>(data)->k % 4)));
        },
    .test = CAPSTAN_OP_TEST(kRot90Test),
};
constexpr OpDef kCropOrPad = {
    .name = "image_resize_with_crop_or_pad",
    .text = "The image cropped or padded evenly to a size.",
    .kind = OpKind::kComposite,
    .input_names = "image",
    .attributes = &kTargetAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* data, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const TargetAttributes*>(data);
          outputs.push_back(image::resize_with_crop_or_pad(inputs[0], a.height, a.width));
        },
    .test = CAPSTAN_OP_TEST(kCropOrPadTest),
};
constexpr OpDef kCentralCrop = {
    .name = "image_central_crop",
    .text = "The middle part of the image.",
    .kind = OpKind::kComposite,
    .input_names = "image",
    .attributes = &kFractionAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* data, std::vector<Tensor>& outputs) {
          outputs.push_back(
              image::central_crop(inputs[0], static_cast<const FractionAttributes*>(data)->central_fraction));
        },
    .test = CAPSTAN_OP_TEST(kCentralCropTest),
};
template <Tensor (*kFunction)(Operand, std::int64_t, std::int64_t, std::int64_t, std::int64_t)>
void compose_box(std::span<const Operand> inputs, const void* data, std::vector<Tensor>& outputs) {
  const auto& a = *static_cast<const BoxAttributes*>(data);
  outputs.push_back(kFunction(inputs[0], a.offset_height, a.offset_width, a.target_height, a.target_width));
}
constexpr OpDef kCrop = {
    .name = "image_crop_to_bounding_box",
    .text = "The part of the image in a box.",
    .kind = OpKind::kComposite,
    .input_names = "image",
    .attributes = &kBoxAttributes,
    .compose = compose_box<image::crop_to_bounding_box>,
    .test = CAPSTAN_OP_TEST(kCropTest),
};
constexpr OpDef kBorder = {
    .name = "image_pad_to_bounding_box",
    .text = "The image in a larger one of zeros.",
    .kind = OpKind::kComposite,
    .input_names = "image",
    .attributes = &kBoxAttributes,
    .compose = compose_box<image::pad_to_bounding_box>,
    .test = CAPSTAN_OP_TEST(kBorderTest),
};
constexpr OpDef kPatches = {
    .name = "image_extract_patches",
    .text = "Patches of images, each as one pixel with the channels of all its pixels.",
    .kind = OpKind::kComposite,
    .input_names = "images",
    .attributes = &kPatchAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* data, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const PatchAttributes*>(data);
          outputs.push_back(image::extract_patches(inputs[0], to_array(a.sizes), to_array(a.strides), to_array(a.rates),
                                                   unpack(a.padding)));
        },
    .test = CAPSTAN_OP_TEST(kPatchTest),
};

}  // namespace

Tensor image::flip_left_right(Operand image) try {
  const Tensor value = to_tensor(image);
  check_image("image_flip_left_right", value);
  return reverse(value, -2);
} catch (const Error&) {
  rethrow_as("image::flip_left_right");
}
Tensor image::flip_up_down(Operand image) try {
  const Tensor value = to_tensor(image);
  check_image("image_flip_up_down", value);
  return reverse(value, -3);
} catch (const Error&) {
  rethrow_as("image::flip_up_down");
}

namespace {
Tensor exchanged(const Tensor& value) {
  return value.rank() == 3 ? capstan::transpose(value, {1, 0, 2}) : capstan::transpose(value, {0, 2, 1, 3});
}
}  // namespace

Tensor image::transpose(Operand image) try {
  const Tensor value = to_tensor(image);
  check_image("image_transpose", value);
  return exchanged(value);
} catch (const Error&) {
  rethrow_as("image::transpose");
}
Tensor image::rot90(Operand image, int k) try {
  const Tensor value = to_tensor(image);
  check_image("image_rot90", value);
  switch ((k % 4 + 4) % 4) {
    case 1:
      return reverse(exchanged(value), -3);
    case 2:
      return reverse(value, {-3, -2});
    case 3:
      return reverse(exchanged(value), -2);
    default:
      return value;
  }
} catch (const Error&) {
  rethrow_as("image::rot90");
}

Tensor image::resize_with_crop_or_pad(Operand image, std::int64_t target_height, std::int64_t target_width) try {
  const Tensor value = to_tensor(image);
  check_image("image_resize_with_crop_or_pad", value);
  CAPSTAN_CHECK(target_height > 0 && target_width > 0 && target_height < UINT32_MAX && target_width < UINT32_MAX,
                ValueError, "image_resize_with_crop_or_pad: the size is ", target_height, " x ", target_width,
                ", not from 1 x 1 to what a tensor can have");
  const std::int64_t rows = value.dim(-3);
  const std::int64_t columns = value.dim(-2);
  const auto middle = [](std::int64_t length, std::int64_t target) {
    const std::int64_t begin = std::max<std::int64_t>(length - target, 0) / 2;
    return Slice{begin, begin + std::min(length, target)};
  };
  const auto border = [](std::int64_t length, std::int64_t target) {
    const std::int64_t more = std::max<std::int64_t>(target - length, 0);
    return PadWidth{more / 2, more - more / 2};
  };
  return with_border(pixels_of(value, middle(rows, target_height), middle(columns, target_width)),
                     border(rows, target_height), border(columns, target_width));
} catch (const Error&) {
  rethrow_as("image::resize_with_crop_or_pad");
}

Tensor image::central_crop(Operand image, double central_fraction) try {
  const Tensor value = to_tensor(image);
  check_image("image_central_crop", value);
  CAPSTAN_CHECK(central_fraction > 0 && central_fraction <= 1, ValueError, "image_central_crop: the fraction is ",
                central_fraction, ", not above 0 and at most 1");
  const auto middle = [&](std::int64_t length) {
    const auto pixels = static_cast<double>(length);
    const auto begin = static_cast<std::int64_t>((pixels - pixels * central_fraction) / 2);
    return Slice{begin, length - begin};
  };
  return pixels_of(value, middle(value.dim(-3)), middle(value.dim(-2)));
} catch (const Error&) {
  rethrow_as("image::central_crop");
}

Tensor image::crop_to_bounding_box(Operand image, std::int64_t offset_height, std::int64_t offset_width,
                                   std::int64_t target_height, std::int64_t target_width) try {
  const Tensor value = to_tensor(image);
  check_image("image_crop_to_bounding_box", value);
  const std::int64_t rows = value.dim(-3);
  const std::int64_t columns = value.dim(-2);
  const bool inside = offset_height >= 0 && offset_width >= 0 && target_height > 0 && target_width > 0 &&
                      offset_height <= rows && target_height <= rows - offset_height && offset_width <= columns &&
                      target_width <= columns - offset_width;
  CAPSTAN_CHECK(inside, ValueError, "image_crop_to_bounding_box: ", target_height, " x ", target_width, " pixels at ",
                offset_height, ", ", offset_width, " is not inside ", rows, " x ", columns,
                arguments({{"image", value}}));
  return pixels_of(value, Slice{offset_height, offset_height + target_height},
                   Slice{offset_width, offset_width + target_width});
} catch (const Error&) {
  rethrow_as("image::crop_to_bounding_box");
}

Tensor image::pad_to_bounding_box(Operand image, std::int64_t offset_height, std::int64_t offset_width,
                                  std::int64_t target_height, std::int64_t target_width) try {
  const Tensor value = to_tensor(image);
  check_image("image_pad_to_bounding_box", value);
  const std::int64_t rows = value.dim(-3);
  const std::int64_t columns = value.dim(-2);
  const bool fits = offset_height >= 0 && offset_width >= 0 && target_height >= 0 && target_width >= 0 &&
                    target_height < UINT32_MAX && target_width < UINT32_MAX && offset_height <= target_height - rows &&
                    offset_width <= target_width - columns;
  CAPSTAN_CHECK(fits, ValueError, "image_pad_to_bounding_box: ", rows, " x ", columns, " pixels at ", offset_height,
                ", ", offset_width, " does not fit into ", target_height, " x ", target_width,
                arguments({{"image", value}}));
  return with_border(value, {offset_height, target_height - rows - offset_height},
                     {offset_width, target_width - columns - offset_width});
} catch (const Error&) {
  rethrow_as("image::pad_to_bounding_box");
}

Tensor image::extract_patches(Operand images, std::array<std::int64_t, 2> sizes, std::array<std::int64_t, 2> strides,
                              std::array<std::int64_t, 2> rates, Padding padding) try {
  const Tensor value = to_tensor(images);
  check_images("image_extract_patches", value);
  const auto are_small = [](const std::array<std::int64_t, 2>& pair) {
    return pair[0] > 0 && pair[1] > 0 && pair[0] <= 65535 && pair[1] <= 65535;
  };
  CAPSTAN_CHECK(are_small(sizes) && sizes[0] * sizes[1] <= 65536, ValueError, "image_extract_patches: the sizes are ",
                sizes[0], " x ", sizes[1], ", not from 1 to 65536 pixels");
  CAPSTAN_CHECK(are_small(strides), ValueError, "image_extract_patches: the strides are ", strides[0], " x ",
                strides[1], ", not from 1 to 65535");
  CAPSTAN_CHECK(are_small(rates), ValueError, "image_extract_patches: the rates are ", rates[0], " x ", rates[1],
                ", not from 1 to 65535");
  const PackedPadding packed = pack(padding);
  WindowAxis axes[2];
  PadWidth widths[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t length = value.dim(static_cast<int>(i) + 1);
    const std::int64_t extent = (sizes[i] - 1) * rates[i] + 1;
    axes[i] = slide(length, extent, strides[i], packed, static_cast<int>(i));
    const std::int64_t end = (axes[i].count - 1) * strides[i] + extent;
    widths[i] = {axes[i].before, std::max<std::int64_t>(end - length - axes[i].before, 0)};
  }
  if (axes[0].count == 0 || axes[1].count == 0) {
    return zeros({value.dim(0), axes[0].count, axes[1].count, sizes[0] * sizes[1] * value.dim(3)}, value.dtype());
  }
  const Tensor padded = with_border(value, widths[0], widths[1]);
  const auto every = [&](std::size_t i, std::int64_t first) {
    return Slice{first, first + (axes[i].count - 1) * strides[i] + 1, strides[i]};
  };
  std::vector<Tensor> places;
  for (std::int64_t y = 0; y < sizes[0]; ++y) {
    for (std::int64_t x = 0; x < sizes[1]; ++x) {
      places.push_back(pixels_of(padded, every(0, y * rates[0]), every(1, x * rates[1])));
    }
  }
  return concat(places, -1);
} catch (const Error&) {
  rethrow_as("image::extract_patches");
}

OpFamily image_ops() {
  static constexpr const OpDef* ops[] = {&kImageResize,
                                         &kImageResizeAdjoint,
                                         &kCropOrPad,
                                         &kCentralCrop,
                                         &kCrop,
                                         &kBorder,
                                         &kImageCropAndResize,
                                         &kPatches,
                                         &kFlipLeftRight,
                                         &kFlipUpDown,
                                         &kImageTranspose,
                                         &kRot90,
                                         &kImageAffineTransform,
                                         &kImageAffineTransformAdjoint,
                                         &kImageRotate,
                                         &kImageConvertImageDtype,
                                         &kImageRgbToGrayscale,
                                         &kImageGrayscaleToRgb,
                                         &kImageRgbToHsv,
                                         &kImageHsvToRgb,
                                         &kImageAdjustBrightness,
                                         &kImageAdjustContrast,
                                         &kImageAdjustGamma,
                                         &kImageAdjustHue,
                                         &kImageAdjustSaturation,
                                         &kImagePerImageStandardization,
                                         &kImageImageGradients,
                                         &kImageSobelEdges,
                                         &kImageTotalVariation,
                                         &kImagePsnr,
                                         &kImageSsim};
  return ops;
}

}  // namespace capstan
