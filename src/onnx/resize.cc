// Resize, and the older Upsample.
//
// An axis of the result is a product of that axis with a matrix, whose rows say how much each pixel counts, since all
// methods are separable. Where the rule is that of the library's own resize, which has no matrices, that is called.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "capstan/ops/array.h"
#include "capstan/ops/image.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"

#include "src/core/check.h"
#include "src/onnx/import.h"

namespace capstan::onnx {
namespace {

// A matrix has at most so many elements.
constexpr std::int64_t kMostElements = std::int64_t{1} << 26;

// How pixels count.
struct Rule {
  std::string mode, places, nearest;
  double cubic = -0.75;
  bool drops_outside = false, antialias = false;
};

// One axis: its lengths, how they relate, and the part of the image that is taken.
struct Side {
  int axis = 0;
  std::int64_t from = 0, to = 0;
  double scale = 1;
  double begin = 0, end = 1;

  bool is_whole() const { return begin == 0 && end == 1; }
};

// Where the centre of pixel i of the result lies in the image, as a place among its pixels.
double place_of(const Rule& rule, const Side& side, std::int64_t i) {
  const auto x = static_cast<double>(i), from = static_cast<double>(side.from), to = static_cast<double>(side.to);
  const double length = side.scale * from;  // which `to` is without its fraction
  const double centre = (x + 0.5) / side.scale - 0.5;
  if (rule.places == "half_pixel") return centre;
  if (rule.places == "asymmetric") return x / side.scale;
  if (rule.places == "align_corners") return length == 1 ? 0 : x * (from - 1) / (length - 1);
  if (rule.places == "pytorch_half_pixel") return length == 1 ? -0.5 : centre;
  if (rule.places == "half_pixel_symmetric") return from / 2 * (1 - to / length) + centre;
  if (rule.places == "tf_crop_and_resize") {
    const double part = (side.end - side.begin) * (from - 1);
    return side.begin * (from - 1) + (length == 1 ? part / 2 : x * part / (length - 1));
  }
  not_supported("coordinate_transformation_mode " + rule.places);
}

std::int64_t nearest_to(const Rule& rule, double place) {
  if (rule.nearest == "round_prefer_floor") return static_cast<std::int64_t>(std::ceil(place - 0.5));
  if (rule.nearest == "round_prefer_ceil") return static_cast<std::int64_t>(std::floor(place + 0.5));
  if (rule.nearest == "floor") return static_cast<std::int64_t>(std::floor(place));
  if (rule.nearest == "ceil") return static_cast<std::int64_t>(std::ceil(place));
  not_supported("nearest_mode " + rule.nearest);
}

// How much a pixel counts that is so far away.
double weight_at(const Rule& rule, double distance) {
  const double d = std::abs(distance), a = rule.cubic;
  if (rule.mode == "linear") return std::max(0.0, 1 - d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((d - 5) * d + 8) * d * a - 4 * a : 0;
}

// The part of each pixel in each of the result, [to, from].
Tensor matrix_of(const Rule& rule, const Side& side, DType dtype) {
  CAPSTAN_CHECK(side.to == 0 || side.from <= kMostElements / side.to, ValueError, "onnx: an axis of ", side.from,
                " pixels is too long to be resized to ", side.to);
  std::vector<double> matrix(static_cast<std::size_t>(side.to * side.from));
  const double narrow = rule.antialias ? std::min(side.scale, 1.0) : 1;
  const double radius = (rule.mode == "linear" ? 1 : 2) / narrow;
  for (std::int64_t i = 0; i < side.to; ++i) {
    double* const row = matrix.data() + i * side.from;
    const double place = place_of(rule, side, i);
    double sum = 0;
    const auto first = static_cast<std::int64_t>(std::floor(place - radius)) + 1;
    const auto last = static_cast<std::int64_t>(std::ceil(place + radius)) - 1;
    for (std::int64_t k = first; k <= last; ++k) {
      const bool is_inside = k >= 0 && k < side.from;
      if (!is_inside && rule.drops_outside) continue;
      const double weight = weight_at(rule, (static_cast<double>(k) - place) * narrow);
      row[std::clamp<std::int64_t>(k, 0, side.from - 1)] += weight;
      sum += weight;
    }
    if (!rule.antialias && !rule.drops_outside) continue;
    for (std::int64_t k = 0; k < side.from; ++k) row[k] /= sum;
  }
  return cast(constant(matrix, {side.to, side.from}), dtype);
}

// Along an axis: x [..., from, ...] to [..., to, ...].
Tensor resized(const Tensor& x, const Rule& rule, const Side& side) {
  if (rule.mode == "nearest") {
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < side.to; ++i) {
      places.push_back(std::clamp<std::int64_t>(nearest_to(rule, place_of(rule, side, i)), 0, side.from - 1));
    }
    return gather(x, constant(places, {side.to}), side.axis);
  }
  std::vector<int> order;
  for (int i = 0; i < x.rank(); ++i) order.push_back(i);
  std::swap(order[static_cast<std::size_t>(side.axis)], order.back());
  const Tensor turned = transpose(x, order);
  return transpose(matmul(turned, matrix_of(rule, side, x.dtype()), {.transpose_b = true}), order);
}

// What lies outside of the image gets a number of its own.
Tensor with_outside(const Tensor& x, const Rule& rule, const Side& side, double outside) {
  std::vector<std::uint8_t> is_outside;
  for (std::int64_t i = 0; i < side.to; ++i) {
    const double place = place_of(rule, side, i);
    is_outside.push_back(place < 0 || place > static_cast<double>(side.from - 1) ? 1 : 0);
  }
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) shape.push_back(i == side.axis ? side.to : 1);
  return where(cast(constant(is_outside, shape), bool_), cast(constant(outside), x.dtype()), x);
}

// The library's name of a rule that is its own, for images whose height and width alone are resized.
std::optional<std::string> own_method(const Rule& rule, const std::vector<Side>& sides) {
  if (rule.places != "half_pixel" || rule.antialias) return std::nullopt;
  for (const Side& side : sides) {
    const bool is_plain = side.scale == static_cast<double>(side.to) / static_cast<double>(side.from);
    if (side.axis < 2 || !is_plain || side.to == 0) return std::nullopt;
  }
  if (rule.mode == "nearest" && rule.nearest == "round_prefer_ceil") return "nearest";
  if (rule.mode == "linear" && !rule.drops_outside) return "bilinear";
  if (rule.mode == "cubic" && rule.cubic == -0.5 && rule.drops_outside) return "bicubic";
  return std::nullopt;
}

void resize(NodeCall& call, const Rule& rule, const std::vector<Side>& all, double outside) {
  std::vector<Side> sides;
  for (const Side& side : all) {
    if (side.from != side.to || side.scale != 1 || !side.is_whole()) sides.push_back(side);
    CAPSTAN_CHECK(side.from > 0 || side.to == 0, ShapeError, "onnx: an image without pixels along axis ", side.axis,
                  " cannot be resized");
  }
  for (const Side& side : sides) {
    CAPSTAN_CHECK(side.to <= kMostElements, ShapeError, "onnx: an axis of ", side.to, " pixels is too long");
  }
  const int rank = call.value(0).tensor.rank();
  if (const auto method = own_method(rule, sides);
      method && rank == 4 && is_floating(call.value(0).tensor.dtype()) && !sides.empty()) {
    const Tensor x = call.channels_last(0);
    std::array<std::int64_t, 2> size = {x.dim(1), x.dim(2)};
    for (const Side& side : sides) size[static_cast<std::size_t>(side.axis - 2)] = side.to;
    return call.give(image::resize(x, size, {.method = *method}), true);
  }
  Tensor x = call.tensor(0);
  const DType dtype = x.dtype();
  const bool is_whole_number = !is_floating(dtype) && rule.mode != "nearest";
  if (is_whole_number) x = cast(x, float64);
  for (const Side& side : sides) {
    x = resized(x, rule, side);
    if (rule.places == "tf_crop_and_resize") x = with_outside(x, rule, side, outside);
  }
  if (is_whole_number) x = cast(x, dtype);
  call.give(x);
}

std::int64_t length_for(double length) {
  CAPSTAN_CHECK(length >= 0 && length < 4294967296.0, ShapeError, "onnx: an axis cannot be resized to ", length);
  return static_cast<std::int64_t>(length);
}

std::vector<Side> sides_of_axes(const NodeCall& call, const Shape& shape) {
  std::vector<std::int64_t> axes = call.integers("axes");
  if (!call.has_attribute("axes")) {
    for (int i = 0; i < shape.rank(); ++i) axes.push_back(i);
  }
  std::vector<Side> sides;
  for (const std::int64_t given : axes) {
    const int axis = call.axis(given, shape.rank());
    for (const Side& other : sides)
      CAPSTAN_CHECK(other.axis != axis, ValueError, "onnx: axis ", axis, " is resized twice");
    sides.push_back({.axis = axis, .from = shape[axis], .to = shape[axis]});
  }
  return sides;
}

void set_scales(std::vector<Side>& sides, const std::vector<double>& scales) {
  CAPSTAN_CHECK(scales.size() == sides.size(), ShapeError, "onnx: there are ", scales.size(), " scales for ",
                sides.size(), " axes");
  for (std::size_t i = 0; i < sides.size(); ++i) {
    CAPSTAN_CHECK(scales[i] > 0, ValueError, "onnx: a scale of ", scales[i], " makes no image");
    sides[i].scale = scales[i];
    sides[i].to = length_for(std::floor(scales[i] * static_cast<double>(sides[i].from)));
  }
}

void set_sizes(const NodeCall& call, std::vector<Side>& sides, const std::vector<std::int64_t>& sizes) {
  CAPSTAN_CHECK(sizes.size() == sides.size(), ShapeError, "onnx: there are ", sizes.size(), " sizes for ", sides.size(),
                " axes");
  const std::string policy = call.text("keep_aspect_ratio_policy", "stretch");
  std::optional<double> common;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    sides[i].to = length_for(static_cast<double>(sizes[i]));
    CAPSTAN_CHECK(sides[i].from > 0, ShapeError, "onnx: an image without pixels cannot be resized");
    sides[i].scale = static_cast<double>(sides[i].to) / static_cast<double>(sides[i].from);
    if (!common) common = sides[i].scale;
    common = policy == "not_larger" ? std::min(*common, sides[i].scale) : std::max(*common, sides[i].scale);
  }
  if (policy == "stretch") return;
  if (policy != "not_larger" && policy != "not_smaller") not_supported("keep_aspect_ratio_policy " + policy);
  for (Side& side : sides) {
    side.scale = *common;
    side.to = length_for(std::floor(*common * static_cast<double>(side.from) + 0.5));
  }
}

void run_resize(NodeCall& call) {
  const bool is_old = call.opset() < 11;
  Rule rule{.mode = call.text("mode", "nearest"),
            .places = is_old ? "asymmetric" : call.text("coordinate_transformation_mode", "half_pixel"),
            .nearest = is_old ? "floor" : call.text("nearest_mode", "round_prefer_floor"),
            .cubic = call.number("cubic_coeff_a", -0.75),
            .drops_outside = call.integer("exclude_outside", 0) != 0,
            .antialias = call.integer("antialias", 0) != 0};
  if (rule.mode == "bilinear") rule.mode = "linear";
  if (rule.mode != "nearest" && rule.mode != "linear" && rule.mode != "cubic") not_supported("mode " + rule.mode);
  const Shape shape = onnx_layout(call.value(0)).shape();
  std::vector<Side> sides = sides_of_axes(call, shape);
  if (rule.places == "tf_crop_and_resize") {
    const std::vector<double> part = call.numbers_of(1);
    CAPSTAN_CHECK(part.size() == 2 * sides.size(), ShapeError, "onnx: roi has ", part.size(), " numbers for ",
                  sides.size(), " axes");
    for (std::size_t i = 0; i < sides.size(); ++i) {
      sides[i].begin = part[i];
      sides[i].end = part[sides.size() + i];
    }
  }
  const std::size_t scales = is_old ? 1 : 2;
  if (call.has(scales) && call.value(scales).tensor.size() > 0) {
    set_scales(sides, call.numbers_of(scales));
  } else {
    set_sizes(call, sides, call.integers_of(3));
  }
  resize(call, rule, sides, call.number("extrapolation_value", 0));
}

void upsample(NodeCall& call) {
  Rule rule{.mode = call.text("mode", "nearest"), .places = "asymmetric", .nearest = "floor"};
  if (rule.mode == "bilinear") rule.mode = "linear";
  if (rule.mode != "nearest" && rule.mode != "linear") not_supported("mode " + rule.mode);
  std::vector<Side> sides = sides_of_axes(call, onnx_layout(call.value(0)).shape());
  set_scales(sides, call.opset() < 9 ? call.numbers("scales") : call.numbers_of(1));
  resize(call, rule, sides, 0);
}

constexpr Operator kResizeOperators[] = {
    {"Resize", run_resize},
    {"Upsample", upsample},
};

}  // namespace

std::span<const Operator> resize_operators() { return kResizeOperators; }

}  // namespace capstan::onnx
