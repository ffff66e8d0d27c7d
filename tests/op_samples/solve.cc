// Samples and references of the ops in src/ops/decompositions/solve.cc.
#include <cstdint>
#include <vector>

#include "src/core/apply.h"
#include "src/ops/decompositions/matrices.h"
#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference_matrix.h"

namespace capstan::testing {

namespace {

const std::vector<double> kRegular3 = {2, 0.5, -1, 0.3, -1.5, 0.7, 1.1, 0.4, 3};
const std::vector<double> kRegular22 = {2, 0.5, -1, 1.5, 0.3, -1.5, 2, 0.7};

std::vector<OpSample> solve_samples() {
  return {
      {.inputs = {{.shape = {3, 3}, .values = kRegular3}, {.shape = {3, 2}}}},
      {.inputs = {{.shape = {3, 3}, .values = kRegular3}, {.shape = {3, 1}}}, .attributes = {{"adjoint", true}}},
      {.inputs = {{.shape = {2, 2, 2}, .values = kRegular22}, {.shape = {2, 2, 1}}}},
      {.inputs = {{.shape = {2, 2}, .values = {2, 0.5, -1, 1.5}}, {.shape = {3, 2, 1}}}},
      {.inputs = {{.shape = {2, 2}, .values = {2, 0.5, -1, 1.5}}, {.shape = {2, 0}}}},
      {.inputs = {{.shape = {0, 0}}, {.shape = {0, 2}}}},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, 2, 4}}, {.shape = {2, 1}}}, .error = "solve: matrix 0 is not inv"},
      {.inputs = {{.shape = {2, 2}}, {.shape = {3, 1}}}, .error = "2 rows and 3 values per right-hand side"},
      {.inputs = {{.shape = {2, 2}}, {.shape = {2}}}, .error = "takes matrices, not a tensor of rank 1"},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2, 1}}}, .error = "takes square matrices, not 2 by 3"},
      {.inputs = {{.shape = {2, 2, 2}}, {.shape = {3, 2, 1}}}, .error = "shapes do not broadcast"},
  };
}
ComplexTensor solve_reference_of(const std::vector<ComplexTensor>& inputs, bool adjoint) {
  const Shape batch =
      broadcast_shapes("reference", reference::batch_of(inputs[0].shape), reference::batch_of(inputs[1].shape));
  ComplexTensor out;
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    const reference::Matrix a = reference::matrix_of(inputs[0], i);
    const reference::Matrix b = reference::matrix_of(inputs[1], i);
    reference::append(out, reference::solved(adjoint ? reference::adjoint_of(a) : a, b).values);
  }
  out.shape = matrix_shape(batch, inputs[1].shape[-2], inputs[1].shape[-1]);
  return out;
}
void solve_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap& attributes,
                     std::vector<ComplexTensor>& outputs) {
  outputs = {solve_reference_of(inputs, reference::flag(attributes, "adjoint"))};
}
std::vector<OpSample> triangular_samples() {
  std::vector<OpSample> samples;
  for (bool lower : {false, true}) {
    for (bool adjoint : {false, true}) {
      samples.push_back({.inputs = {{.shape = {3, 3}, .values = kRegular3}, {.shape = {3, 2}}},
                         .attributes = {{"lower", lower}, {"adjoint", adjoint}}});
    }
  }
  samples.push_back({.inputs = {{.shape = {2, 2, 2}, .values = kRegular22}, {.shape = {2, 1}}}});
  samples.push_back({.inputs = {{.shape = {2, 2}, .values = {2, 0.5, -1, 1.5}}, {.shape = {3, 2, 1}}}});
  samples.push_back({.inputs = {{.shape = {0, 0}}, {.shape = {0, 2}}}});
  samples.push_back({.inputs = {{.shape = {2, 2}, .values = {1, 2, 2, 0}}, {.shape = {2, 1}}},
                     .error = "matrix 0 is not invertible, element 1 of its diagonal is 0"});
  samples.push_back({.inputs = {{.shape = {2, 2}}, {.shape = {3, 1}}}, .error = "2 rows and 3 values"});
  return samples;
}
void triangular_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap& attributes,
                          std::vector<ComplexTensor>& outputs) {
  const bool lower = reference::flag(attributes, "lower", true);
  std::vector<ComplexTensor> cut = inputs;
  const std::int64_t n = inputs[0].shape[-1];
  for (std::size_t k = 0; k < cut[0].values.size(); ++k) {
    const auto i = static_cast<std::int64_t>(k) / n % n;
    const auto j = static_cast<std::int64_t>(k) % n;
    if (lower ? j > i : j < i) cut[0].values[k] = 0;
  }
  outputs = {solve_reference_of(cut, reference::flag(attributes, "adjoint"))};
}
std::vector<OpSample> inv_samples() {
  return {
      {.inputs = {{.shape = {3, 3}, .values = kRegular3}}},
      {.inputs = {{.shape = {3, 3}, .values = kRegular3}}, .attributes = {{"adjoint", true}}},
      {.inputs = {{.shape = {2, 2, 2}, .values = kRegular22}}},
      {.inputs = {{.shape = {0, 0}}}},
      {.inputs = {{.shape = {0, 2, 2}}}},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, 2, 4}}}, .error = "inv: the matrix is not invertible"},
      {.inputs = {{.shape = {2, 3}}}, .error = "inv: takes square matrices, not 2 by 3"},
      {.inputs = {{.shape = {2, 2}, .dtype = int32, .differentiable = false}}, .error = "dtype int32 is not supported"},
  };
}
void inv_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap& attributes,
                   std::vector<ComplexTensor>& outputs) {
  const std::int64_t n = inputs[0].shape[-1];
  outputs = {reference::map_matrices(inputs[0], n, n, [&](const reference::Matrix& a) {
    const reference::Matrix inverse = reference::solved(a, reference::identity(n, n));
    return reference::flag(attributes, "adjoint") ? reference::adjoint_of(inverse) : inverse;
  })};
}

const OpTests kSolveTests = {
    {"solve",
     {.samples = solve_samples,
      .reference = reference::real_reference<solve_reference>,
      .complex_reference = solve_reference,
      .dtypes = reference::kMatrixDTypes}},
    {"triangular_solve",
     {.samples = triangular_samples,
      .reference = reference::real_reference<triangular_reference>,
      .complex_reference = triangular_reference,
      .dtypes = reference::kMatrixDTypes}},
    {"inv",
     {.samples = inv_samples,
      .reference = reference::real_reference<inv_reference>,
      .complex_reference = inv_reference,
      .dtypes = reference::kMatrixDTypes}},
};

}  // namespace

}  // namespace capstan::testing
