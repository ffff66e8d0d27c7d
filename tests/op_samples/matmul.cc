// Samples and references of the ops in src/ops/linalg/matmul.cc.
#include <cstdint>
#include <vector>

#include "src/core/apply.h"
#include "tests/op_samples/op_test.h"

namespace capstan::testing {

namespace {

bool truth(const AttributeMap& attributes, const char* name) {
  const auto found = attributes.find(name);
  return found != attributes.end() && found->second.truth;
}

std::vector<OpSample> matmul_samples() {
  std::vector<OpSample> samples;
  for (bool a : {false, true}) {
    for (bool b : {false, true}) {
      samples.push_back({.inputs = {{.shape = a ? Shape{4, 3} : Shape{3, 4}}, {.shape = b ? Shape{5, 4} : Shape{4, 5}}},
                         .attributes = {{"transpose_a", a}, {"transpose_b", b}}});
      samples.push_back({.inputs = {{.shape = a ? Shape{2, 1, 3, 2} : Shape{2, 1, 2, 3}},
                                    {.shape = b ? Shape{2, 2, 3} : Shape{2, 3, 2}}},
                         .attributes = {{"transpose_a", a}, {"transpose_b", b}}});
    }
  }
  samples.push_back({.inputs = {{.shape = {2, 3, 4}}, {.shape = {4, 2}}}});
  samples.push_back({.inputs = {{.shape = {2, 4}}, {.shape = {3, 4, 2}}}});
  samples.push_back({.inputs = {{.shape = {2, 0}}, {.shape = {0, 3}}}});
  samples.push_back({.inputs = {{.shape = {0, 2}}, {.shape = {2, 3}}}});
  samples.push_back({.inputs = {{.shape = {2, 3}}, {.shape = {2, 3}}}, .error = "inner dimensions differ, 3 and 2"});
  samples.push_back({.inputs = {{.shape = {3}}, {.shape = {3, 2}}}, .error = "operands need rank 2 or more"});
  samples.push_back({.inputs = {{.shape = {2, 2, 3}}, {.shape = {3, 3, 2}}}, .error = "shapes do not broadcast"});
  return samples;
}

Shape batch_of(const Shape& shape) { return Shape(shape.dims().first(static_cast<std::size_t>(shape.rank() - 2))); }

void matmul_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
  const ReferenceTensor& a = inputs[0];
  const ReferenceTensor& b = inputs[1];
  const bool turn_a = truth(attributes, "transpose_a");
  const bool turn_b = truth(attributes, "transpose_b");
  const std::int64_t m = turn_a ? a.shape[-1] : a.shape[-2];
  const std::int64_t k = turn_a ? a.shape[-2] : a.shape[-1];
  const std::int64_t n = turn_b ? b.shape[-2] : b.shape[-1];
  ReferenceTensor out{.dtype = a.dtype, .shape = broadcast_shapes("reference", batch_of(a.shape), batch_of(b.shape))};
  const Shape batch = out.shape;
  out.shape.push_back(m);
  out.shape.push_back(n);
  const auto start = [&](const Shape& shape, std::int64_t index) {
    std::int64_t position = 0;
    std::int64_t stride = shape[-1] * shape[-2];
    for (int i = batch.rank() - 1; i >= 0; --i) {
      const int axis = i - (batch.rank() + 2 - shape.rank());
      if (axis >= 0) {
        position += (shape[axis] == 1 ? 0 : index % batch[i]) * stride;
        stride *= shape[axis];
      }
      index /= batch[i];
    }
    return position;
  };
  for (std::int64_t index = 0; index < batch.size(); ++index) {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const std::int64_t x = start(a.shape, index) + (turn_a ? l * m + i : i * k + l);
          const std::int64_t y = start(b.shape, index) + (turn_b ? j * k + l : l * n + j);
          sum += a.values[static_cast<std::size_t>(x)] * b.values[static_cast<std::size_t>(y)];
        }
        out.values.push_back(sum);
      }
    }
  }
  outputs = {out};
}

std::vector<OpSample> matvec_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}, {.shape = {3}}}},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2}}}, .attributes = {{"transpose_a", true}}},
      {.inputs = {{.shape = {2, 3, 4}}, {.shape = {2, 4}}}},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2}}}, .error = "matvec: inner dimensions differ, 3 and 2"},
  };
}
void matvec_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
  std::vector<ReferenceTensor> matrices = inputs;
  matrices[1].shape.push_back(1);
  matmul_reference(matrices, attributes, outputs);
  outputs[0].shape = Shape(outputs[0].shape.dims().first(static_cast<std::size_t>(outputs[0].shape.rank() - 1)));
}

const OpTests kMatmulTests = {
    {"matmul",
     {.samples = matmul_samples,
      .reference = matmul_reference,
      .over_complex = OverComplex::kProduct,
      .dtypes = {float32, float64, bfloat16, int32, int64, complex64, complex128}}},
    {"matvec",
     {.samples = matvec_samples,
      .reference = matvec_reference,
      .over_complex = OverComplex::kProduct,
      .dtypes = {float32, float64, int32, complex64, complex128}}},
};

}  // namespace

}  // namespace capstan::testing
