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
#include "src/kernels/image/resample.h"
#include "src/ops/batching.h"
#include "src/ops/family.h"
#include "src/ops/image/image.h"
#include "src/ops/wide.h"

namespace capstan {

namespace {

struct ResizeAttributes {
  PixelSize size;
  Text method;
  bool preserve_aspect_ratio = false;
  bool antialias = false;
};

struct AdjointAttributes {
  Text method;
  bool antialias = false;
};

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
  cotangents[0] = image::resize_adjoint(
      call.cotangent(), call.input(0),
      {.method = std::string(name_of_method(attributes.method)), .antialias = attributes.antialias});
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

}  // namespace

constinit const OpDef kImageResize = {
    .name = "image_resize",
    .text = "Images in another size, by weighted means of neighbouring pixels.",
    .flags = kLinear,
    .inputs = "images",
    .attributes = &attribute_table<ResizeAttributes, "size, method, preserve_aspect_ratio, antialias", 1>,
    .infer = infer_resize,
    .kernel = resize_kernel,
    .vjp = resize_vjp,
    .batch = batch_leading,
    .compose =
        [](std::span<const Operand> inputs, const void* data, std::vector<Tensor>& outputs) {
          const auto& a = *static_cast<const ResizeAttributes*>(data);
          outputs.push_back(image::resize(inputs[0], a.size.array(),
                                          {.method = std::string(name_of_method(a.method)),
                                           .preserve_aspect_ratio = a.preserve_aspect_ratio,
                                           .antialias = a.antialias}));
        },
};
constinit const OpDef kImageResizeAdjoint = {
    .name = "image_resize_adjoint",
    .text = "The gradient of a resize for its images.",
    .flags = kTakesAnyDTypes | kLinear,
    .inputs = "g, like",
    .attributes = &attribute_table<AdjointAttributes, "method, antialias">,
    .infer = infer_resize_adjoint,
    .kernel = resize_adjoint_kernel,
    .shape_inputs = 0b10,
    .vjp = resize_adjoint_vjp,
    .batch = batch_like,
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

Tensor image::resize_adjoint(Operand g, Operand like, const ResizeOptions& options) try {
  const AdjointAttributes attributes{intern(options.method), options.antialias};
  return apply(kImageResizeAdjoint, g, like, &attributes);
} catch (const Error&) {
  rethrow_as("image::resize_adjoint");
}

CAPSTAN_OPS(image_resize, &kImageResize, &kImageResizeAdjoint);

}  // namespace capstan
