// Images looked up at the places that a projective map leads to.
//
// For the images the op is linear but for what lies outside, and its transpose is an op of the same kind, whose
// gradient is the op again. For the map there is a formula in library ops: with bilinear interpolation the result
// changes with the place as the pixels around it differ. So there are gradients of every order for both.
#include <algorithm>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/image.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/kernels/image/warp.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/image/image.h"
#include "src/ops/image/pixel_table.h"
#include "src/ops/wide.h"

namespace capstan {

namespace {

struct WarpAttributes {
  Text interpolation;
  Text fill_mode;
  double fill_value = 0;
};

struct AdjointAttributes {
  Text interpolation;
  Text fill_mode;
};

constexpr std::string_view kFillModes[] = {"constant", "nearest", "reflect", "wrap"};

template <class Attributes>
bool interpolates(std::string_view op, const Attributes& a) {
  return is_bilinear(op, "interpolation", or_default(a.interpolation, "bilinear"));
}

WarpFill fill_of(std::string_view op, std::string_view name) {
  const auto* found = std::find(std::begin(kFillModes), std::end(kFillModes), name);
  CAPSTAN_CHECK(found != std::end(kFillModes), ValueError, op,
                ": fill_mode must be constant, nearest, reflect or wrap, not ", name);
  return static_cast<WarpFill>(found - std::begin(kFillModes));
}
template <class Attributes>
WarpFill fill_of(std::string_view op, const Attributes& a) {
  return fill_of(op, or_default(a.fill_mode, "constant"));
}
// Before names are kept for good.
void check_names(std::string_view op, std::string_view interpolation, std::string_view fill_mode) {
  is_bilinear(op, "interpolation", interpolation);
  fill_of(op, fill_mode);
}

void check_transform(std::string_view op, const TensorRef& images, const TensorRef& transform, std::int64_t numbers) {
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

template <class Attributes>
void infer_warp(const Call& call, OutputSpecs& outputs) {
  const auto& a = call.attributes<Attributes>();
  check_transform(call.op.name, call.input(0), call.input(1), 8);
  interpolates(call.op.name, a);
  fill_of(call.op.name, a);
  outputs.add(call.input(0).dtype(), call.input(0).shape());
}

template <class Attributes>
WarpSize size_of(const Call& call) {
  const auto& a = call.attributes<Attributes>();
  const Shape shape = call.input(0).shape();
  return {.count = shape.rank() == 4 ? shape[0] : 1,
          .height = shape[-3],
          .width = shape[-2],
          .channels = shape[-1],
          .is_one_map = call.input(1).rank() == 1,
          .is_bilinear = interpolates(call.op.name, a),
          .fill = fill_of(call.op.name, a)};
}

// The numbers of the maps in float64.
std::vector<double> numbers_of(const TensorRef& transform) {
  std::vector<double> numbers;
  with_wide_type(transform.dtype(), [&]<class T>(T) {
    const WideInput<T> in(transform);
    const T* data = in;
    numbers.assign(data, data + transform.size());
  });
  return numbers;
}

void run_warp(const Call& call, std::span<Tensor> outputs) {
  if (outputs[0].size() == 0) return;
  const WarpSize size = size_of<WarpAttributes>(call);
  const std::vector<double> maps = numbers_of(call.input(1));
  with_wide_type(outputs[0].dtype(), [&]<class T>(T) {
    const WideInput<T> in(call.input(0));
    const WideOutput<T> out(outputs[0]);
    const T* const from = in;
    T* const to = out;
    warp_images(size, maps.data(), call.attributes<WarpAttributes>().fill_value, from, to);
  });
}

void run_warp_adjoint(const Call& call, std::span<Tensor> outputs) {
  if (outputs[0].size() == 0) return;
  const WarpSize size = size_of<AdjointAttributes>(call);
  const std::vector<double> maps = numbers_of(call.input(1));
  with_wide_type(outputs[0].dtype(), [&]<class T>(T) {
    const WideInput<T> in(call.input(0));
    const WideOutput<T> out(outputs[0]);
    const T* const from = in;
    T* const to = out;
    warp_images_adjoint(size, maps.data(), from, to);
  });
}

// --- The gradient for the map ---

// A place brought inside [0, length - 1], but for kConstant, and how it changes with the place.
struct FoldedPlace {
  Tensor place;
  Tensor slope;
};
FoldedPlace fold(const Tensor& place, std::int64_t length, WarpFill fill) {
  const auto n = static_cast<double>(length);
  if (fill == WarpFill::kConstant) return {place, ones_like(place)};
  Tensor inside = place;
  Tensor slope = ones_like(place);
  if (fill == WarpFill::kReflect) {
    const Tensor turned = floormod(place + 0.5, 2 * n);
    inside = minimum(turned, 2 * n - turned) - 0.5;
    slope = where(less(turned, n), slope, -slope);
  } else if (fill == WarpFill::kWrap && length > 1) {
    const Tensor before = stop_gradient(floor(-place / (n - 1)) + 1.0);
    const Tensor behind = stop_gradient(floor(place / (n - 1)));
    inside = where(less(place, 0.0), place + n * before, where(greater(place, n - 1), place - n * behind, place));
  }
  const Tensor is_free = logical_and(greater_equal(inside, 0.0), less_equal(inside, n - 1));
  return {clip_by_value(inside, 0.0, n - 1), where(is_free, slope, zeros_like(slope))};
}

// The gradient of sum(g * warp(images, transform)) for the transform, with bilinear interpolation.
Tensor transform_gradient(const Tensor& images, const Tensor& g, const Tensor& transform, WarpFill fill,
                          double fill_value) {
  if (images.size() == 0) return zeros_like(transform);
  const bool is_single = images.rank() == 3;
  const PixelTable table(is_single ? expand_dims(images, 0) : images);
  const std::int64_t count = is_single ? 1 : images.dim(0), height = table.height, width = table.width;
  const std::int64_t area = height * width;
  const DType dtype = transform.dtype();
  // Every number of the transform as [batch, 1, 1], or [1, 1, 1] if there is one for all.
  const Tensor numbers = reshape(transform, {transform.size() / 8, 1, 1, 8});
  const auto number = [&](std::int64_t i) { return numbers(ellipsis, i); };
  const Tensor x = reshape(count_up(width, dtype), {1, 1, width});
  const Tensor y = reshape(count_up(height, dtype), {1, height, 1});
  const Tensor scale = number(6) * x + number(7) * y + 1.0;
  const auto source = [&](std::int64_t i) {
    return broadcast_to((number(i) * x + number(i + 1) * y + number(i + 2)) / scale, {count, height, width});
  };
  const Tensor source_x = source(0), source_y = source(3);
  const FoldedPlace from_x = fold(source_x, width, fill), from_y = fold(source_y, height, fill);

  // How the images change with the place, [count * area, channels].
  const Tensor columns = cast(reshape(from_x.place, {count * area}), images.dtype());
  const Tensor rows = cast(reshape(from_y.place, {count * area}), images.dtype());
  const Tensor left = stop_gradient(floor(columns)), top = stop_gradient(floor(rows));
  const Tensor right = expand_dims(columns - left, 1), down = expand_dims(rows - top, 1);
  const Tensor first = reshape(
      broadcast_to(reshape(cast(range(static_cast<long>(count)), DType::kInt64) * area, {count, 1}), {count, area}),
      {count * area});
  const auto pixels = [&](const Tensor& row, const Tensor& column) { return table.at(first, row, column, fill_value); };
  const Tensor a = pixels(top, left), b = pixels(top, left + 1.0), c = pixels(top + 1.0, left),
               d = pixels(top + 1.0, left + 1.0);
  const Tensor by_x = (b - a) * (1.0 - down) + (d - c) * down;
  const Tensor by_y = (c - a) * (1.0 - right) + (d - b) * right;

  const Tensor flat = reshape(g, {count * area, images.dim(-1)});
  const auto flow = [&](const Tensor& by, const FoldedPlace& from) {
    return reshape(cast(reduce_sum(flat * by, 1), dtype), {count, height, width}) * from.slope / scale;
  };
  const Tensor to_x = flow(by_x, from_x), to_y = flow(by_y, from_y);
  const Tensor to_scale = -(to_x * source_x + to_y * source_y);
  const auto sum = [](const Tensor& z) { return reduce_sum(z, {1, 2}); };
  const Tensor all = stack({sum(to_x * x), sum(to_x * y), sum(to_x), sum(to_y * x), sum(to_y * y), sum(to_y),
                            sum(to_scale * x), sum(to_scale * y)},
                           1);
  return transform.rank() == 1 ? reduce_sum(all, 0) : all;
}

// --- Rules ---

void warp_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& a = call.attributes<WarpAttributes>();
  const Tensor &images = call.input(0), &transform = call.input(1), &g = call.cotangent();
  if (call.needs(0)) {
    const AdjointAttributes adjoint{a.interpolation, a.fill_mode};
    cotangents[0] = apply(kImageAffineTransformAdjoint, g, transform, &adjoint);
  }
  constexpr std::string_view op = "image_affine_transform";
  if (call.needs(1) && interpolates(op, a)) {
    cotangents[1] = transform_gradient(images, g, transform, fill_of(op, a), a.fill_value);
  }
}

// What the adjoint gives is contracted with its cotangent as g is with the warped cotangent.
void warp_adjoint_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& a = call.attributes<AdjointAttributes>();
  const Tensor &g = call.input(0), &transform = call.input(1), &images = call.cotangent();
  if (call.needs(0)) {
    const WarpAttributes warp{a.interpolation, a.fill_mode, 0};
    cotangents[0] = apply(kImageAffineTransform, images, transform, &warp);
  }
  constexpr std::string_view op = "image_affine_transform_adjoint";
  if (call.needs(1) && interpolates(op, a)) {
    cotangents[1] = transform_gradient(images, g, transform, fill_of(op, a), 0);
  }
}

// The images of all items are a batch.
bool batch_warp(const BatchCall& call, std::vector<Tensor>& outputs) {
  const bool is_batch = call.item_rank(0) == 4;
  if (!has_room(call)) return false;
  const Tensor images = with_items(call, 0);
  if (!is_batch) {
    return call_again(call, {images, call.input(1)}, call.attribute_data, outputs);
  }
  Tensor transform = call.input(1);
  if (call.item_rank(1) == 2) {
    transform = merge_items(with_items(call, 1));
  } else if (call.is_batched(1)) {
    transform = merge_items(broadcast_to(expand_dims(transform, 1), {call.size, images.dim(1), 8}));
  }
  call_again(call, {merge_items(images), transform}, call.attribute_data, outputs);
  outputs[0] = reshape(outputs[0], images.shape());
  return true;
}

}  // namespace

// --- The ops ---

constinit const OpDef kImageAffineTransform = {
    .name = "image_affine_transform",
    .text = "Images looked up at the places that a projective map leads to.",
    .flags = kTakesAnyDTypes,
    .inputs = "images, transform",
    .attributes = &attribute_table<WarpAttributes, "interpolation, fill_mode, fill_value">,
    .infer = infer_warp<WarpAttributes>,
    .kernel = run_warp,
    .saves = {.inputs = 0b11},
    .vjp = warp_vjp,
    .batch = batch_warp,
};
constinit const OpDef kImageAffineTransformAdjoint = {
    .name = "image_affine_transform_adjoint",
    .text = "The gradient of an affine transform for its images.",
    .flags = kTakesAnyDTypes,
    .inputs = "g, transform",
    .attributes = &attribute_table<AdjointAttributes, "interpolation, fill_mode">,
    .infer = infer_warp<AdjointAttributes>,
    .kernel = run_warp_adjoint,
    .saves = {.inputs = 0b11},
    .vjp = warp_adjoint_vjp,
    .batch = batch_warp,
};
constinit const OpDef kImageRotate = composite<&image::rotate, "images, angles, interpolation, fill_mode, fill_value">(
    "image_rotate", "Images turned around their centre.");

Tensor image::affine_transform(Operand images, Operand transform, const WarpOptions& options) try {
  check_names("image_affine_transform", options.interpolation, options.fill_mode);
  const WarpAttributes attributes{intern(options.interpolation), intern(options.fill_mode), options.fill_value};
  return apply(kImageAffineTransform, images, transform, &attributes);
} catch (const Error&) {
  rethrow_as("image::affine_transform");
}

Tensor image::affine_transform_adjoint(Operand g, Operand transform, std::string_view interpolation,
                                       std::string_view fill_mode) try {
  check_names("image_affine_transform_adjoint", interpolation, fill_mode);
  const AdjointAttributes attributes{intern(interpolation), intern(fill_mode)};
  return apply(kImageAffineTransformAdjoint, g, transform, &attributes);
} catch (const Error&) {
  rethrow_as("image::affine_transform_adjoint");
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
  return affine_transform(value, stack({c, -s, shift_x, s, c, shift_y, zero, zero}, -1), options);
} catch (const Error&) {
  rethrow_as("image::rotate");
}

CAPSTAN_OPS(image_warp, &kImageAffineTransform, &kImageAffineTransformAdjoint, &kImageRotate);

}  // namespace capstan
