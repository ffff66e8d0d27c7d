// Maximum and average pooling.
//
// The gradient of the maximum sends each cotangent to the place of its maximum; that is linear in
// the cotangent, and its own gradient gathers from those places, whose gradient scatters again.
// Averages scatter evenly, which does not depend on the image at all. So four small ops close under
// differentiation.
#include <cmath>

#include "capstan/ops/nn.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/op_test.h"
#include "src/ops/batching.h"
#include "src/ops/families.h"
#include "src/ops/pool_op.h"
#include "src/ops/wide.h"

namespace capstan {

namespace {

constexpr AttributeType kPoolAttributes = attribute_type<PoolAttributes>(
    {field<&PoolAttributes::ksize>("ksize", true), field<&PoolAttributes::strides>("strides", true),
     field<&PoolAttributes::padding>("padding", true)});

PoolAttributes pool_attributes(const std::array<std::int64_t, 2>& ksize, const std::array<std::int64_t, 2>& strides,
                               const Padding& padding) {
  return {height_width(ksize), height_width(strides), pack(padding)};
}

Pool2DShape pool_shape(const Call& call) {
  return pool_shape(call.op.name, call.input(0).shape(), call.attributes<PoolAttributes>());
}

void check_floating(const Call& call) {
  CAPSTAN_CHECK(is_floating(call.input(0).dtype()), DTypeError, call.op.name, ": dtype ", call.input(0).dtype(),
                " is not supported", arguments({{"x", call.input(0)}}));
}

void infer_average(const Call& call, OutputSpecs& outputs) {
  check_floating(call);
  outputs.add(call.input(0).dtype(), result_of(pool_shape(call)));
}
void infer_maximum(const Call& call, OutputSpecs& outputs) {
  if (call.input(0).dtype() != DType::kInt32) check_floating(call);
  outputs.add(call.input(0).dtype(), result_of(pool_shape(call)));
}
// [image, gradient of the result] -> image
void infer_scatter(const Call& call, OutputSpecs& outputs) {
  check_floating(call);
  const Shape due = result_of(pool_shape(call));
  CAPSTAN_CHECK(call.input(1).shape() == due, ShapeError, call.op.name, ": the gradient has shape ",
                call.input(1).shape(), " where ", due, " is expected",
                arguments({{"x", call.input(0)}, {"g", call.input(1)}}));
  outputs.add(call.input(0).dtype(), call.input(0).shape());
}
// [image, image] -> result
void infer_gather(const Call& call, OutputSpecs& outputs) {
  check_floating(call);
  CAPSTAN_CHECK(call.input(1).shape() == call.input(0).shape(), ShapeError, call.op.name, ": shapes differ, ",
                call.input(0).shape(), " and ", call.input(1).shape(),
                arguments({{"x", call.input(0)}, {"from", call.input(1)}}));
  outputs.add(call.input(0).dtype(), result_of(pool_shape(call)));
}

// --- Samples and references ---

#if CAPSTAN_TESTING

// Distinct values far apart, so that small steps do not change which one is the largest.
SampleInput spread_image(Shape shape) {
  SampleInput image{.shape = shape};
  const std::int64_t count = shape.size();
  for (std::int64_t i = 0; i < count; ++i) {
    image.values.push_back(0.25 * static_cast<double>(i * 7 % (count % 7 == 0 ? count + 1 : count)) - 2);
  }
  return image;
}
AttributeMap window_attributes(AttributeValue ksize, AttributeValue strides, const char* padding) {
  return {{"ksize", std::move(ksize)}, {"strides", std::move(strides)}, {"padding", padding}};
}
const std::vector<AttributeValue> kTwoThree = {2, 3};

std::vector<OpSample> pool_samples() {
  return {
      {.inputs = {spread_image({1, 4, 4, 2})}, .attributes = window_attributes(2, 2, "VALID")},
      {.inputs = {spread_image({2, 5, 4, 1})}, .attributes = window_attributes(3, 2, "SAME")},
      {.inputs = {spread_image({1, 4, 5, 1})}, .attributes = window_attributes(kTwoThree, 1, "SAME")},
      {.inputs = {{.shape = {0, 4, 4, 1}}}, .attributes = window_attributes(2, 2, "VALID")},
      {.inputs = {{.shape = {4, 4}}}, .attributes = window_attributes(2, 2, "VALID"), .error = "images need rank 4"},
      {.inputs = {{.shape = {1, 4, 4, 1}}},
       .attributes = window_attributes(0, 2, "VALID"),
       .error = "windows must be 1 or more, not 0 by 0"},
      {.inputs = {{.shape = {1, 4, 4, 1}}},
       .attributes = window_attributes(2, 0, "VALID"),
       .error = "strides must be 1 or more, not 0 and 0"},
      {.inputs = {{.shape = {1, 4, 4, 1}}},
       .attributes = window_attributes(2, 2, "CAUSAL"),
       .error = "\"CAUSAL\" is neither \"SAME\" nor \"VALID\""},
  };
}
std::vector<OpSample> scatter_samples() {
  return {
      {.inputs = {spread_image({1, 4, 4, 2}), {.shape = {1, 2, 2, 2}}}, .attributes = window_attributes(2, 2, "VALID")},
      {.inputs = {spread_image({2, 5, 4, 1}), {.shape = {2, 3, 2, 1}}}, .attributes = window_attributes(3, 2, "SAME")},
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {1, 3, 3, 1}}},
       .attributes = window_attributes(2, 2, "VALID"),
       .error = "the gradient has shape [1, 3, 3, 1] where [1, 2, 2, 1] is expected"},
  };
}
std::vector<OpSample> gather_samples() {
  return {
      {.inputs = {spread_image({1, 4, 4, 2}), {.shape = {1, 4, 4, 2}}}, .attributes = window_attributes(2, 2, "VALID")},
      {.inputs = {spread_image({2, 5, 4, 1}), {.shape = {2, 5, 4, 1}}}, .attributes = window_attributes(3, 2, "SAME")},
      {.inputs = {{.shape = {1, 4, 4, 1}}, {.shape = {1, 3, 3, 1}}},
       .attributes = window_attributes(2, 2, "VALID"),
       .error = "shapes differ, [1, 4, 4, 1] and [1, 3, 3, 1]"},
  };
}

// Calls visit(index of the result, indices of x in its window) for every window.
template <class Visit>
Shape for_each_window(const Shape& x, const AttributeMap& attributes, const Visit& visit) {
  PoolAttributes a;
  set_field(a.ksize, attributes.at("ksize"), "", "");
  set_field(a.strides, attributes.at("strides"), "", "");
  set_field(a.padding, attributes.at("padding"), "", "");
  const Pool2DShape s = pool_shape("reference", x, a);
  std::size_t out = 0;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t i = 0; i < s.out_height; ++i)
      for (std::int64_t j = 0; j < s.out_width; ++j)
        for (std::int64_t c = 0; c < s.channels; ++c) {
          std::vector<std::size_t> window;
          for (std::int64_t di = 0; di < s.window_height; ++di)
            for (std::int64_t dj = 0; dj < s.window_width; ++dj) {
              const std::int64_t row = i * s.stride_height + di - s.pad_top;
              const std::int64_t column = j * s.stride_width + dj - s.pad_left;
              if (row < 0 || row >= s.in_height || column < 0 || column >= s.in_width) continue;
              window.push_back(
                  static_cast<std::size_t>(((n * s.in_height + row) * s.in_width + column) * s.channels + c));
            }
          visit(out++, window);
        }
  return result_of(s);
}
std::size_t largest_of(const std::vector<double>& x, const std::vector<std::size_t>& window) {
  std::size_t best = window.front();
  for (std::size_t i : window) {
    if (x[i] > x[best]) best = i;
  }
  return best;
}
double mean_of(const std::vector<double>& x, const std::vector<std::size_t>& window) {
  double sum = 0;
  for (std::size_t i : window) sum += x[i];
  return sum / static_cast<double>(window.size());
}

template <bool kMaximum>
void pool_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ReferenceTensor>& outputs) {
  const std::vector<double>& x = inputs[0].values;
  ReferenceTensor out{.dtype = inputs[0].dtype};
  out.shape = for_each_window(inputs[0].shape, attributes, [&](std::size_t, const std::vector<std::size_t>& window) {
    out.values.push_back(kMaximum ? x[largest_of(x, window)] : mean_of(x, window));
  });
  outputs = {out};
}
template <bool kMaximum>
void scatter_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                       std::vector<ReferenceTensor>& outputs) {
  ReferenceTensor out = inputs[0];
  std::fill(out.values.begin(), out.values.end(), 0.0);
  for_each_window(inputs[0].shape, attributes, [&](std::size_t y, const std::vector<std::size_t>& window) {
    const double g = inputs[1].values[y];
    if (kMaximum) {
      out.values[largest_of(inputs[0].values, window)] += g;
    } else {
      for (std::size_t i : window) out.values[i] += g / static_cast<double>(window.size());
    }
  });
  outputs = {out};
}
void gather_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
  ReferenceTensor out{.dtype = inputs[0].dtype};
  out.shape = for_each_window(inputs[0].shape, attributes, [&](std::size_t, const std::vector<std::size_t>& window) {
    out.values.push_back(inputs[1].values[largest_of(inputs[0].values, window)]);
  });
  outputs = {out};
}

const OpTest kMaxPool2DTest = {.samples = pool_samples, .reference = pool_reference<true>};
const OpTest kAvgPool2DTest = {.samples = pool_samples, .reference = pool_reference<false>};
const OpTest kMaxPool2DScatterTest = {.samples = scatter_samples, .reference = scatter_reference<true>};
const OpTest kAvgPool2DScatterTest = {.samples = scatter_samples, .reference = scatter_reference<false>};
const OpTest kMaxPool2DGatherTest = {.samples = gather_samples, .reference = gather_reference};

#endif

}  // namespace

constinit const OpDef kMaxPool2D = {
    .name = "max_pool2d",
    .text = "The largest element of each window of an image.",
    .flags = kCheapAgain | kReadsRows,
    .attributes = &kPoolAttributes,
    .infer = infer_maximum,
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
            max_pool2d<T>(pool_shape(call), WideInput<T>(call.input(0)), WideOutput<T>(outputs[0]));
          });
        },
    .saves = {.inputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const auto& a = call.attributes<PoolAttributes>();
          cotangents[0] = max_pool2d_scatter(call.input(0), call.cotangent(), to_array(a.ksize), to_array(a.strides),
                                             unpack(a.padding));
        },
    .batch = batch_examples,
    .test = CAPSTAN_OP_TEST(kMaxPool2DTest),
};

constinit const OpDef kMaxPool2DScatter = {
    .name = "max_pool2d_scatter",
    .text = "The gradient of max_pool2d: each element of g at the place of its maximum in x.",
    .flags = kFinishesRows | kReadsRows,
    .arity = 2,
    .input_names = "x, g",
    .attributes = &kPoolAttributes,
    .infer = infer_scatter,
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
            max_pool2d_gradient<T>(pool_shape(call), WideInput<T>(call.input(0)), WideInput<T>(call.input(1)),
                                   WideOutput<T>(outputs[0]));
          });
        },
    .saves = {.inputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          // Where the maxima lie does not change by small steps of x.
          const auto& a = call.attributes<PoolAttributes>();
          if (call.needs(1)) {
            cotangents[1] = max_pool2d_gather(call.input(0), call.cotangent(), to_array(a.ksize), to_array(a.strides),
                                              unpack(a.padding));
          }
        },
    .batch = batch_examples,
    .test = CAPSTAN_OP_TEST(kMaxPool2DScatterTest),
};

constinit const OpDef kMaxPool2DGather = {
    .name = "max_pool2d_gather",
    .text = "The elements of another image at the places of the maxima of x.",
    .arity = 2,
    .input_names = "x, from",
    .attributes = &kPoolAttributes,
    .infer = infer_gather,
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
            max_pool2d_gather<T>(pool_shape(call), WideInput<T>(call.input(0)), WideInput<T>(call.input(1)),
                                 WideOutput<T>(outputs[0]));
          });
        },
    .saves = {.inputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const auto& a = call.attributes<PoolAttributes>();
          if (call.needs(1)) {
            cotangents[1] = max_pool2d_scatter(call.input(0), call.cotangent(), to_array(a.ksize), to_array(a.strides),
                                               unpack(a.padding));
          }
        },
    .batch = batch_examples,
    .test = CAPSTAN_OP_TEST(kMaxPool2DGatherTest),
};

constinit const OpDef kAvgPool2D = {
    .name = "avg_pool2d",
    .text = "The mean of each window of an image; padding is not counted.",
    .flags = kLinear | kCheapAgain | kReadsRows,
    .attributes = &kPoolAttributes,
    .infer = infer_average,
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
            average_pool2d<T>(pool_shape(call), WideInput<T>(call.input(0)), WideOutput<T>(outputs[0]));
          });
        },
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const auto& a = call.attributes<PoolAttributes>();
          cotangents[0] = avg_pool2d_scatter(call.input(0), call.cotangent(), to_array(a.ksize), to_array(a.strides),
                                             unpack(a.padding));
        },
    .batch = batch_examples,
    .test = CAPSTAN_OP_TEST(kAvgPool2DTest),
};

constinit const OpDef kAvgPool2DScatter = {
    .name = "avg_pool2d_scatter",
    .text = "The gradient of avg_pool2d: each element of g in equal parts over its window.",
    .flags = kLinear,
    .arity = 2,
    .input_names = "like, g",
    .attributes = &kPoolAttributes,
    .infer = infer_scatter,
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
            average_pool2d_gradient<T>(pool_shape(call), WideInput<T>(call.input(1)), WideOutput<T>(outputs[0]));
          });
        },
    .shape_inputs = 1,
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const auto& a = call.attributes<PoolAttributes>();
          if (call.needs(1)) {
            cotangents[1] = avg_pool2d(call.cotangent(), to_array(a.ksize), to_array(a.strides), unpack(a.padding));
          }
        },
    .batch = batch_examples,
    .test = CAPSTAN_OP_TEST(kAvgPool2DScatterTest),
};

Tensor max_pool2d(Operand x, std::array<std::int64_t, 2> ksize, std::array<std::int64_t, 2> strides, Padding padding) {
  const PoolAttributes attributes = pool_attributes(ksize, strides, padding);
  return apply(kMaxPool2D, x, &attributes);
}
Tensor avg_pool2d(Operand x, std::array<std::int64_t, 2> ksize, std::array<std::int64_t, 2> strides, Padding padding) {
  const PoolAttributes attributes = pool_attributes(ksize, strides, padding);
  return apply(kAvgPool2D, x, &attributes);
}
Tensor max_pool2d_scatter(Operand x, Operand g, std::array<std::int64_t, 2> ksize, std::array<std::int64_t, 2> strides,
                          Padding padding) {
  const PoolAttributes attributes = pool_attributes(ksize, strides, padding);
  return apply(kMaxPool2DScatter, x, g, &attributes);
}
Tensor max_pool2d_gather(Operand x, Operand from, std::array<std::int64_t, 2> ksize,
                         std::array<std::int64_t, 2> strides, Padding padding) {
  const PoolAttributes attributes = pool_attributes(ksize, strides, padding);
  return apply(kMaxPool2DGather, x, from, &attributes);
}
Tensor avg_pool2d_scatter(Operand like, Operand g, std::array<std::int64_t, 2> ksize,
                          std::array<std::int64_t, 2> strides, Padding padding) {
  const PoolAttributes attributes = pool_attributes(ksize, strides, padding);
  return apply(kAvgPool2DScatter, like, g, &attributes);
}

OpFamily pool_ops() {
  static constexpr const OpDef* ops[] = {&kMaxPool2D, &kMaxPool2DScatter, &kMaxPool2DGather, &kAvgPool2D,
                                         &kAvgPool2DScatter};
  return ops;
}

}  // namespace capstan
