// Crops, borders, flips and patches of images: other ops in the order of rows and columns. With the list of the family.
#include <algorithm>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/image.h"
#include "capstan/ops/rearrange.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/image/image.h"
#include "src/ops/window_lengths.h"

namespace capstan {

namespace {

// A border of zeros around rows and columns.
Tensor with_border(const Tensor& x, const PadWidth& height, const PadWidth& width) {
  std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
  widths[static_cast<std::size_t>(x.rank() - 3)] = height;
  widths[static_cast<std::size_t>(x.rank() - 2)] = width;
  return pad(x, widths);
}

// --- The ops ---

constexpr OpDef kFlipLeftRight =
    composite<&image::flip_left_right, "image">("image_flip_left_right", "The image mirrored, left to right.");
constexpr OpDef kFlipUpDown = composite<&image::flip_up_down, "image">("image_flip_up_down", "The image upside down.");
constexpr OpDef kImageTranspose =
    composite<&image::transpose, "image">("image_transpose", "The image with rows and columns exchanged.");
constexpr OpDef kRot90 =
    composite<&image::rot90, "image, k", 1>("image_rot90", "The image after quarter turns, counter-clockwise.");
constexpr OpDef kCropOrPad = composite<&image::resize_with_crop_or_pad, "image, height, width">(
    "image_resize_with_crop_or_pad", "The image cropped or padded evenly to a size.");
constexpr OpDef kCentralCrop =
    composite<&image::central_crop, "image, central_fraction">("image_central_crop", "The middle part of the image.");
constexpr OpDef kCrop =
    composite<&image::crop_to_bounding_box, "image, offset_height, offset_width, target_height, target_width">(
        "image_crop_to_bounding_box", "The part of the image in a box.");
constexpr OpDef kBorder =
    composite<&image::pad_to_bounding_box, "image, offset_height, offset_width, target_height, target_width">(
        "image_pad_to_bounding_box", "The image in a larger one of zeros.");
constexpr OpDef kPatches =
    composite<&image::extract_patches, "images, sizes, strides, rates, padding", NoValue{}, NoValue{}, NoValue{}>(
        "image_extract_patches", "Patches of images, each as one pixel with the channels of all its pixels.");

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

CAPSTAN_OPS(image_layout, &kCropOrPad, &kCentralCrop, &kCrop, &kBorder, &kPatches, &kFlipLeftRight, &kFlipUpDown,
            &kImageTranspose, &kRot90);

}  // namespace capstan
