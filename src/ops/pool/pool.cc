// Maximum and average pooling.
//
// The gradient of the maximum sends each cotangent to the place of its maximum; that is linear in
// the cotangent, and its own gradient gathers from those places, whose gradient scatters again.
// Averages scatter evenly, which does not depend on the image at all. So four small ops close under
// differentiation.

#include "capstan/ops/nn.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/ops/batching.h"
#include "src/ops/examples.h"
#include "src/ops/family.h"
#include "src/ops/pool/pool_op.h"
#include "src/ops/wide.h"

namespace capstan {

namespace {

constexpr const AttributeType& kPoolAttributes = attribute_table<PoolAttributes, "ksize, strides, padding", 3>;

PoolAttributes pool_attributes(const std::array<std::int64_t, 2>& ksize, const std::array<std::int64_t, 2>& strides,
                               const Padding& padding) {
  return {ksize, strides, pack(padding)};
}

void check_floating(const Call& call) {
  CAPSTAN_CHECK(is_floating(call.input(0).dtype()), DTypeError, call.op.name, ": dtype ", call.input(0).dtype(),
                " is not supported", arguments({{"x", call.input(0)}}));
}

// Returns the shape of the pooled image.
Shape infer_windows(const Call& call, OutputSpecs& outputs) {
  return result_of(outputs.hand_on(
      [&] { return pool_shape(call.op.name, call.input(0).shape(), call.attributes<PoolAttributes>()); }));
}

void infer_average(const Call& call, OutputSpecs& outputs) {
  check_floating(call);
  outputs.add(call.input(0).dtype(), infer_windows(call, outputs));
}
void infer_maximum(const Call& call, OutputSpecs& outputs) {
  if (call.input(0).dtype() != DType::kInt32) check_floating(call);
  outputs.add(call.input(0).dtype(), infer_windows(call, outputs));
}
// [image, gradient of the result] -> image
void infer_scatter(const Call& call, OutputSpecs& outputs) {
  check_floating(call);
  const Shape due = infer_windows(call, outputs);
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
  outputs.add(call.input(0).dtype(), infer_windows(call, outputs));
}

}  // namespace

extern const OpDef kMaxPool2DScatter, kMaxPool2DGather, kAvgPool2DScatter;

constinit const OpDef kMaxPool2D = {
    .name = "max_pool2d",
    .text = "The largest element of each window of an image.",
    .flags = kCheapAgain | kReadsRows,
    .attributes = &kPoolAttributes,
    .infer = infer_maximum,
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
            max_pool2d<T>(call.geometry<Pool2DShape>(), WideInput<T>(call.input(0)), WideOutput<T>(outputs[0]),
                          call.execution);
          });
        },
    .saves = {.inputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          cotangents[0] = apply(kMaxPool2DScatter, call.input(0), call.cotangent(), call.attribute_data());
        },
    .batch = batch_examples,
    .programs = &kByExample,
};

constinit const OpDef kMaxPool2DScatter = {
    .name = "max_pool2d_scatter",
    .text = "The gradient of max_pool2d: each element of g at the place of its maximum in x.",
    .flags = kFinishesRows | kReadsRows,
    .inputs = "x, g",
    .attributes = &kPoolAttributes,
    .infer = infer_scatter,
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
            max_pool2d_gradient<T>(call.geometry<Pool2DShape>(), WideInput<T>(call.input(0)),
                                   WideInput<T>(call.input(1)), WideOutput<T>(outputs[0]), call.execution);
          });
        },
    .saves = {.inputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          // Where the maxima lie does not change by small steps of x.
          if (call.needs(1))
            cotangents[1] = apply(kMaxPool2DGather, call.input(0), call.cotangent(), call.attribute_data());
        },
    .batch = batch_examples,
    .programs = &kByExample,
};

constinit const OpDef kMaxPool2DGather = {
    .name = "max_pool2d_gather",
    .text = "The elements of another image at the places of the maxima of x.",
    .inputs = "x, from",
    .attributes = &kPoolAttributes,
    .infer = infer_gather,
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
            max_pool2d_gather<T>(call.geometry<Pool2DShape>(), WideInput<T>(call.input(0)), WideInput<T>(call.input(1)),
                                 WideOutput<T>(outputs[0]), call.execution);
          });
        },
    .saves = {.inputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          if (call.needs(1))
            cotangents[1] = apply(kMaxPool2DScatter, call.input(0), call.cotangent(), call.attribute_data());
        },
    .batch = batch_examples,
    .programs = &kByExample,
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
            average_pool2d<T>(call.geometry<Pool2DShape>(), WideInput<T>(call.input(0)), WideOutput<T>(outputs[0]),
                              call.execution);
          });
        },
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          cotangents[0] = apply(kAvgPool2DScatter, call.input(0), call.cotangent(), call.attribute_data());
        },
    .batch = batch_examples,
    .programs = &kByExample,
};

constinit const OpDef kAvgPool2DScatter = {
    .name = "avg_pool2d_scatter",
    .text = "The gradient of avg_pool2d: each element of g in equal parts over its window.",
    .flags = kLinear,
    .inputs = "like, g",
    .attributes = &kPoolAttributes,
    .infer = infer_scatter,
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          with_wide_type(call.input(0).dtype(), [&]<class T>(T) {
            average_pool2d_gradient<T>(call.geometry<Pool2DShape>(), WideInput<T>(call.input(1)),
                                       WideOutput<T>(outputs[0]), call.execution);
          });
        },
    .shape_inputs = 1,
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          if (call.needs(1)) cotangents[1] = apply(kAvgPool2D, call.cotangent(), call.attribute_data());
        },
    .batch = batch_examples,
    .programs = &kByExample,
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

CAPSTAN_OPS(pool, &kMaxPool2D, &kMaxPool2DScatter, &kMaxPool2DGather, &kAvgPool2D, &kAvgPool2DScatter);

}  // namespace capstan
