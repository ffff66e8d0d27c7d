// Pooling of signals and volumes, with dilations, and with the places of the maxima: made of pooling of images.
//
// A signal is an image of one row. A volume is pooled in its planes first and then along its depth: the maximum of
// maxima is the maximum, at ties the first one of the first plane, and the mean of means is the mean since all means of
// a window have equal counts. Windows with gaps (dilations) see every n-th element, so the image is taken apart into
// images of every n-th element, which are pooled as a longer batch and put together again.
#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "capstan/ops/array.h"
#include "src/core/apply.h"
#include "src/core/named_errors.h"
#include "src/ops/batching.h"
#include "src/ops/composite.h"
#include "src/ops/family.h"
#include "src/ops/floating.h"
#include "src/ops/pool/pool_op.h"
#include "src/ops/pool/up_to_three.h"
#include "src/ops/wide.h"
#include "src/ops/window_lengths.h"

namespace capstan {

namespace {

using Pool2D = Tensor (*)(Operand x, std::array<std::int64_t, 2> ksize, std::array<std::int64_t, 2> strides,
                          Padding padding);

struct ArgmaxAttributes : PoolAttributes {
  bool include_batch_in_index = false;
};
constexpr AttributeField kArgmaxFields[] = {field<&PoolAttributes::ksize, ArgmaxAttributes>("ksize", true),
                                            field<&PoolAttributes::strides, ArgmaxAttributes>("strides", true),
                                            field<&PoolAttributes::padding, ArgmaxAttributes>("padding", true),
                                            field<&ArgmaxAttributes::include_batch_in_index>("include_batch_in_index")};

// The pooling type of `pool`.
enum class PoolingType : std::uint8_t { kMax, kAverage };
void set_field(PoolingType& field, const AttributeValue& value, std::string_view op, std::string_view) {
  const bool max = value.text == "MAX";
  CAPSTAN_CHECK(max || value.text == "AVG", ValueError, op, ": the pooling type must be \"MAX\" or \"AVG\", not ",
                value.to_string());
  field = max ? PoolingType::kMax : PoolingType::kAverage;
}
AttributeValue get_field(PoolingType field) { return {field == PoolingType::kMax ? "MAX" : "AVG"}; }

// A padding without numbers.
struct PaddingName {
  Padding::Kind kind = Padding::Kind::kValid;
};
void set_field(PaddingName& field, const AttributeValue& value, std::string_view op, std::string_view name) {
  PackedPadding padding;
  set_field(padding, value, op, name);
  CAPSTAN_CHECK(padding.kind != Padding::Kind::kExplicit, ValueError, op,
                ": padding must be \"SAME\" or \"VALID\", not ", value.to_string());
  field.kind = padding.kind;
}
AttributeValue get_field(const PaddingName& field) { return {field.kind == Padding::Kind::kSame ? "SAME" : "VALID"}; }

Tensor general_pool_by_name(Operand x, const UpToThree& window_shape, PoolingType pooling_type,
                            const UpToThree& strides, PaddingName padding, const UpToThree& dilations) {
  Padding kind("VALID");
  kind.kind = padding.kind;
  return pool(x, window_shape.numbers(), pooling_type == PoolingType::kMax ? "MAX" : "AVG", strides.numbers(), kind,
              dilations.numbers());
}

Tensor pool_signal(std::string_view op, Pool2D pool, Operand x, std::int64_t ksize, std::int64_t stride,
                   const Padding& padding) {
  const Tensor signal = to_tensor(x);
  CAPSTAN_CHECK(signal.rank() == 3, ShapeError, op, ": signals need rank 3 (batch, width, channels), not ",
                signal.rank(), arguments({{"x", signal}}));
  CAPSTAN_CHECK(padding.pads[0] == 0 && padding.pads[1] == 0, ValueError, op, ": a signal has no rows to pad, not ",
                padding.pads[0], " and ", padding.pads[1]);
  return with_errors_of(op, [&] {
    const Shape s = signal.shape();
    const Tensor y = pool(reshape(signal, {s[0], 1, s[1], s[2]}), {1, ksize}, {1, stride}, padding);
    return reshape(y, {s[0], y.dim(2), s[2]});
  });
}

Tensor pool_volume(std::string_view op, Pool2D pool, Operand x, const std::array<std::int64_t, 3>& ksize,
                   const std::array<std::int64_t, 3>& strides, const Padding& padding) {
  const Tensor volume = to_tensor(x);
  CAPSTAN_CHECK(volume.rank() == 5, ShapeError, op,
                ": volumes need rank 5 (batch, depth, height, width, channels), not ", volume.rank(),
                arguments({{"x", volume}}));
  CAPSTAN_CHECK(padding.kind != Padding::Kind::kExplicit, ValueError, op, ": padding must be \"SAME\" or \"VALID\"");
  return with_errors_of(op, [&] {
    const Shape s = volume.shape();
    const Tensor planes =
        pool(reshape(volume, {s[0] * s[1], s[2], s[3], s[4]}), {ksize[1], ksize[2]}, {strides[1], strides[2]}, padding);
    const std::int64_t height = planes.dim(1);
    const std::int64_t width = planes.dim(2);
    const Tensor y = pool(reshape(planes, {s[0], s[1], height * width, s[4]}), {ksize[0], 1}, {strides[0], 1}, padding);
    return reshape(y, {s[0], y.dim(1), height, width, s[4]});
  });
}

// By name a length may also be written between those of batch and channels.
template <auto kPool>
Tensor pool_by_name(Operand x, PerAxis<1> ksize, PerAxis<1> strides, const Padding& padding) {
  return kPool(x, ksize.at[0], strides.at[0], padding);
}

}  // namespace

constinit const OpDef kMaxPool1D = composite<&pool_by_name<&max_pool1d>, "x, ksize, strides, padding">(
    "max_pool1d", "The largest element of each window of a signal.");

constinit const OpDef kAvgPool1D = composite<&pool_by_name<&avg_pool1d>, "x, ksize, strides, padding">(
    "avg_pool1d", "The mean of each window of a signal; padding is not counted.");

constinit const OpDef kMaxPool3D = composite<&max_pool3d, "x, ksize, strides, padding">(
    "max_pool3d", "The largest element of each window of a volume.");

constinit const OpDef kAvgPool3D = composite<&avg_pool3d, "x, ksize, strides, padding">(
    "avg_pool3d", "The mean of each window of a volume; padding is not counted.");

constinit const OpDef kPool =
    composite<&general_pool_by_name, "x, window_shape, pooling_type, strides, padding, dilations", NoValue{}, NoValue{},
              NoValue{}>("pool",
                         "Maximum or average pooling of images with one to three axes, with strides or dilations.");

// Places that count the examples before would count those of the items before.
static bool batch_places(const BatchCall& call, std::vector<Tensor>& outputs) {
  return !call.attributes<ArgmaxAttributes>().include_batch_in_index && batch_examples(call, outputs);
}

constinit const OpDef kMaxPool2DPlaces = {
    .name = "max_pool2d_places",
    .text = "Where the largest element of each window of an image lies.",
    .flags = kNotDifferentiable,
    .attributes = &attribute_type<ArgmaxAttributes, kArgmaxFields>,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          const TensorRef& x = call.input(0);
          CAPSTAN_CHECK(is_floating(x.dtype()) || x.dtype() == DType::kInt32, DTypeError, call.op.name, ": dtype ",
                        x.dtype(), " is not supported", arguments({{"x", x}}));
          const Pool2DShape shape = pool_shape(call.op.name, x.shape(), call.attributes<ArgmaxAttributes>());
          outputs.add(DType::kInt64, result_of(shape));
          outputs.hand_on(shape);
        },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const auto& shape = call.geometry<Pool2DShape>();
          std::int64_t* const places = mutable_data<std::int64_t>(outputs[0]);
          with_wide_type(call.input(0).dtype(),
                         [&]<class T>(T) { max_pool2d_places<T>(shape, WideInput<T>(call.input(0)), places); });
          if (!call.attributes<ArgmaxAttributes>().include_batch_in_index) return;
          const std::int64_t image = shape.in_height * shape.in_width * shape.channels;
          const std::int64_t out_image = shape.out_height * shape.out_width * shape.channels;
          for (std::int64_t i = 0; i < shape.batch * out_image; ++i) {
            if (places[i] >= 0) places[i] += i / out_image * image;
          }
        },
    .batch = batch_places,
};

constinit const OpDef kMaxPoolWithArgmax =
    composite<&max_pool_with_argmax, "x, ksize, strides, padding, include_batch_in_index">(
        "max_pool_with_argmax", "The largest element of each window of an image, and where it lies.");

Tensor max_pool1d(Operand x, std::int64_t ksize, std::int64_t strides, Padding padding) try {
  return pool_signal("max_pool1d", max_pool2d, x, ksize, strides, padding);
} catch (const Error&) {
  rethrow_as("max_pool1d");
}
Tensor avg_pool1d(Operand x, std::int64_t ksize, std::int64_t strides, Padding padding) try {
  return pool_signal("avg_pool1d", avg_pool2d, x, ksize, strides, padding);
} catch (const Error&) {
  rethrow_as("avg_pool1d");
}
Tensor max_pool3d(Operand x, std::array<std::int64_t, 3> ksize, std::array<std::int64_t, 3> strides,
                  Padding padding) try {
  return pool_volume("max_pool3d", max_pool2d, x, ksize, strides, padding);
} catch (const Error&) {
  rethrow_as("max_pool3d");
}
Tensor avg_pool3d(Operand x, std::array<std::int64_t, 3> ksize, std::array<std::int64_t, 3> strides,
                  Padding padding) try {
  return pool_volume("avg_pool3d", avg_pool2d, x, ksize, strides, padding);
} catch (const Error&) {
  rethrow_as("avg_pool3d");
}

Tensor max_pool2d_places(Operand x, std::array<std::int64_t, 2> ksize, std::array<std::int64_t, 2> strides,
                         Padding padding, const ArgmaxOptions& options) {
  const ArgmaxAttributes attributes{{ksize, strides, pack(padding)}, options.include_batch_in_index};
  return apply(kMaxPool2DPlaces, x, &attributes);
}

MaxPoolWithArgmax max_pool_with_argmax(Operand x, std::array<std::int64_t, 2> ksize,
                                       std::array<std::int64_t, 2> strides, Padding padding,
                                       const ArgmaxOptions& options) {
  return with_errors_of("max_pool_with_argmax", [&]() -> MaxPoolWithArgmax {
    const Tensor image = to_tensor(x);
    return {max_pool2d(image, ksize, strides, padding), max_pool2d_places(image, ksize, strides, padding, options)};
  });
}

namespace {

// Windows without gaps, of images with one to three axes.
Tensor pool_plain(bool max, const Tensor& x, std::span<const std::int64_t> window,
                  std::span<const std::int64_t> strides, const Padding& padding) {
  if (window.size() == 1) return (max ? max_pool1d : avg_pool1d)(x, window[0], strides[0], padding);
  if (window.size() == 2) {
    const std::array<std::int64_t, 2> size = {window[0], window[1]};
    const std::array<std::int64_t, 2> steps = {strides[0], strides[1]};
    return max ? max_pool2d(x, size, steps, padding) : avg_pool2d(x, size, steps, padding);
  }
  return (max ? max_pool3d : avg_pool3d)(x, {window[0], window[1], window[2]}, {strides[0], strides[1], strides[2]},
                                         padding);
}

// Windows with gaps and steps of one, without padding.
Tensor pool_dilated(bool max, Tensor x, std::span<const std::int64_t> window, std::vector<std::int64_t> dilations) {
  const std::size_t axes = window.size();
  std::vector<std::int64_t> lengths(axes);  // of the result
  // An axis too short for the window is cut to nothing, so that no gap is longer than what it divides.
  Shape size = x.shape();
  for (std::size_t i = 0; i < axes; ++i) {
    const int axis = static_cast<int>(i) + 1;
    if (window[i] == 1) dilations[i] = 1;
    lengths[i] = std::max<std::int64_t>(0, x.dim(axis) - dilated_window("pool", window[i], dilations[i]) + 1);
    if (lengths[i] > 0) continue;
    size.set(axis, 0);
    dilations[i] = 1;
  }
  if (!(size == x.shape())) {
    Shape begin;
    for (int i = 0; i < x.rank(); ++i) begin.push_back(0);
    x = slice(x, begin, size);
  }
  // [batch, n1 * d1, ..., channels] -> [d1, ..., batch, n1, ..., channels]
  std::vector<PadWidth> widths(axes + 2);
  Shape apart{x.dim(0)};
  Shape batched{x.dim(0)};
  int order[kMaxRank];
  int back[kMaxRank];
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t length = x.dim(static_cast<int>(i) + 1);
    const std::int64_t count = (length + dilations[i] - 1) / dilations[i];
    widths[i + 1].after = count * dilations[i] - length;
    apart.push_back(count);
    apart.push_back(dilations[i]);
    batched.set(0, batched[0] * dilations[i]);
    batched.push_back(count);
    order[i] = static_cast<int>(2 * i + 2);
    order[axes + 1 + i] = static_cast<int>(2 * i + 1);
  }
  const std::int64_t channels = x.dim(-1);
  apart.push_back(channels);
  batched.push_back(channels);
  order[axes] = 0;
  order[2 * axes + 1] = static_cast<int>(2 * axes + 1);
  const std::size_t rank = 2 * axes + 2;
  for (std::size_t i = 0; i < rank; ++i) back[order[i]] = static_cast<int>(i);
  const Tensor parts =
      reshape(transpose(reshape(pad(x, widths), apart), Axes(std::span<const int>(order, rank))), batched);
  const std::vector<std::int64_t> ones(axes, 1);
  const Tensor pooled = pool_plain(max, parts, window, ones, "VALID");
  Shape pooled_apart;
  for (std::size_t i = 0; i < axes; ++i) pooled_apart.push_back(dilations[i]);
  pooled_apart.push_back(x.dim(0));
  for (std::size_t i = 0; i <= axes; ++i) pooled_apart.push_back(pooled.dim(static_cast<int>(i) + 1));
  Shape together{x.dim(0)};
  Shape begin{0};
  Shape result{x.dim(0)};
  for (std::size_t i = 0; i < axes; ++i) {
    together.push_back(pooled.dim(static_cast<int>(i) + 1) * dilations[i]);
    begin.push_back(0);
    result.push_back(lengths[i]);
  }
  together.push_back(channels);
  begin.push_back(0);
  result.push_back(channels);
  return slice(reshape(transpose(reshape(pooled, pooled_apart), Axes(std::span<const int>(back, rank))), together),
               begin, result);
}

// One number per axis, ones unless given.
std::vector<std::int64_t> numbers_for(std::span<const std::int64_t> given, std::size_t axes, std::string_view name) {
  if (given.empty()) return std::vector<std::int64_t>(axes, 1);
  CAPSTAN_CHECK(given.size() == axes, ValueError, "pool: ", given.size(), " ", name, " for a window of ", axes,
                " axes");
  for (std::int64_t number : given) {
    CAPSTAN_CHECK(number >= 1 && number <= INT32_MAX, ValueError, "pool: ", name, " must be 1 or more, not ", number);
  }
  return {given.begin(), given.end()};
}

}  // namespace

Tensor pool(Operand x, std::span<const std::int64_t> window_shape, std::string_view pooling_type,
            std::span<const std::int64_t> strides, Padding padding, std::span<const std::int64_t> dilations) try {
  CAPSTAN_CHECK(pooling_type == "MAX" || pooling_type == "AVG", ValueError,
                "pool: the pooling type must be \"MAX\" or \"AVG\", not \"", pooling_type, "\"");
  CAPSTAN_CHECK(padding.kind != Padding::Kind::kExplicit, ValueError, "pool: padding must be \"SAME\" or \"VALID\"");
  const std::size_t axes = window_shape.size();
  CAPSTAN_CHECK(axes >= 1 && axes <= 3, ValueError, "pool: the window needs one to three axes, not ", axes);
  const Tensor image = floating_operand("pool", x);
  CAPSTAN_CHECK(image.rank() == static_cast<int>(axes) + 2, ShapeError, "pool: a window of ", axes,
                " axes needs images of rank ", axes + 2, ", not ", image.rank(), arguments({{"x", image}}));
  const std::vector<std::int64_t> window = numbers_for(window_shape, axes, "windows");
  const std::vector<std::int64_t> steps = numbers_for(strides, axes, "strides");
  const std::vector<std::int64_t> gaps = numbers_for(dilations, axes, "dilations");
  const auto above_one = [](std::int64_t n) { return n > 1; };
  const bool dilated = std::any_of(gaps.begin(), gaps.end(), above_one);
  CAPSTAN_CHECK(!dilated || std::none_of(steps.begin(), steps.end(), above_one), ValueError,
                "pool: strides above 1 and dilations above 1 exclude each other");
  const bool max = pooling_type == "MAX";
  if (!dilated) return pool_plain(max, image, window, steps, padding);
  if (padding.kind == Padding::Kind::kValid) return pool_dilated(max, image, window, gaps);
  // The zeros of the padding take part here, as in TensorFlow.
  std::vector<PadWidth> widths(axes + 2);
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t extra = dilated_window("pool", window[i], gaps[i]) - 1;
    widths[i + 1] = {extra / 2, extra - extra / 2};
  }
  return pool_dilated(max, pad(image, widths), window, gaps);
} catch (const Error&) {
  rethrow_as("pool");
}

CAPSTAN_OPS(pool_nd, &kMaxPool1D, &kAvgPool1D, &kMaxPool3D, &kAvgPool3D, &kPool, &kMaxPool2DPlaces,
            &kMaxPoolWithArgmax);

}  // namespace capstan
