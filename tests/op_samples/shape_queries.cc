// Samples and references of the ops in src/ops/array/shape_queries.cc.
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

using reference::build;
using reference::Position;

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

const OpTests kShapeQueriesTests = {
    {"shape", {.samples = shape_samples, .reference = shape_reference, .dtypes = reference::kEveryDType}},
    {"size", {.samples = shape_samples, .reference = size_reference, .dtypes = reference::kEveryDType}},
    {"rank", {.samples = shape_samples, .reference = rank_reference, .dtypes = reference::kEveryDType}},
};

}  // namespace

}  // namespace capstan::testing
