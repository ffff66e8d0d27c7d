// Resizing images.
//
// A resize is linear and works along each axis by itself: two sparse matrices. Its gradient is their transpose, which
// is an op of the same kind, whose gradient is the resize again.
#include <algorithm>
#include <cmath>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/image.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/op_test.h"
#include "src/kernels/resample.h"
#include "src/ops/batching.h"
#include "src/ops/image.h"
#include "src/ops/indices.h"
#include "src/ops/reference.h"
#include "src/ops/wide.h"

namespace capstan {

namespace {

struct ResizeAttributes {
  PixelSize size;
  Text method;
  bool preserve_aspect_ratio = false;
  bool antialias = false;
};
constexpr AttributeType kResizeAttributes = attribute_type<ResizeAttributes>(
    {field<&ResizeAttributes::size>("size", true), field<&ResizeAttributes::method>("method"),
     field<&ResizeAttributes::preserve_aspect_ratio>("preserve_aspect_ratio"),
     field<&ResizeAttributes::antialias>("antialias")});
struct AdjointAttributes {
  Text method;
  bool antialias = false;
};
constexpr AttributeType kAdjointAttributes = attribute_type<AdjointAttributes>(
    {field<&AdjointAttributes::method>("method"), field<&AdjointAttributes::antialias>("antialias")});

constexpr std::string_view kMethods[] = {"nearest",  "bilinear", "bicubic",  "area",
                                         "lanczos3", "lanczos5", "gaussian", "mitchellcubic"};

ResampleMethod method_of(std::string_view op, std::string_view name) {
  for (std::size_t i = 0; i < std::size(kMethods); ++i) {
    if (kMethods[i] == name) return static_cast<ResampleMethod>(i);
  }
  throw ValueError(detail::join(op,
                                ": method must be nearest, bilinear, bicubic, area, lanczos3, lanczos5, gaussian or "
                                "mitchellcubic, not ",
                                name));
}
std::string_view name_of_method(const Text& method) { return method.text == nullptr ? "bilinear" : method.view(); }

// Height and width of images, and what lies around them.
struct ImageView {
  explicit ImageView(const Shape& shape)
      : outer(product(shape, 0, shape.rank() - 3)), height(shape[-3]), width(shape[-2]), channels(shape[-1]) {}
  std::int64_t outer, height, width, channels;
};

struct Matrices {
  SparseMatrix rows;
  SparseMatrix columns;
};
// What makes an image of one size from one of another. Nothing is blurred if both sizes are kept.
Matrices matrices_of(const ImageView& from, const ImageView& to, ResampleMethod method, bool antialias) {
  const bool same = from.height == to.height && from.width == to.width;
  if (same) method = ResampleMethod::kNearest;
  return {resample_matrix(method, antialias, from.height, to.height),
          resample_matrix(method, antialias, from.width, to.width)};
}

// Along rows first, then along columns.
void run_matrices(const Matrices& matrices, const ImageView& from, const ImageView& to, const TensorRef& x,
                  const Tensor& out) {
  with_wide_type(x.dtype(), [&]<class T>(T) {
    const WideInput<T> in(x);
    const WideOutput<T> result(out);
    std::vector<T> between(static_cast<std::size_t>(from.outer * to.height * from.width * from.channels));
    resample_axis(matrices.rows, from.outer, from.height, from.width * from.channels, in, between.data());
    resample_axis(matrices.columns, from.outer * to.height, from.width, from.channels, between.data(), result);
  });
}

void infer_resize(const Call& call, OutputSpecs& outputs) {
  const TensorRef& images = call.input(0);
  const auto& attributes = call.attributes<ResizeAttributes>();
  method_of("image_resize", name_of_method(attributes.method));
  CAPSTAN_CHECK(is_floating(images.dtype()), DTypeError, "image_resize: dtype ", images.dtype(), " is not supported",
                arguments({{"images", images}}));
  CAPSTAN_CHECK(images.dim(-3) > 0 && images.dim(-2) > 0, ShapeError, "image_resize: the image has no pixels",
                arguments({{"images", images}}));
  Shape shape = images.shape();
  shape.set(-3, attributes.size.height);
  shape.set(-2, attributes.size.width);
  outputs.add(images.dtype(), shape);
}

void resize_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& images = call.input(0);
  const auto& attributes = call.attributes<ResizeAttributes>();
  if (outputs[0].size() == 0) return;
  const ImageView from(images.shape());
  const ImageView to(outputs[0].shape());
  const ResampleMethod method = method_of("image_resize", name_of_method(attributes.method));
  run_matrices(matrices_of(from, to, method, attributes.antialias), from, to, images, outputs[0]);
}

void resize_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (!call.needs(0)) return;
  const auto& attributes = call.attributes<ResizeAttributes>();
  cotangents[0] =
      image::resize_adjoint(call.cotangent(), call.input(0), name_of_method(attributes.method), attributes.antialias);
}

void infer_resize_adjoint(const Call& call, OutputSpecs& outputs) {
  const TensorRef& g = call.input(0);
  const TensorRef& like = call.input(1);
  CAPSTAN_CHECK(g.rank() >= 3, ShapeError,
                "image_resize_adjoint: g must be [..., height, width, channels], not of rank ", g.rank(),
                arguments({{"g", g}, {"like", like}}));
  method_of("image_resize_adjoint", name_of_method(call.attributes<AdjointAttributes>().method));
  CAPSTAN_CHECK(is_floating(g.dtype()), DTypeError, "image_resize_adjoint: dtype ", g.dtype(), " is not supported",
                arguments({{"g", g}, {"like", like}}));
  Shape shape = g.shape();
  bool fits = like.rank() == g.rank();
  for (int axis : {-3, -2}) {
    if (!fits) break;
    fits = g.dim(axis) > 0 && like.dim(axis) > 0;
    shape.set(axis, like.dim(axis));
  }
  CAPSTAN_CHECK(fits && shape == like.shape(), ShapeError, "image_resize_adjoint: shapes differ beside the size, ",
                g.shape(), " and ", like.shape(), arguments({{"g", g}, {"like", like}}));
  outputs.add(g.dtype(), shape);
}

void resize_adjoint_kernel(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& g = call.input(0);
  const auto& attributes = call.attributes<AdjointAttributes>();
  if (outputs[0].size() == 0) return;
  const ImageView from(outputs[0].shape());
  const ImageView to(g.shape());
  const ResampleMethod method = method_of("image_resize_adjoint", name_of_method(attributes.method));
  Matrices matrices = matrices_of(from, to, method, attributes.antialias);
  matrices.rows = transpose_matrix(matrices.rows, from.height);
  matrices.columns = transpose_matrix(matrices.columns, from.width);
  run_matrices(matrices, to, from, g, outputs[0]);
}

void resize_adjoint_vjp(const VjpCall& call, std::span<Tensor> cotangents) {
  if (!call.needs(0)) return;
  const auto& adjoint = call.attributes<AdjointAttributes>();
  const Tensor& g = call.input(0);
  const ResizeAttributes attributes{{g.dim(-3), g.dim(-2)}, adjoint.method, false, adjoint.antialias};
  cotangents[0] = apply(kImageResize, call.cotangent(), &attributes);
}

void check_size(std::int64_t height, std::int64_t width) {
  CAPSTAN_CHECK(height > 0 && width > 0 && height < UINT32_MAX && width < UINT32_MAX, ValueError,
                "image_resize: the size is ", height, " x ", width, ", not from 1 x 1 to what a tensor can have");
}

// Rows and columns by index: nearest for dtypes without arithmetic.
Tensor pick_nearest(const Tensor& images, const PixelSize& size) {
  const auto pick = [](const Tensor& x, int axis, std::int64_t length) {
    const Tensor places = new_tensor(DType::kInt64, Shape{length});
    auto* data = mutable_data<std::int64_t>(places);
    for (std::int64_t i = 0; i < length; ++i) data[i] = nearest_place(i, x.dim(axis), length);
    return gather(x, places, axis);
  };
  return pick(pick(images, images.rank() - 3, size.height), images.rank() - 2, size.width);
}

// --- Samples and reference ---

#if CAPSTAN_TESTING
using reference::ints;
using Inputs = std::vector<ReferenceTensor>;
using Outputs = std::vector<ReferenceTensor>;

std::vector<OpSample> resize_samples() {
  std::vector<OpSample> samples;
  for (std::string_view method : kMethods) {
    samples.push_back(
        {.inputs = {{.shape = {1, 3, 4, 2}}}, .attributes = {{"size", ints({5, 3})}, {"method", std::string(method)}}});
    samples.push_back({.inputs = {{.shape = {7, 5, 1}}},
                       .attributes = {{"size", ints({3, 6})}, {"method", std::string(method)}, {"antialias", true}}});
  }
  samples.push_back({.inputs = {{.shape = {3, 3, 1}}}, .attributes = {{"size", ints({3, 3})}, {"method", "gaussian"}}});
  samples.push_back(
      {.inputs = {{.shape = {4, 2, 1}}}, .attributes = {{"size", ints({6, 6})}, {"preserve_aspect_ratio", true}}});
  samples.push_back({.inputs = {{.shape = {0, 2, 2, 1}}}, .attributes = {{"size", ints({1, 1})}}});
  samples.push_back({.inputs = {{.shape = {3, 3}}}, .attributes = {{"size", ints({2, 2})}}, .error = "not of rank 2"});
  samples.push_back({.inputs = {{.shape = {3, 3, 1}}},
                     .attributes = {{"size", ints({2, 2})}, {"method", "cubicish"}},
                     .error = "not cubicish"});
  samples.push_back({.inputs = {{.shape = {3, 3, 1}}},
                     .attributes = {{"size", ints({2, 2, 2})}},
                     .error = "must be {height, width}"});
  samples.push_back(
      {.inputs = {{.shape = {3, 3, 1}}}, .attributes = {{"size", ints({0, 2})}}, .error = "the size is 0 x 2"});
  samples.push_back(
      {.inputs = {{.shape = {0, 3, 1}}}, .attributes = {{"size", ints({2, 2})}}, .error = "the image has no pixels"});
  return samples;
}

double sinc(double x) { return x == 0 ? 1 : std::sin(M_PI * x) / (M_PI * x); }

// The unnormalised weight of element j for element i of the result.
double weight_of(const std::string& method, bool antialias, std::int64_t i, std::int64_t j, std::int64_t from,
                 std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double center = (static_cast<double>(i) + 0.5) * scale;
  const auto place = static_cast<double>(j);
  if (method == "nearest") return std::floor(center) == place ? 1 : 0;
  if (method == "area") {
    const double low = static_cast<double>(i) * scale;
    return std::max(0.0, std::min(place + 1, low + scale) - std::max(place, low));
  }
  const double x = std::abs(place + 0.5 - center) / (antialias ? std::max(scale, 1.0) : 1.0);
  if (method == "bilinear") return std::max(0.0, 1 - x);
  if (method == "gaussian") return x < 1.5 ? std::exp(-x * x / 0.5) : 0;
  if (method == "lanczos3") return x < 3 ? sinc(x) * sinc(x / 3) : 0;
  if (method == "lanczos5") return x < 5 ? sinc(x) * sinc(x / 5) : 0;
  // The family of cubics with B and C.
  const double b = method == "bicubic" ? 0 : 1.0 / 3;
  const double c = method == "bicubic" ? 0.5 : 1.0 / 3;
  if (x < 1) return ((12 - 9 * b - 6 * c) * x * x * x + (-18 + 12 * b + 6 * c) * x * x + 6 - 2 * b) / 6;
  if (x < 2) {
    return ((-b - 6 * c) * x * x * x + (6 * b + 30 * c) * x * x + (-12 * b - 48 * c) * x + 8 * b + 24 * c) / 6;
  }
  return 0;
}

std::vector<std::vector<double>> dense_matrix(const AttributeMap& attributes, std::int64_t from, std::int64_t to,
                                              bool same) {
  const std::string method = same                            ? "nearest"
                             : attributes.contains("method") ? attributes.at("method").text
                                                             : "bilinear";
  std::vector<std::vector<double>> matrix;
  for (std::int64_t i = 0; i < to; ++i) {
    std::vector<double> row;
    double sum = 0;
    for (std::int64_t j = 0; j < from; ++j) {
      row.push_back(weight_of(method, attributes.contains("antialias"), i, j, from, to));
      sum += row.back();
    }
    for (double& weight : row) weight /= sum;
    matrix.push_back(row);
  }
  return matrix;
}

// The images resized from `small` to `large`, or the transpose of that.
ReferenceTensor apply_dense(const ReferenceTensor& x, const AttributeMap& attributes, std::int64_t height,
                            std::int64_t width, bool transposed) {
  const Shape from = x.shape;
  Shape to = from;
  to.set(-3, height);
  to.set(-2, width);
  const bool same = from[-3] == height && from[-2] == width;
  const auto rows =
      transposed ? dense_matrix(attributes, height, from[-3], same) : dense_matrix(attributes, from[-3], height, same);
  const auto columns =
      transposed ? dense_matrix(attributes, width, from[-2], same) : dense_matrix(attributes, from[-2], width, same);
  const auto weight = [&](const auto& matrix, std::int64_t of, std::int64_t by) {
    return transposed ? matrix[static_cast<std::size_t>(by)][static_cast<std::size_t>(of)]
                      : matrix[static_cast<std::size_t>(of)][static_cast<std::size_t>(by)];
  };
  return reference::build(x.dtype, to, [&](reference::Position position) {
    const std::size_t row = position.size() - 3;
    const std::int64_t y = position[row];
    const std::int64_t z = position[row + 1];
    double sum = 0;
    for (std::int64_t i = 0; i < from[-3]; ++i) {
      for (std::int64_t j = 0; j < from[-2]; ++j) {
        position[row] = i;
        position[row + 1] = j;
        sum += weight(rows, y, i) * weight(columns, z, j) * reference::at(x, position);
      }
    }
    return sum;
  });
}

void resize_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  std::vector<std::int64_t> size = reference::integers(attributes, "size");
  if (attributes.contains("preserve_aspect_ratio")) {
    const double height = static_cast<double>(in[0].shape[-3]);
    const double width = static_cast<double>(in[0].shape[-2]);
    const double scale = std::min(static_cast<double>(size[0]) / height, static_cast<double>(size[1]) / width);
    size = {std::lround(height * scale), std::lround(width * scale)};
  }
  out = {apply_dense(in[0], attributes, size[0], size[1], false)};
}
const OpTest kResizeTest = {.samples = resize_samples, .reference = resize_reference};

std::vector<OpSample> adjoint_samples() {
  return {{.inputs = {{.shape = {2, 5, 3, 1}}, {.shape = {2, 3, 4, 1}, .differentiable = false}}},
          {.inputs = {{.shape = {3, 2, 2}}, {.shape = {7, 5, 2}, .differentiable = false}},
           .attributes = {{"method", "lanczos3"}, {"antialias", true}}},
          {.inputs = {{.shape = {3, 2, 1}}, {.shape = {3, 2, 1}, .differentiable = false}}},
          {.inputs = {{.shape = {3, 2, 1}}, {.shape = {3, 2, 2}, .differentiable = false}},
           .error = "shapes differ beside the size"},
          {.inputs = {{.shape = {3, 2, 1}}, {.shape = {3, 2, 1}, .differentiable = false}},
           .attributes = {{"method", "cubicish"}},
           .error = "not cubicish"}};
}
void adjoint_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  out = {apply_dense(in[0], attributes, in[1].shape[-3], in[1].shape[-2], true)};
}
const OpTest kResizeAdjointTest = {.samples = adjoint_samples, .reference = adjoint_reference};
#endif

}  // namespace

constinit const OpDef kImageResize = {
    .name = "image_resize",
    .text = "Images in another size, by weighted means of neighbouring pixels.",
    .flags = kLinear,
    .input_names = "images",
    .attributes = &kResizeAttributes,
    .infer = infer_resize,
    .kernel = resize_kernel,
    .vjp = resize_vjp,
    .batch = batch_leading,
    .compose =
        [](std::span<const Operand> inputs, const void* data, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const ResizeAttributes*>(data);
          outputs.push_back(image::resize(inputs[0], a.size.array(),
                                          {.method = name_of_method(a.method),
                                           .preserve_aspect_ratio = a.preserve_aspect_ratio,
                                           .antialias = a.antialias}));
        },
    .test = CAPSTAN_OP_TEST(kResizeTest),
};
constinit const OpDef kImageResizeAdjoint = {
    .name = "image_resize_adjoint",
    .text = "The gradient of a resize for its images.",
    .flags = kTakesAnyDTypes | kLinear,
    .arity = 2,
    .input_names = "g, like",
    .attributes = &kAdjointAttributes,
    .infer = infer_resize_adjoint,
    .kernel = resize_adjoint_kernel,
    .shape_inputs = 0b10,
    .vjp = resize_adjoint_vjp,
    .batch = batch_like,
    .test = CAPSTAN_OP_TEST(kResizeAdjointTest),
};

Tensor image::resize(Operand images, std::array<std::int64_t, 2> size, const ResizeOptions& options) try {
  Tensor value = to_tensor(images);
  check_image("image_resize", value);
  const ResampleMethod method = method_of("image_resize", options.method);
  check_size(size[0], size[1]);
  ResizeAttributes attributes{{size[0], size[1]}, intern(options.method), false, options.antialias};
  if (options.preserve_aspect_ratio && value.dim(-3) > 0 && value.dim(-2) > 0) {
    const auto height = static_cast<double>(value.dim(-3));
    const auto width = static_cast<double>(value.dim(-2));
    const double scale = std::min(static_cast<double>(size[0]) / height, static_cast<double>(size[1]) / width);
    attributes.size = {std::max<std::int64_t>(1, std::llrint(height * scale)),
                       std::max<std::int64_t>(1, std::llrint(width * scale))};
  }
  if (!is_floating(value.dtype())) {
    const bool has_pixels = value.dim(-3) > 0 && value.dim(-2) > 0;
    if (method == ResampleMethod::kNearest && has_pixels) return pick_nearest(value, attributes.size);
    check_real("image_resize", value);
    value = cast(value, DType::kFloat32);
  }
  return apply(kImageResize, value, &attributes);
} catch (const Error&) {
  rethrow_as("image::resize");
}

Tensor image::resize_adjoint(Operand g, Operand like, std::string_view method, bool antialias) try {
  const AdjointAttributes attributes{intern(method), antialias};
  return apply(kImageResizeAdjoint, g, like, &attributes);
} catch (const Error&) {
  rethrow_as("image::resize_adjoint");
}

}  // namespace capstan
