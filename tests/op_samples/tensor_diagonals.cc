// Samples and references of the ops in src/ops/diagonals/tensor_diagonals.cc.
#include <cstddef>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> tensor_diag_samples() {
  return {
      {.inputs = {{.shape = {3}}}},
      {.inputs = {{.shape = {2, 3}}}},
      {.inputs = {{.shape = {}}}},
      {.inputs = {{.shape = {1, 1, 1, 1, 1}}}, .error = "tensor_diag: takes tensors of rank 4 or less, not 5"},
  };
}
void tensor_diag_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                           std::vector<ReferenceTensor>& outputs) {
  const ReferenceTensor& x = inputs[0];
  Shape shape = x.shape;
  for (const std::int64_t length : x.shape) shape.push_back(length);
  outputs = {reference::build(x.dtype, shape, [&](const reference::Position& p) {
    const auto middle = p.begin() + static_cast<std::ptrdiff_t>(p.size() / 2);
    const reference::Position left(p.begin(), middle);
    return left == reference::Position(middle, p.end()) ? reference::at(x, left) : 0.0;
  })};
}
std::vector<OpSample> tensor_diag_part_samples() {
  return {
      {.inputs = {{.shape = {3, 3}}}},
      {.inputs = {{.shape = {2, 3, 2, 3}}}},
      {.inputs = {{.shape = {2, 3}}},
       .error = "tensor_diag_part: takes tensors whose shape is some shape twice, not [2"},
      {.inputs = {{.shape = {3}}}, .error = "tensor_diag_part: takes tensors whose shape is some shape twice, not [3]"},
  };
}
void tensor_diag_part_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                                std::vector<ReferenceTensor>& outputs) {
  const ReferenceTensor& x = inputs[0];
  const Shape half(x.shape.dims().first(static_cast<std::size_t>(x.shape.rank() / 2)));
  outputs = {reference::build(x.dtype, half, [&](reference::Position p) {
    const reference::Position again = p;
    p.insert(p.end(), again.begin(), again.end());
    return reference::at(x, p);
  })};
}

const OpTests kTensorDiagonalsTests = {
    {"tensor_diag",
     {.samples = tensor_diag_samples, .reference = tensor_diag_reference, .dtypes = {float32, float64, int32, int64}}},
    {"tensor_diag_part",
     {.samples = tensor_diag_part_samples,
      .reference = tensor_diag_part_reference,
      .dtypes = {float32, float64, int32, int64}}},
};

}  // namespace

}  // namespace capstan::testing
