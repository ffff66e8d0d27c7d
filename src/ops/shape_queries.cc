// What is known of a shape, as tensors: shape, size, rank. No element is read.
#include "capstan/ops/array.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/op_test.h"
#include "src/ops/families.h"
#include "src/ops/reference.h"

namespace capstan {

namespace {

struct ShapeAttributes {
  DType out_type = DType::kInt32;
};
constexpr AttributeType kShapeAttributes =
    attribute_type<ShapeAttributes>({field<&ShapeAttributes::out_type>("out_type")});

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

// --- Samples and references ---

#if CAPSTAN_TESTING
using reference::build;
using reference::Position;
using Inputs = std::vector<ReferenceTensor>;
using Outputs = std::vector<ReferenceTensor>;

std::vector<OpSample> shape_samples() {
  return {{.inputs = {{.shape = {2, 3}}}},
          {.inputs = {{.shape = {}}}},
          {.inputs = {{.shape = {0, 4}}}, .attributes = {{"out_type", "int64"}}},
          {.inputs = {{.shape = {2}}}, .attributes = {{"out_type", "float32"}}, .error = "must be int32 or int64"}};
}
DType out_type(const AttributeMap& attributes) {
  return reference::has(attributes, "out_type") ? DType::kInt64 : DType::kInt32;
}
void shape_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  out = {build(out_type(attributes), {in[0].shape.rank()}, [&](const Position& position) {
    return static_cast<double>(in[0].shape[static_cast<int>(position[0])]);
  })};
}
void size_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  out = {{out_type(attributes), {}, {static_cast<double>(in[0].shape.size())}}};
}
void rank_reference(const Inputs& in, const AttributeMap& attributes, Outputs& out) {
  out = {{out_type(attributes), {}, {static_cast<double>(in[0].shape.rank())}}};
}
const OpTest kShapeTest = {.samples = shape_samples, .reference = shape_reference, .dtypes = reference::kEveryDType};
const OpTest kSizeTest = {.samples = shape_samples, .reference = size_reference, .dtypes = reference::kEveryDType};
const OpTest kRankTest = {.samples = shape_samples, .reference = rank_reference, .dtypes = reference::kEveryDType};

#endif

constexpr OpDef kShape = {
    .name = "shape",
    .text = "The lengths of the axes, as a vector.",
    .flags = kNotDifferentiable,
    .attributes = &kShapeAttributes,
    .infer = [](const Call& call, OutputSpecs& outputs) { outputs.add(index_type(call), Shape{call.input(0).rank()}); },
    .kernel = shape_kernel,
    .shape_inputs = 0b1,
    .test = CAPSTAN_OP_TEST(kShapeTest),
};
constexpr OpDef kSize = {
    .name = "size",
    .text = "The number of elements, as a scalar.",
    .flags = kNotDifferentiable,
    .attributes = &kShapeAttributes,
    .infer = [](const Call& call, OutputSpecs& outputs) { outputs.add(index_type(call), Shape{}); },
    .kernel = size_kernel,
    .shape_inputs = 0b1,
    .test = CAPSTAN_OP_TEST(kSizeTest),
};
constexpr OpDef kRank = {
    .name = "rank",
    .text = "The number of axes, as a scalar.",
    .flags = kNotDifferentiable,
    .attributes = &kShapeAttributes,
    .infer = [](const Call& call, OutputSpecs& outputs) { outputs.add(index_type(call), Shape{}); },
    .kernel = rank_kernel,
    .shape_inputs = 0b1,
    .test = CAPSTAN_OP_TEST(kRankTest),
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

OpFamily shape_query_ops() {
  static constexpr const OpDef* ops[] = {&kShape, &kSize, &kRank};
  return ops;
}

}  // namespace capstan
