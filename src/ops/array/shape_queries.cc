// What is known of a shape, as tensors: shape, size, rank. No element is read.
#include "capstan/ops/array.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

struct ShapeAttributes {
  DType out_type = DType::kInt32;
};
constexpr const AttributeType& kShapeAttributes = attribute_table<ShapeAttributes, "out_type">;

DType index_type(const Call& call) {
  const DType dtype = call.attributes<ShapeAttributes>().out_type;
  CAPSTAN_CHECK(dtype == DType::kInt32 || dtype == DType::kInt64, DTypeError, call.op.name,
                ": out_type must be int32 or int64, not ", dtype);
  return dtype;
}

void write_index(const Tensor& out, std::int64_t position, std::int64_t value, std::string_view op) {
  if (out.dtype() == DType::kInt64) {
    mutable_data<std::int64_t>(out)[position] = value;
    return;
  }
  CAPSTAN_CHECK(value <= INT32_MAX, ValueError, op, ": ", value, " does not fit int32", help("ask for out_type int64"));
  mutable_data<std::int32_t>(out)[position] = static_cast<std::int32_t>(value);
}

void shape_kernel(const Call& call, std::span<Tensor> outputs) {
  for (int i = 0; i < call.input(0).rank(); ++i) write_index(outputs[0], i, call.input(0).dim(i), "shape");
}
void size_kernel(const Call& call, std::span<Tensor> outputs) {
  write_index(outputs[0], 0, call.input(0).size(), "size");
}
void rank_kernel(const Call& call, std::span<Tensor> outputs) {
  write_index(outputs[0], 0, call.input(0).rank(), "rank");
}

constexpr OpDef kShape = {
    .name = "shape",
    .text = "The lengths of the axes, as a vector.",
    .flags = kNotDifferentiable,
    .attributes = &kShapeAttributes,
    .infer = [](const Call& call, OutputSpecs& outputs) { outputs.add(index_type(call), Shape{call.input(0).rank()}); },
    .kernel = shape_kernel,
    .shape_inputs = 0b1,
};
constexpr OpDef kSize = {
    .name = "size",
    .text = "The number of elements, as a scalar.",
    .flags = kNotDifferentiable,
    .attributes = &kShapeAttributes,
    .infer = [](const Call& call, OutputSpecs& outputs) { outputs.add(index_type(call), Shape{}); },
    .kernel = size_kernel,
    .shape_inputs = 0b1,
};
constexpr OpDef kRank = {
    .name = "rank",
    .text = "The number of axes, as a scalar.",
    .flags = kNotDifferentiable,
    .attributes = &kShapeAttributes,
    .infer = [](const Call& call, OutputSpecs& outputs) { outputs.add(index_type(call), Shape{}); },
    .kernel = rank_kernel,
    .shape_inputs = 0b1,
};

}  // namespace

Tensor shape(Operand x, DType out_type) {
  const ShapeAttributes attributes{out_type};
  return apply(kShape, x, &attributes);
}
Tensor size(Operand x, DType out_type) {
  const ShapeAttributes attributes{out_type};
  return apply(kSize, x, &attributes);
}
Tensor rank(Operand x, DType out_type) {
  const ShapeAttributes attributes{out_type};
  return apply(kRank, x, &attributes);
}

CAPSTAN_OPS(shape_queries, &kShape, &kSize, &kRank);

}  // namespace capstan
