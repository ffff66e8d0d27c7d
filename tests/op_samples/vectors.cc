// Samples and references of the ops in src/ops/linalg/vectors.cc.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> adjoint_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}}},
      {.inputs = {{.shape = {2, 3, 2}}}},
      {.inputs = {{.shape = {0, 2}}}},
      {.inputs = {{.shape = {3}}}, .error = "takes matrices, not a tensor of rank 1"},
  };
}
void adjoint_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                       std::vector<ReferenceTensor>& outputs) {
  Shape shape = inputs[0].shape;
  shape.set(-1, inputs[0].shape[-2]);
  shape.set(-2, inputs[0].shape[-1]);
  outputs = {reference::build(inputs[0].dtype, shape, [&](reference::Position p) {
    std::swap(p[p.size() - 1], p[p.size() - 2]);
    return reference::at(inputs[0], p);
  })};
}
void complex_adjoint_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&,
                               std::vector<ComplexTensor>& outputs) {
  ComplexTensor out{.shape = inputs[0].shape};
  out.shape.set(-1, inputs[0].shape[-2]);
  out.shape.set(-2, inputs[0].shape[-1]);
  reference::for_each(out.shape, [&](reference::Position p) {
    std::swap(p[p.size() - 1], p[p.size() - 2]);
    out.values.push_back(std::conj(inputs[0].values[reference::flat(inputs[0].shape, p)]));
  });
  outputs = {out};
}
std::vector<OpSample> trace_samples() {
  return {
      {.inputs = {{.shape = {3, 3}}}},
      {.inputs = {{.shape = {2, 2, 3}}}},
      {.inputs = {{.shape = {0, 2}}}},
      {.inputs = {{.shape = {3}}}, .error = "trace: takes matrices, not a tensor of rank 1"},
  };
}
void trace_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                     std::vector<ReferenceTensor>& outputs) {
  const ReferenceTensor& a = inputs[0];
  const Shape batch(a.shape.dims().first(static_cast<std::size_t>(a.shape.rank() - 2)));
  outputs = {reference::build(a.dtype, batch, [&](reference::Position p) {
    double sum = 0;
    for (std::int64_t i = 0; i < std::min(a.shape[-1], a.shape[-2]); ++i) {
      reference::Position place = p;
      place.push_back(i);
      place.push_back(i);
      sum += reference::at(a, place);
    }
    return sum;
  })};
}
std::vector<OpSample> cross_samples() {
  return {
      {.inputs = {{.shape = {3}}, {.shape = {3}}}},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2, 3}}}},
      {.inputs = {{.shape = {2}}, {.shape = {2}}}, .error = "cross: takes vectors of three, not [2]"},
      {.inputs = {{.shape = {}}, {.shape = {}}}, .error = "cross: takes vectors of three, not []"},
      {.inputs = {{.shape = {2, 3}}, {.shape = {3}}}, .error = "cross: shapes differ, [2, 3] and [3]"},
  };
}
void cross_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                     std::vector<ReferenceTensor>& outputs) {
  outputs = {inputs[0]};
  for (std::size_t v = 0; v < inputs[0].values.size(); v += 3) {
    const double* a = &inputs[0].values[v];
    const double* b = &inputs[1].values[v];
    for (std::size_t i = 0; i < 3; ++i) {
      outputs[0].values[v + i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
    }
  }
}
std::vector<OpSample> outer_samples() {
  return {
      {.inputs = {{.shape = {3}}, {.shape = {2}}}},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2}}}},
      {.inputs = {{.shape = {}}, {.shape = {2}}}},
      {.inputs = {{.shape = {0}}, {.shape = {2}}}},
      {.inputs = {{.shape = {1, 1, 1, 1, 1}}, {.shape = {1, 1, 1, 1}}}, .error = "outer: the result has 9 axes"},
  };
}
void outer_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                     std::vector<ReferenceTensor>& outputs) {
  ReferenceTensor out{inputs[0].dtype, inputs[0].shape, {}};
  for (const std::int64_t length : inputs[1].shape) out.shape.push_back(length);
  for (const double a : inputs[0].values) {
    for (const double b : inputs[1].values) out.values.push_back(a * b);
  }
  outputs = {out};
}
std::vector<OpSample> kron_samples() {
  return {
      {.inputs = {{.shape = {2, 3}}, {.shape = {3, 2}}}},
      {.inputs = {{.shape = {1, 1}}, {.shape = {2, 2}}}},
      {.inputs = {{.shape = {0, 2}}, {.shape = {2, 2}}}},
      {.inputs = {{.shape = {3}}, {.shape = {2, 2}}}, .error = "kron: takes matrices, not a tensor of rank 1"},
  };
}
void kron_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                    std::vector<ReferenceTensor>& outputs) {
  const ReferenceTensor& a = inputs[0];
  const ReferenceTensor& b = inputs[1];
  const Shape shape{a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]};
  outputs = {reference::build(a.dtype, shape, [&](const reference::Position& p) {
    return reference::at(a, {p[0] / b.shape[0], p[1] / b.shape[1]}) *
           reference::at(b, {p[0] % b.shape[0], p[1] % b.shape[1]});
  })};
}

const OpTests kVectorsTests = {
    {"adjoint",
     {.samples = adjoint_samples,
      .reference = adjoint_reference,
      .complex_reference = complex_adjoint_reference,
      .dtypes = reference::kEveryDType}},
    {"matrix_transpose",
     {.samples = adjoint_samples, .reference = adjoint_reference, .dtypes = reference::kEveryDType}},
    {"trace",
     {.samples = trace_samples,
      .reference = trace_reference,
      .dtypes = {float32, float64, bfloat16, int32, int64, complex64, complex128}}},
    {"cross", {.samples = cross_samples, .reference = cross_reference, .dtypes = {float32, float64, int32, int64}}},
    {"outer",
     {.samples = outer_samples,
      .reference = outer_reference,
      .over_complex = OverComplex::kProduct,
      .dtypes = {float32, float64, int32, int64, complex64, complex128}}},
    {"kron", {.samples = kron_samples, .reference = kron_reference, .dtypes = {float32, float64, int32}}},
};

}  // namespace

}  // namespace capstan::testing
