// Convolutions and their transposes, with the channels last.
//
// Signals are images of one row; volumes are extended by a pad of their own, since conv3d takes no other padding.
#include "capstan/ops/conv.h"

#include <algorithm>

#include "capstan/ops/math.h"
#include "capstan/ops/nn.h"

#include "src/core/check.h"
#include "src/onnx/window.h"

namespace capstan::onnx {

std::vector<WindowAxis> windows_of(const NodeCall& call, const Shape& image, std::vector<std::int64_t> kernel) {
  const auto count = static_cast<std::size_t>(image.rank() - 2);
  kernel = call.integers("kernel_shape", kernel);
  const std::vector<std::int64_t> strides = call.integers("strides", std::vector<std::int64_t>(count, 1));
  const std::vector<std::int64_t> dilations = call.integers("dilations", std::vector<std::int64_t>(count, 1));
  const std::vector<std::int64_t> pads = call.integers("pads", std::vector<std::int64_t>(2 * count, 0));
  const std::string automatic = call.text("auto_pad", "NOTSET");
  const bool rounds_up = call.integer("ceil_mode", 0) != 0;
  CAPSTAN_CHECK(
      kernel.size() == count && strides.size() == count && dilations.size() == count && pads.size() == 2 * count,
      ShapeError, "onnx: the attributes of the window do not fit an image with ", count, " axes of places");
  std::vector<WindowAxis> axes;
  for (std::size_t i = 0; i < count; ++i) {
    WindowAxis axis{.length = image[static_cast<int>(i) + 1],
                    .kernel = kernel[i],
                    .stride = strides[i],
                    .dilation = dilations[i],
                    .before = pads[i],
                    .after = pads[i + count]};
    constexpr std::int64_t kLongest = 1 << 30;
    CAPSTAN_CHECK(axis.kernel > 0 && axis.stride > 0 && axis.dilation > 0 && axis.kernel < kLongest &&
                      axis.stride < kLongest && axis.dilation < kLongest && axis.before >= 0 && axis.after >= 0 &&
                      axis.before < kLongest && axis.after < kLongest,
                  ValueError, "onnx: a window of ", axis.kernel, " with stride ", axis.stride, ", dilation ",
                  axis.dilation, " and pads ", axis.before, " and ", axis.after, " makes no sense");
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      axis.results = (axis.length + axis.stride - 1) / axis.stride;
      const std::int64_t all = std::max<std::int64_t>((axis.results - 1) * axis.stride + axis.reach() - axis.length, 0);
      axis.before = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
      axis.after = all - axis.before;
    } else {
      if (automatic == "VALID") axis.before = axis.after = 0;
      const std::int64_t room = axis.length + axis.before + axis.after - axis.reach();
      axis.results = room < 0 ? 0 : room / axis.stride + 1;
      if (rounds_up && room >= 0 && room % axis.stride != 0) {
        // A window that would begin after the image is none.
        if (axis.results * axis.stride < axis.length + axis.before) {
          axis.beyond = axis.stride - room % axis.stride;
          ++axis.results;
        }
      }
    }
    axes.push_back(axis);
  }
  return axes;
}

namespace {

using Pads = std::array<std::int64_t, 4>;

// A row in front of the places of a signal.
Tensor as_image(const Tensor& signal) { return expand_dims(signal, 1); }
Tensor as_filter(const Tensor& filters) { return expand_dims(filters, 0); }

std::vector<std::int64_t> kernel_of(const Tensor& filters) {
  std::vector<std::int64_t> kernel;
  for (int i = 0; i < filters.rank() - 2; ++i) kernel.push_back(filters.dim(i));
  return kernel;
}

Tensor with_bias(const NodeCall& call, Tensor y, std::size_t i) { return call.has(i) ? y + call.tensor(i) : y; }

Tensor convolved(const Tensor& x, const Tensor& filters, const std::vector<WindowAxis>& axes, std::int64_t groups) {
  if (axes.size() == 1) {
    std::vector<WindowAxis> both = {{.length = 1, .results = 1}, axes[0]};
    return squeeze(convolved(as_image(x), as_filter(filters), both, groups), 1);
  }
  if (axes.size() == 2) {
    const Pads pads = {axes[0].before, axes[0].after, axes[1].before, axes[1].after};
    const std::array<std::int64_t, 2> strides = {axes[0].stride, axes[1].stride};
    const std::array<std::int64_t, 2> dilations = {axes[0].dilation, axes[1].dilation};
    const std::int64_t channels = x.dim(3);
    if (groups > 1 && groups == channels && filters.dim(3) % channels == 0) {
      const Tensor own = reshape(filters, {filters.dim(0), filters.dim(1), channels, filters.dim(3) / channels});
      return depthwise_conv2d(x, own, strides, pads, dilations);
    }
    return conv2d(x, filters, strides, pads, dilations);
  }
  if (axes.size() != 3) not_supported("a convolution over " + std::to_string(axes.size()) + " axes");
  std::vector<PadWidth> widths(5);
  for (std::size_t i = 0; i < 3; ++i) widths[i + 1] = {axes[i].before, axes[i].after};
  return conv3d(pad(x, widths), filters, {axes[0].stride, axes[1].stride, axes[2].stride}, "VALID",
                {axes[0].dilation, axes[1].dilation, axes[2].dilation});
}

void conv(NodeCall& call) {
  const Tensor x = call.channels_last(0), filters = call.filters(1);
  CAPSTAN_CHECK(filters.rank() == x.rank(), ShapeError, "onnx: the filters have ", filters.rank(), " axes, the image ",
                x.rank());
  const std::int64_t groups = call.integer("group", 1), channels = x.dim(-1);
  CAPSTAN_CHECK(groups > 0 && filters.dim(-2) * groups == channels, ShapeError, "onnx: filters for ", filters.dim(-2),
                " channels in ", groups, " groups do not fit ", channels, " channels");
  const std::vector<WindowAxis> axes = windows_of(call, x.shape(), kernel_of(filters));
  call.give(with_bias(call, convolved(x, filters, axes, groups), 2), true);
}

void conv_transpose(NodeCall& call) {
  const Tensor x = call.channels_last(0);
  // [in, out / groups, height, width] in the file: as filters of a convolution from the result to x.
  const Tensor filters = call.filters(1);
  const std::int64_t groups = call.integer("group", 1);
  const std::size_t count = static_cast<std::size_t>(x.rank() - 2);
  CAPSTAN_CHECK(filters.rank() == x.rank() && groups > 0, ShapeError, "onnx: the filters have ", filters.rank(),
                " axes, the image ", x.rank());
  if (count > 3) not_supported("a convolution over " + std::to_string(count) + " axes");
  std::vector<WindowAxis> axes = windows_of(call, x.shape(), kernel_of(filters));
  const std::vector<std::int64_t> more = call.integers("output_padding", std::vector<std::int64_t>(count, 0));
  const std::vector<std::int64_t> wanted = call.integers("output_shape");
  const std::string automatic = call.text("auto_pad", "NOTSET");
  CAPSTAN_CHECK(more.size() == count && (wanted.empty() || wanted.size() >= count), ShapeError,
                "onnx: output_padding or output_shape does not fit an image with ", count, " axes of places");
  // All that x reaches, of which the result is a part, extended by zeros if need be.
  Shape whole = {x.dim(0)}, begin = {0}, size = {x.dim(0)};
  std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
  for (std::size_t i = 0; i < count; ++i) {
    const WindowAxis& axis = axes[i];
    const std::int64_t full = (axis.length - 1) * axis.stride + axis.reach();
    std::int64_t before = axis.before, length = full + more[i] - axis.before - axis.after;
    if (!wanted.empty()) {
      length = wanted[i + wanted.size() - count];
    } else if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      length = axis.length * axis.stride;
    }
    if (!wanted.empty() || automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const std::int64_t all = std::max<std::int64_t>(full + more[i] - length, 0);
      before = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
      if (automatic == "NOTSET") before = all / 2;
    }
    CAPSTAN_CHECK(before >= 0 && before <= full && length >= 0, ShapeError, "onnx: an output of length ", length,
                  " does not fit");
    whole.push_back(full);
    begin.push_back(before);
    size.push_back(std::min(length, full - before));
    widths[i + 1].after = length - size[static_cast<int>(i) + 1];
  }
  const std::int64_t channels = filters.dim(-2) * groups;
  whole.push_back(channels);
  begin.push_back(0);
  size.push_back(channels);
  Tensor y;
  if (count == 3) {
    y = conv3d_backprop_input(whole, filters, x, {axes[0].stride, axes[1].stride, axes[2].stride}, "VALID",
                              {axes[0].dilation, axes[1].dilation, axes[2].dilation});
  } else if (count == 2) {
    y = conv2d_backprop_input(whole, filters, x, {axes[0].stride, axes[1].stride}, "VALID",
                              {axes[0].dilation, axes[1].dilation});
  } else {
    y = squeeze(conv2d_backprop_input({whole[0], 1, whole[1], whole[2]}, as_filter(filters), as_image(x),
                                      {1, axes[0].stride}, "VALID", {1, axes[0].dilation}),
                1);
  }
  if (size != whole) y = slice(y, begin, size);
  y = pad(y, widths);
  call.give(with_bias(call, y, 2), true);
}

constexpr Operator kConvolutionOperators[] = {
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
};

}  // namespace

std::span<const Operator> convolution_operators() { return kConvolutionOperators; }

}  // namespace capstan::onnx
