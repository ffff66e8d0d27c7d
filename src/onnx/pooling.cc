// Pools. The common ones are ops of the library; any other (dilated, rounded up, of more axes, with norms) is made of
// one slice for each place of the window, which are joined.
#include "capstan/ops/pool.h"

#include <limits>

#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"

#include "src/core/check.h"
#include "src/onnx/window.h"

namespace capstan::onnx {
namespace {

// Joins what the places of the window see of an extended image.
template <class F>
Tensor joined(const Tensor& image, const std::vector<WindowAxis>& axes, const F& join) {
  std::int64_t places = 1;
  for (const WindowAxis& axis : axes) places *= axis.kernel;
  CAPSTAN_CHECK(places < 1 << 20, ValueError, "onnx: a window of ", places, " places is too large");
  const auto rank = static_cast<std::size_t>(image.rank());
  Tensor result;
  for (std::int64_t place = 0; place < places; ++place) {
    std::vector<std::int64_t> begin(rank, 0), end(rank, 0), strides(rank, 1);
    StridedSliceMasks masks;
    masks.begin = masks.end = 1 | std::int64_t{1} << (rank - 1);
    std::int64_t rest = place;
    for (std::size_t i = axes.size(); i-- > 0;) {
      const WindowAxis& axis = axes[i];
      begin[i + 1] = rest % axis.kernel * axis.dilation;
      rest /= axis.kernel;
      strides[i + 1] = axis.stride;
      end[i + 1] = begin[i + 1] + (axis.results - 1) * axis.stride + 1;
    }
    const Tensor seen = strided_slice(image, begin, end, strides, masks);
    result = result.has_value() ? join(result, seen) : seen;
  }
  return result;
}

Tensor extended(const Tensor& x, const std::vector<WindowAxis>& axes, double value, bool beyond_only = false) {
  std::vector<PadWidth> widths(static_cast<std::size_t>(x.rank()));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    widths[i + 1] = {beyond_only ? 0 : axes[i].before, (beyond_only ? 0 : axes[i].after) + axes[i].beyond};
  }
  return pad(x, widths, PadMode::kConstant, value);
}

bool is_plain(const std::vector<WindowAxis>& axes) {
  if (axes.size() != 2) return false;
  for (const WindowAxis& axis : axes) {
    if (axis.dilation != 1 || axis.beyond != 0) return false;
  }
  return true;
}

void check_results(const std::vector<WindowAxis>& axes) {
  for (const WindowAxis& axis : axes) {
    CAPSTAN_CHECK(axis.results > 0, ShapeError, "onnx: a window of ", axis.kernel, " does not fit an image of ",
                  axis.length);
  }
}

struct Plain {
  std::array<std::int64_t, 2> kernel, strides;
  std::array<std::int64_t, 4> pads;
  explicit Plain(const std::vector<WindowAxis>& axes)
      : kernel{axes[0].kernel, axes[1].kernel},
        strides{axes[0].stride, axes[1].stride},
        pads{axes[0].before, axes[0].after, axes[1].before, axes[1].after} {}
};

// The places of the maxima, counted over the whole tensor in ONNX's layout.
Tensor onnx_places(const Tensor& argmax, const Shape& image) {
  const std::int64_t channels = image[3], area = image[1] * image[2];
  const Tensor place = floordiv(argmax, channels);
  const Tensor channel = cast(range(channels), int64);
  const Tensor number = reshape(cast(range(image[0]), int64), {image[0], 1, 1, 1});
  return (number * channels + channel) * area + place;
}

void max_pool(NodeCall& call) {
  Tensor x = call.channels_last(0);
  std::vector<WindowAxis> axes = windows_of(call, x.shape());
  check_results(axes);
  if (call.wants(1)) {
    if (axes.size() == 1) {
      x = expand_dims(x, 1);
      axes.insert(axes.begin(), WindowAxis{.length = 1, .results = 1});
    }
    if (!is_plain(axes) || call.integer("storage_order", 0) != 0) {
      not_supported("the places of the maxima of this window");
    }
    const Plain plain(axes);
    const MaxPoolWithArgmax both = max_pool_with_argmax(x, plain.kernel, plain.strides, plain.pads);
    const Tensor places = onnx_places(both.argmax, x.shape());
    const bool is_signal = call.value(0).tensor.rank() == 3;
    call.give(is_signal ? squeeze(both.output, 1) : both.output, true);
    call.give(is_signal ? squeeze(places, 1) : places, true);
    return;
  }
  if (is_plain(axes) && is_floating(x.dtype())) {
    const Plain plain(axes);
    return call.give(max_pool2d(x, plain.kernel, plain.strides, plain.pads), true);
  }
  const double lowest = is_floating(x.dtype()) ? -std::numeric_limits<double>::infinity()
                        : x.dtype() == uint8   ? 0
                                               : -2147483648.0;
  call.give(joined(extended(x, axes, lowest), axes, [](const Tensor& a, const Tensor& b) { return maximum(a, b); }),
            true);
}

void average_pool(NodeCall& call) {
  const Tensor x = call.channels_last(0);
  const std::vector<WindowAxis> axes = windows_of(call, x.shape());
  check_results(axes);
  const bool counts_pads = call.integer("count_include_pad", 0) != 0;
  bool has_pads = false;
  for (const WindowAxis& axis : axes) has_pads = has_pads || axis.before + axis.after > 0;
  if (is_plain(axes) && !(counts_pads && has_pads)) {
    const Plain plain(axes);
    return call.give(avg_pool2d(x, plain.kernel, plain.strides, plain.pads), true);
  }
  const auto sum = [](const Tensor& a, const Tensor& b) { return a + b; };
  Shape one = {1};
  for (const WindowAxis& axis : axes) one.push_back(axis.length + (counts_pads ? axis.before + axis.after : 0));
  one.push_back(1);
  const Tensor counted = ones(one, x.dtype());
  const Tensor counts = joined(extended(counted, axes, 0, counts_pads), axes, sum);
  call.give(joined(extended(x, axes, 0), axes, sum) / counts, true);
}

void lp_pool(NodeCall& call) {
  const Tensor x = call.channels_last(0);
  const std::vector<WindowAxis> axes = windows_of(call, x.shape());
  check_results(axes);
  const auto p = static_cast<double>(call.integer("p", 2));
  const auto sum = [](const Tensor& a, const Tensor& b) { return a + b; };
  call.give(pow(joined(extended(pow(abs(x), p), axes, 0), axes, sum), 1 / p), true);
}

std::vector<int> places_of(const Tensor& x) {
  std::vector<int> axes;
  for (int i = 1; i < x.rank() - 1; ++i) axes.push_back(i);
  return axes;
}

void global_average(NodeCall& call) {
  const Tensor x = call.channels_last(0);
  call.give(reduce_mean(x, places_of(x), {.keepdims = true}), true);
}

void global_max(NodeCall& call) {
  const Tensor x = call.channels_last(0);
  call.give(reduce_max(x, places_of(x), {.keepdims = true}), true);
}

void global_lp(NodeCall& call) {
  const Tensor x = call.channels_last(0);
  const auto p = static_cast<double>(call.integer("p", 2));
  call.give(pow(reduce_sum(pow(abs(x), p), places_of(x), {.keepdims = true}), 1 / p), true);
}

constexpr Operator kPoolingOperators[] = {
    {"AveragePool", average_pool}, {"GlobalAveragePool", global_average},
    {"GlobalLpPool", global_lp},   {"GlobalMaxPool", global_max},
    {"LpPool", lp_pool},           {"MaxPool", max_pool},
};

}  // namespace

std::span<const Operator> pooling_operators() { return kPoolingOperators; }

}  // namespace capstan::onnx
