// Samples and references of the ops in src/ops/decompositions/least_squares.cc.
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/op_samples/op_test.h"
#include "tests/op_samples/reference_matrix.h"

namespace capstan::testing {

namespace {

std::vector<OpSample> pinv_samples() {
  const std::vector<double> values = {1.2, -0.7, 0.4, 0.9, -1.5, 0.3};
  return {
      {.inputs = {{.shape = {3, 2}, .values = values}}},
      {.inputs = {{.shape = {2, 3}, .values = values}}},
      {.inputs = {{.shape = {2, 2, 2}, .values = {2, 0.5, -1, 1.5, 0.3, -1.5, 2, 0.7}}}},
      {.inputs = {{.shape = {2, 2}, .values = {0, 1, -1, 0}}}, .attributes = {{"rcond", 1e-3}}},
      {.inputs = {{.shape = {2, 0}}}},
      {.inputs = {{.shape = {3}}}, .error = "takes matrices, not a tensor of rank 1"},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, NAN, 3}}}, .error = "matrix 0 has elements that are not finite"},
  };
}
// Of full rank: (a^T a)^-1 a^T, or the other way round.
reference::Matrix pinv_of(const reference::Matrix& a) {
  const reference::Matrix turned = reference::adjoint_of(a);
  if (a.rows < a.columns) return reference::adjoint_of(pinv_of(turned));
  return reference::solved(reference::product(turned, a), turned);
}
void pinv_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&,
                    std::vector<ComplexTensor>& outputs) {
  const Shape& shape = inputs[0].shape;
  outputs = {reference::map_matrices(inputs[0], shape[-1], shape[-2], pinv_of)};
}
std::vector<OpSample> lstsq_samples() {
  const std::vector<double> values = {1.2, -0.7, 0.4, 0.9, -1.5, 0.3};
  return {
      {.inputs = {{.shape = {3, 2}, .values = values}, {.shape = {3, 2}}}},
      {.inputs = {{.shape = {2, 3}, .values = values}, {.shape = {2, 1}}}},
      {.inputs = {{.shape = {3, 2}, .values = values}, {.shape = {3, 1}}}, .attributes = {{"l2_regularizer", 0.5}}},
      {.inputs = {{.shape = {2, 3}, .values = values}, {.shape = {2, 1}}}, .attributes = {{"l2_regularizer", 0.5}}},
      {.inputs = {{.shape = {3, 2}, .values = values}, {.shape = {3, 1}}}, .attributes = {{"fast", false}}},
      {.inputs = {{.shape = {2, 3}, .values = values}, {.shape = {2, 1}}}, .attributes = {{"fast", false}}},
      {.inputs = {{.shape = {3, 2}}, {.shape = {2, 1}}}, .error = "lstsq: 3 rows and 2 values per right-hand side"},
      {.inputs = {{.shape = {3, 2}}, {.shape = {3}}}, .error = "lstsq: takes matrices, not a tensor of rank 1"},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, 2, 4}}, {.shape = {2, 1}}}, .error = "does not have full rank"},
      {.inputs = {{.shape = {3, 2}}, {.shape = {3, 1}}},
       .attributes = {{"l2_regularizer", -1.0}},
       .error = "lstsq: l2_regularizer must not be negative, it is -1"},
  };
}
void lstsq_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap& attributes,
                     std::vector<ComplexTensor>& outputs) {
  const double l2 = reference::flag(attributes, "fast", true) ? reference::number(attributes, "l2_regularizer", 0) : 0;
  const reference::Matrix a = reference::matrix_of(inputs[0], 0);
  const reference::Matrix b = reference::matrix_of(inputs[1], 0);
  const reference::Matrix turned = reference::adjoint_of(a);
  const bool deep = a.rows >= a.columns;
  reference::Matrix gram = deep ? reference::product(turned, a) : reference::product(a, turned);
  for (std::int64_t i = 0; i < gram.rows; ++i) gram(i, i) += l2;
  const reference::Matrix x = deep ? reference::solved(gram, reference::product(turned, b))
                                   : reference::product(turned, reference::solved(gram, b));
  outputs = {{DType::kComplex128, {x.rows, x.columns}, x.values}};
}

const OpTests kLeastSquaresTests = {
    {"pinv",
     {.samples = pinv_samples,
      .reference = reference::real_reference<pinv_reference>,
      .complex_reference = pinv_reference,
      .dtypes = reference::kMatrixDTypes}},
    {"lstsq",
     {.samples = lstsq_samples,
      .reference = reference::real_reference<lstsq_reference>,
      .complex_reference = lstsq_reference,
      .dtypes = reference::kMatrixDTypes}},
};

}  // namespace

}  // namespace capstan::testing
