// Convolutions, pools and resizing. ONNX has the channels of images second and filters as [out, in, places...].
#include <algorithm>
#include <optional>
#include <string>

#include "capstan/ops/array.h"

#include "src/onnx/export.h"
#include "src/onnx/import.h"

namespace capstan::onnx {
namespace {

// A window along one axis of an image.
struct Side {
  std::int64_t reach = 1, stride = 1;
  std::optional<std::int64_t> length;  // of the image; nothing if it is open
};

// What is added to an image for windows that slide over it: numbers, or the rule where a length is open.
struct Pads {
  std::vector<std::int64_t> before, after;
  bool by_rule = false;

  void add_to(std::vector<Attribute>& attributes) const {
    if (by_rule) return attributes.push_back(attribute("auto_pad", "SAME_UPPER"));
    std::vector<std::int64_t> all = before;
    all.insert(all.end(), after.begin(), after.end());
    attributes.push_back(attribute("pads", all));
  }
};

Pads pads_of(const AttributeValue& padding, const std::vector<Side>& sides) {
  Pads pads;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    std::int64_t before = 0, after = 0;
    if (padding.kind == AttributeValue::Kind::kList) {
      before = padding.list[i + 1].list[0].integer;
      after = padding.list[i + 1].list[1].integer;
    } else if (padding.text == "SAME") {
      const Side& side = sides[i];
      if (!side.length) {
        pads.by_rule = true;
        continue;
      }
      const std::int64_t count = (*side.length + side.stride - 1) / side.stride;
      const std::int64_t missing = std::max<std::int64_t>(0, (count - 1) * side.stride + side.reach - *side.length);
      before = missing / 2;
      after = missing - before;
    }
    pads.before.push_back(before);
    pads.after.push_back(after);
  }
  return pads;
}

std::vector<Side> sides_of(const OpCall& c, std::size_t image, const std::vector<std::int64_t>& windows,
                           const std::vector<std::int64_t>& strides, const std::vector<std::int64_t>& dilations) {
  std::vector<Side> sides;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    Side side{(windows[i] - 1) * dilations[i] + 1, strides[i], {}};
    const int axis = static_cast<int>(i) + 1;
    if (c.is_fixed(image, axis)) side.length = c.shape(image)[axis];
    sides.push_back(side);
  }
  return sides;
}

// Filters [places..., in, out] as [out, in, places...]: here if they are weights, else by a node.
std::string filters(const OpCall& c, std::size_t i) {
  const std::vector<int> order = filter_to_onnx(c.rank(i));
  const Tensor* const known = c.known(i);
  return known != nullptr ? c.changed(i, transpose(*known, order)) : c.transposed(c.in(i), order);
}

std::string to_image(const OpCall& c, std::size_t i) { return c.transposed(c.in(i), to_second(c.rank(i))); }
void give_image(OpCall& c, const std::string& x) {
  // Runtimes refuse windows that are longer than an image.
  if (c.out_shape().size() == 0) c.refuse("its result " + c.out_shape().to_string() + " has no elements");
  c.give(c.transposed(x, to_last(c.out_shape().rank())));
}

// The lengths of the windows of filters.
std::vector<std::int64_t> windows_of_filters(const OpCall& c, std::size_t i, int axes) {
  if (c.rank(0) != axes + 2 || c.rank(1) != axes + 2) c.refuse("it has an axis of items, which no model has");
  return {c.shape(i).begin(), c.shape(i).begin() + axes};
}

template <int kAxes>
void write_conv(OpCall& c) {
  const std::vector<std::int64_t> windows = windows_of_filters(c, 1, kAxes);
  const std::vector<std::int64_t> strides = c.integers("strides"), dilations = c.integers("dilations");
  std::vector<Attribute> attributes = {attribute("kernel_shape", windows), attribute("strides", strides),
                                       attribute("dilations", dilations),
                                       attribute("group", c.shape(0)[-1] / c.shape(1)[kAxes])};
  pads_of(c.value("padding"), sides_of(c, 0, windows, strides, dilations)).add_to(attributes);
  give_image(c, c.node("Conv", {to_image(c, 0), filters(c, 1)}, attributes));
}

// A transposed convolution is the gradient of one for its images: filters, then what the convolution would give.
template <int kAxes>
void write_transposed_conv(OpCall& c) {
  const std::vector<std::int64_t> windows = windows_of_filters(c, 0, kAxes);
  const std::vector<std::int64_t> strides = c.integers("strides"), dilations = c.integers("dilations");
  std::vector<Side> sides;
  for (int i = 0; i < kAxes; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (!c.is_output_fixed(0, i + 1)) c.refuse("the height or width of its result is open");
    sides.push_back({(windows[k] - 1) * dilations[k] + 1, strides[k], c.out_shape()[i + 1]});
  }
  const Pads pads = pads_of(c.value("padding"), sides);
  std::vector<std::int64_t> beyond;
  for (int i = 0; i < kAxes; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const std::int64_t reached = strides[k] * (c.shape(1)[i + 1] - 1) + sides[k].reach - pads.before[k] - pads.after[k];
    beyond.push_back(c.out_shape()[i + 1] - reached);
  }
  std::vector<Attribute> attributes = {attribute("kernel_shape", windows), attribute("strides", strides),
                                       attribute("dilations", dilations), attribute("output_padding", beyond),
                                       attribute("group", c.out_shape()[-1] / c.shape(0)[kAxes])};
  pads.add_to(attributes);
  give_image(c, c.node("ConvTranspose", {to_image(c, 1), filters(c, 0)}, attributes));
}

void write_pool(OpCall& c) {
  const std::vector<std::int64_t> windows = c.integers("ksize"), strides = c.integers("strides");
  std::vector<Attribute> attributes = {attribute("kernel_shape", windows), attribute("strides", strides)};
  pads_of(c.value("padding"), sides_of(c, 0, windows, strides, {1, 1})).add_to(attributes);
  give_image(c, c.node(c.onnx(), {to_image(c, 0)}, attributes));
}

// --- Resizing ---

// What the op makes of `from` pixels along an axis, as a matrix [to, from]: from the unit vectors as channels. The
// other side grows, because an image that keeps its size is left alone.
Tensor matrix_of(const OpCall& c, std::int64_t from, std::int64_t to) {
  const Tensor units = reshape(eye(from, {}, c.dtype()), {1, from, 1, from});
  AttributeMap attributes = {{"size", std::vector<AttributeValue>{to, 2}}, {"antialias", c.truth("antialias")}};
  if (const std::string method = c.text("method"); !method.empty()) attributes.emplace("method", method);
  return capstan::call("image_resize", std::span(&units, 1), attributes)[0](0, slice(), 0);
}

// Resizing is a product of matrices: rows [to, from] . image . columns. That says every method, and blurring.
void resize_by_products(OpCall& c) {
  const int rank = c.rank();
  const Shape& shape = c.shape(0);
  const Shape& result = c.out_shape();
  if (rank > 4) c.refuse("images of rank 3 and 4 can be resized, these have " + std::to_string(rank));
  if (!c.is_fixed(0, rank - 3) || !c.is_fixed(0, rank - 2)) c.refuse("the height or width of its images is open");
  const auto with_batch = [&](std::vector<std::int64_t> lengths) {
    if (rank == 4) lengths.insert(lengths.begin(), 0);
    return c.integers_of(lengths);
  };
  const std::int64_t width = shape[-2], channels = shape[-1];
  const std::string rows = c.tensor(matrix_of(c, shape[-3], result[-3]), "rows");
  const std::string columns = c.tensor(matrix_of(c, width, result[-2]), "columns");
  std::string x = c.node("Reshape", {c.in(0), with_batch({shape[-3], width * channels})});
  x = c.node("Reshape", {c.node("MatMul", {rows, x}), with_batch({result[-3], width, channels})});
  c.give(c.node("MatMul", {columns, x}));
}

void write_resize(OpCall& c) {
  const std::string method = c.text("method");
  const bool is_linear = method.empty() || method == "bilinear";
  const int rank = c.rank();
  if (c.shape(0) == c.out_shape() && c.second_shape(0) == c.second_out_shape()) return c.give(c.in(0));
  if (rank != 4 || c.truth("antialias") || !(is_linear || method == "nearest")) return resize_by_products(c);
  if (!c.is_output_fixed(0, 1) || !c.is_output_fixed(0, 2)) c.refuse("the height or width of its result is open");
  std::vector<Attribute> attributes = {attribute("coordinate_transformation_mode", "half_pixel"),
                                       attribute("mode", is_linear ? "linear" : "nearest")};
  if (!is_linear) attributes.push_back(attribute("nearest_mode", "round_prefer_ceil"));
  const auto in_order = [](const Shape& lengths) { return Shape{lengths[0], lengths[3], lengths[1], lengths[2]}; };
  const std::string sizes = c.lengths_of(in_order(c.out_shape()), in_order(c.second_out_shape()));
  give_image(c, c.node("Resize", {to_image(c, 0), "", "", sizes}, attributes));
}

constexpr ExportRow kImageRows[] = {
    {"avg_pool2d", write_pool, "AveragePool"},
    {"conv2d", write_conv<2>},
    {"conv2d_backprop_input", write_transposed_conv<2>},
    {"conv3d", write_conv<3>},
    {"conv3d_backprop_input", write_transposed_conv<3>},
    {"image_resize", write_resize},
    {"max_pool2d", write_pool, "MaxPool"},
};

}  // namespace

std::span<const ExportRow> image_rows() { return kImageRows; }

}  // namespace capstan::onnx
