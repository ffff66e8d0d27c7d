// Images looked up at places between their pixels: crops of boxes, and affine maps.
//
// The four pixels around a place are gathered and weighed by its distances from them, in library ops: so there are
// gradients of every order for the images and, with bilinear interpolation, for what the places are computed from.
#include <algorithm>
#include <cmath>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/image.h"
#include "capstan/ops/math.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/op_test.h"
#include "src/ops/image.h"
#include "src/ops/indices.h"
#include "src/ops/reference.h"
#include "src/ops/rows.h"

namespace capstan {

namespace {

struct CropAttributes {
  PixelSize crop_size;
  Text method;
  double extrapolation_value = 0;
};
constexpr AttributeType kCropAttributes = attribute_type<CropAttributes>(
    {field<&CropAttributes::crop_size>("crop_size", true), field<&CropAttributes::method>("method"),
     field<&CropAttributes::extrapolation_value>("extrapolation_value")});

struct WarpAttributes {
  Text interpolation;
  Text fill_mode;
  double fill_value = 0;
};
constexpr AttributeType kWarpAttributes = attribute_type<WarpAttributes>(
    {field<&WarpAttributes::interpolation>("interpolation"), field<&WarpAttributes::fill_mode>("fill_mode"),
     field<&WarpAttributes::fill_value>("fill_value")});

std::string_view or_default(const Text& text, std::string_view fallback) {
  return text.text == nullptr ? fallback : text.view();
}

bool is_bilinear(std::string_view op, std::string_view what, std::string_view name) {
  CAPSTAN_CHECK(name == "bilinear" || name == "nearest", ValueError, op, ": ", what,
                " must be bilinear or nearest, not ", name);
  return name == "bilinear";
}

// Images as a table of pixels, to be looked up.
struct PixelTable {
  Tensor pixels;  // [batch * height * width, channels]
  std::int64_t height, width;

  explicit PixelTable(const Tensor& images)
      : pixels(reshape(images, {images.dim(0) * images.dim(1) * images.dim(2), images.dim(3)})),
        height(images.dim(1)),
        width(images.dim(2)) {}

  // The pixels at whole places [n] of the images `first` / (height * width), [n, channels]. Places outside get `fill`.
  Tensor at(const Tensor& first, const Tensor& y, const Tensor& x, double fill) const {
    const auto inside = [](const Tensor& place, std::int64_t length) {
      return logical_and(greater_equal(place, 0), less_equal(place, static_cast<double>(length - 1)));
    };
    const Tensor known = logical_and(inside(y, height), inside(x, width));
    const auto whole = [&](const Tensor& place) { return cast(where(known, place, zeros_like(place)), DType::kInt64); };
    const Tensor rows = take_rows(pixels, first + whole(y) * width + whole(x));
    return where(expand_dims(known, 1), rows, cast(constant(fill, DType::kFloat64), rows.dtype()));
  }
};

// The pixels around a place: those at or before it and those behind, whole numbers both.
struct Neighbours {
  Tensor before;
  Tensor behind;
};

// The images at places between pixels; each of the four around a place counts as `fill` if it lies outside.
Tensor interpolate(const PixelTable& table, const Tensor& first, const Tensor& y, const Neighbours& rows,
                   const Tensor& x, const Neighbours& columns, double fill) {
  const Tensor down = expand_dims(y - rows.before, 1);
  const Tensor right = expand_dims(x - columns.before, 1);
  const auto across = [&](const Tensor& row) {
    return table.at(first, row, columns.before, fill) * (1.0 - right) +
           table.at(first, row, columns.behind, fill) * right;
  };
  return across(rows.before) * (1.0 - down) + across(rows.behind) * down;
}

// The numbers 0 ... n - 1 in a floating dtype.
Tensor count_up(std::int64_t n, DType dtype) { return cast(range(static_cast<long>(n)), dtype); }

// --- crop_and_resize ---

// Where the rows (columns) of boxes lie along an axis, [boxes, n]; the box's ends are shares of length - 1.
Tensor places_along(const Tensor& low, const Tensor& high, std::int64_t n, std::int64_t length) {
  const auto pixels = static_cast<double>(length - 1);
  if (n == 1) return expand_dims((low + high) * (0.5 * pixels), 1);
  const Tensor step = (high - low) * (pixels / static_cast<double>(n - 1));
  return expand_dims(low * pixels, 1) + expand_dims(step, 1) * reshape(count_up(n, low.dtype()), {1, n});
}

// --- affine_transform ---

constexpr std::string_view kFillModes[] = {"constant", "nearest", "reflect", "wrap"};

// A place brought inside [0, length - 1], but for "constant".
Tensor folded(const Tensor& place, std::int64_t length, std::string_view mode) {
  const auto n = static_cast<double>(length);
  if (mode == "constant") return place;
  Tensor inside = place;
  if (mode == "reflect") {  // d c b a | a b c d | d c b a
    const Tensor turned = floormod(place + 0.5, 2 * n);
    inside = minimum(turned, 2 * n - turned) - 0.5;
  } else if (mode == "wrap") {
    inside = floormod(place, n);
  }
  return clip_by_value(inside, 0.0, n - 1);
}

Tensor warp(std::string_view op, const Tensor& images, const Tensor& transform, const image::WarpOptions& options) {
  const bool bilinear = is_bilinear(op, "interpolation", options.interpolation);
  CAPSTAN_CHECK(std::find(std::begin(kFillModes), std::end(kFillModes), options.fill_mode) != std::end(kFillModes),
                ValueError, op, ": fill_mode must be constant, nearest, reflect or wrap, not ", options.fill_mode);
  const bool single = images.rank() == 3;
  const Tensor batch = single ? expand_dims(images, 0) : images;
  const std::int64_t count = batch.dim(0);
  const std::int64_t height = batch.dim(1);
  const std::int64_t width = batch.dim(2);
  if (batch.size() == 0) return images;
  const DType dtype = transform.dtype();
  // Every number of the transform as [batch, 1, 1], or [1, 1, 1] if there is one for all.
  const Tensor numbers = reshape(transform, {transform.size() / 8, 1, 1, 8});
  const auto number = [&](std::int64_t i) { return numbers(ellipsis, i); };
  const Tensor x = reshape(count_up(width, dtype), {1, 1, width});
  const Tensor y = reshape(count_up(height, dtype), {1, height, 1});
  const Tensor scale = number(6) * x + number(7) * y + 1.0;
  const auto place = [&](std::int64_t i, std::int64_t length) {
    const Tensor at = folded((number(i) * x + number(i + 1) * y + number(i + 2)) / scale, length, options.fill_mode);
    return reshape(broadcast_to(at, {count, height, width}), {count * height * width});
  };
  const Tensor from_x = place(0, width);
  const Tensor from_y = place(3, height);
  const Tensor images_of = reshape(cast(range(static_cast<long>(count)), DType::kInt64) * (height * width), {count, 1});
  const Tensor first = reshape(broadcast_to(images_of, {count, height * width}), {count * height * width});
  const PixelTable table(batch);
  Tensor result;
  if (bilinear) {
    const Tensor rows = cast(from_y, images.dtype());
    const Tensor columns = cast(from_x, images.dtype());
    const auto around = [](const Tensor& place) {
      const Tensor before = stop_gradient(floor(place));
      return Neighbours{before, before + 1.0};
    };
    result = interpolate(table, first, rows, around(rows), columns, around(columns), options.fill_value);
  } else {
    result = table.at(first, round(stop_gradient(from_y)), round(stop_gradient(from_x)), options.fill_value);
  }
  return reshape_like(result, images);
}

void check_transform(std::string_view op, const Tensor& images, const Tensor& transform, std::int64_t numbers) {
  check_image(op, images);
  CAPSTAN_CHECK(is_floating(images.dtype()) && is_floating(transform.dtype()), DTypeError, op, ": dtype ",
                is_floating(images.dtype()) ? transform.dtype() : images.dtype(), " is not supported",
                arguments({{"images", images}, {"transform", transform}}));
  const Shape shape = transform.shape();
  const Shape own = numbers == 1 ? Shape{} : Shape{numbers};
  Shape each = own;
  if (images.rank() == 4) each = numbers == 1 ? Shape{images.dim(0)} : Shape{images.dim(0), numbers};
  CAPSTAN_CHECK(shape == own || shape == each, ShapeError, op, ": one of shape ", own, " or one for each image, ", each,
                ", not ", shape, arguments({{"images", images}, {"transform", transform}}));
}

// --- Samples and references ---

#if CAPSTAN_TESTING
using reference::ints;
using reference::Position;
using Inputs = std::vector<ReferenceTensor>;
using Outputs = std::vector<ReferenceTensor>;

// Image b at (y, x), channel c; pixels outside are `fill`.
double pixel_at(const ReferenceTensor& images, std::int64_t b, double y, double x, std::int64_t c, double fill) {
  if (y < 0 || x < 0 || y >= static_cast<double>(images.shape[-3]) || x >= static_cast<double>(images.shape[-2])) {
    return fill;
  }
  Position position = {b, static_cast<std::int64_t>(y), static_cast<std::int64_t>(x), c};
  if (images.shape.rank() == 3) position.erase(position.begin());
  return reference::at(images, position);
}
double bilinear_at(const ReferenceTensor& images, std::int64_t b, double y, double x, std::int64_t c, double fill) {
  const double top = std::floor(y);
  const double left = std::floor(x);
  double sum = 0;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      sum += pixel_at(images, b, top + i, left + j, c, fill) * (i == 0 ? 1 - (y - top) : y - top) *
             (j == 0 ? 1 - (x - left) : x - left);
    }
  }
  return sum;
}

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
const OpTest kCropTest = {
    .samples = crop_samples, .reference = crop_reference, .dtypes = {DType::kFloat32, DType::kFloat64}};

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
  } else if (mode == "wrap") {
    place -= n * std::floor(place / n);
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
      return pixel_at(images, b, std::nearbyint(y), std::nearbyint(x), at.back(), fill);
    }
    return bilinear_at(images, b, y, x, at.back(), fill);
  })};
}
void warp_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  warp_reference_at(in[0], in[1].values, attributes, out);
}
// Places in bfloat16 are too coarse to compare.
const OpTest kWarpTest = {
    .samples = warp_samples, .reference = warp_reference, .dtypes = {DType::kFloat32, DType::kFloat64}};

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
const OpTest kRotateTest = {
    .samples = rotate_samples, .reference = rotate_reference, .dtypes = {DType::kFloat32, DType::kFloat64}};
#endif

template <Tensor (*kFunction)(Operand, Operand, const image::WarpOptions&)>
void compose_warp(std::span<const Operand> inputs, const void* data, std::vector<Tensor>& outputs) {
  const auto& a = *static_cast<const WarpAttributes*>(data);
  outputs.push_back(kFunction(inputs[0], inputs[1],
                              {.interpolation = or_default(a.interpolation, "bilinear"),
                               .fill_mode = or_default(a.fill_mode, "constant"),
                               .fill_value = a.fill_value}));
}

}  // namespace

// --- The ops ---

constinit const OpDef kImageCropAndResize = {
    .name = "image_crop_and_resize",
    .text = "Boxes cut out of images, each resized.",
    .kind = OpKind::kComposite,
    .arity = 3,
    .input_names = "images, boxes, box_indices",
    .attributes = &kCropAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* data, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const CropAttributes*>(data);
          outputs.push_back(image::crop_and_resize(
              inputs[0], inputs[1], inputs[2], a.crop_size.array(),
              {.method = or_default(a.method, "bilinear"), .extrapolation_value = a.extrapolation_value}));
        },
    .test = CAPSTAN_OP_TEST(kCropTest),
};
constinit const OpDef kImageAffineTransform = {
    .name = "image_affine_transform",
    .text = "Images looked up at the places that a projective map leads to.",
    .kind = OpKind::kComposite,
    .arity = 2,
    .input_names = "images, transform",
    .attributes = &kWarpAttributes,
    .compose = compose_warp<image::affine_transform>,
    .test = CAPSTAN_OP_TEST(kWarpTest),
};
constinit const OpDef kImageRotate = {
    .name = "image_rotate",
    .text = "Images turned around their centre.",
    .kind = OpKind::kComposite,
    .arity = 2,
    .input_names = "images, angles",
    .attributes = &kWarpAttributes,
    .compose = compose_warp<image::rotate>,
    .test = CAPSTAN_OP_TEST(kRotateTest),
};

Tensor image::crop_and_resize(Operand images, Operand boxes, Operand box_indices, std::array<std::int64_t, 2> crop_size,
                              const CropAndResizeOptions& options) try {
  constexpr std::string_view op = "image_crop_and_resize";
  Tensor value = to_tensor(images);
  const Tensor corners = to_tensor(boxes);
  const Tensor which = to_tensor(box_indices);
  const bool bilinear = is_bilinear(op, "method", options.method);
  check_images(op, value);
  check_indices(op, which);
  check_real(op, value);
  CAPSTAN_CHECK(is_floating(corners.dtype()), DTypeError, op, ": dtype ", corners.dtype(), " of boxes is not supported",
                arguments({{"images", value}, {"boxes", corners}}));
  CAPSTAN_CHECK(corners.rank() == 2 && corners.dim(1) == 4 && which.shape() == Shape{corners.dim(0)}, ShapeError, op,
                ": boxes ", corners.shape(), " and box_indices ", which.shape(), " must be [boxes, 4] and [boxes]",
                arguments({{"images", value}, {"boxes", corners}, {"box_indices", which}}));
  CAPSTAN_CHECK(crop_size[0] > 0 && crop_size[1] > 0 && crop_size[0] < UINT32_MAX && crop_size[1] < UINT32_MAX,
                ValueError, op, ": the size is ", crop_size[0], " x ", crop_size[1], ", not at least 1 x 1");
  CAPSTAN_CHECK(value.dim(1) > 0 && value.dim(2) > 0, ShapeError, op, ": the images have no pixels",
                arguments({{"images", value}}));
  with_indices(which, [&](const auto* data) {
    for (std::int64_t i = 0; i < which.size(); ++i) {
      CAPSTAN_CHECK(data[i] >= 0 && data[i] < value.dim(0), IndexError, op, ": box ", i, " is of image ", data[i],
                    ", there are ", value.dim(0));
    }
  });
  if (!is_floating(value.dtype())) value = cast(value, DType::kFloat32);
  const std::int64_t count = corners.dim(0);
  const Shape shape{count, crop_size[0], crop_size[1], value.dim(3)};
  if (shape.size() == 0) return zeros(shape, value.dtype());
  const Shape grid{count, crop_size[0], crop_size[1]};
  const auto side = [&](std::int64_t i) { return corners(ellipsis, i); };
  const Tensor y = expand_dims(places_along(side(0), side(2), crop_size[0], value.dim(1)), 2);
  const Tensor x = expand_dims(places_along(side(1), side(3), crop_size[1], value.dim(2)), 1);
  const auto flat = [&](const Tensor& places) { return reshape(broadcast_to(places, grid), {grid.size()}); };
  const Tensor rows = flat(y);
  const Tensor columns = flat(x);
  const auto inside = [](const Tensor& place, std::int64_t length) {
    return logical_and(greater_equal(place, 0), less_equal(place, static_cast<double>(length - 1)));
  };
  const Tensor known = logical_and(inside(rows, value.dim(1)), inside(columns, value.dim(2)));
  const Tensor offsets = cast(which, DType::kInt64) * (value.dim(1) * value.dim(2));
  const Tensor first = flat(reshape(offsets, {count, 1, 1}));
  const PixelTable table(value);
  Tensor found;
  if (bilinear) {
    const Tensor down = cast(rows, value.dtype());
    const Tensor right = cast(columns, value.dtype());
    // On a pixel both neighbours are that pixel: the gradient for a box that ends there is zero.
    const auto around = [](const Tensor& place) {
      return Neighbours{stop_gradient(floor(place)), stop_gradient(ceil(place))};
    };
    found = interpolate(table, first, down, around(down), right, around(right), 0);
  } else {
    found = table.at(first, round(stop_gradient(rows)), round(stop_gradient(columns)), 0);
  }
  const Tensor outside = cast(constant(options.extrapolation_value, DType::kFloat64), value.dtype());
  return reshape(where(expand_dims(known, 1), found, outside), shape);
} catch (const Error&) {
  rethrow_as("image::crop_and_resize");
}

Tensor image::affine_transform(Operand images, Operand transform, const WarpOptions& options) try {
  const Tensor value = to_tensor(images);
  const Tensor numbers = to_tensor(transform);
  check_transform("image_affine_transform", value, numbers, 8);
  return warp("image_affine_transform", value, numbers, options);
} catch (const Error&) {
  rethrow_as("image::affine_transform");
}

Tensor image::rotate(Operand images, Operand angles, const WarpOptions& options) try {
  const Tensor value = to_tensor(images);
  const Tensor angle = angles.is_literal() ? to_tensor(angles, value.dtype()) : to_tensor(angles);
  check_transform("image_rotate", value, angle, 1);
  const double middle_x = static_cast<double>(value.dim(-2) - 1) / 2;
  const double middle_y = static_cast<double>(value.dim(-3) - 1) / 2;
  const Tensor c = cos(angle);
  const Tensor s = sin(angle);
  const Tensor zero = zeros_like(angle);
  const Tensor shift_x = middle_x - (c * middle_x - s * middle_y);
  const Tensor shift_y = middle_y - (s * middle_x + c * middle_y);
  return warp("image_rotate", value, stack({c, -s, shift_x, s, c, shift_y, zero, zero}, -1), options);
} catch (const Error&) {
  rethrow_as("image::rotate");
}

}  // namespace capstan
