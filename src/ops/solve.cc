// Linear equations: general, triangular, by inverses, and in the least-squares sense.
#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "src/core/op_test.h"
#include "src/kernels/factorisations.h"
#include "src/ops/batching.h"
#include "src/ops/matrix_families.h"
#include "src/ops/matrices.h"
#include "src/ops/reference_matrix.h"

namespace capstan {

namespace {

struct SolveAttributes {
  bool adjoint = false;
};
constexpr AttributeType kSolveAttributes =
    attribute_type<SolveAttributes>({field<&SolveAttributes::adjoint>("adjoint")});

struct TriangularAttributes {
  bool lower = true;
  bool adjoint = false;
};
constexpr AttributeType kTriangularAttributes = attribute_type<TriangularAttributes>(
    {field<&TriangularAttributes::lower>("lower"), field<&TriangularAttributes::adjoint>("adjoint")});

// Square matrices and right-hand sides with as many rows; the batches broadcast.
void infer_solve(const Call& call, OutputSpecs& outputs) {
  const TensorRef& a = call.input(0);
  const TensorRef& b = call.input(1);
  const Matrices matrices = square_matrices(call.op.name, a);
  const Matrices right = factorable(call.op.name, b);
  CAPSTAN_CHECK(matrices.rows == right.rows, ShapeError, call.op.name, ": ", matrices.rows, " rows and ", right.rows,
                " values per right-hand side", arguments({{"matrix", a}, {"rhs", b}}));
  const Shape batch = broadcast_shapes(call.op.name, matrices.batch, right.batch);
  outputs.add(a.dtype(), matrix_shape(batch, right.rows, right.columns));
}

// The number of the operand's matrix that meets matrix `index` of a broadcast batch.
std::int64_t broadcast_index(const Shape& batch, const Shape& own, std::int64_t index) {
  std::int64_t result = 0;
  std::int64_t stride = 1;
  for (int axis = 1; axis <= own.rank(); ++axis) {
    if (own[-axis] != 1) result += index % batch[-axis] * stride;
    stride *= own[-axis];
    index /= batch[-axis];
  }
  return result;
}

// Calls code = one(a, b, x) for every matrix and right-hand side.
template <class T, class One>
MatrixFailure solve_each(const Call& call, Tensor& output, const One& one) {
  const Matrices matrices = matrices_of(call.op.name, call.input(0));
  const Matrices right = matrices_of(call.op.name, call.input(1));
  const Shape batch = matrices_of(call.op.name, output).batch;
  const std::int64_t n = matrices.rows;
  const std::int64_t size = n * right.columns;
  const T* a = call.input(0).data<T>();
  const T* b = call.input(1).data<T>();
  T* x = mutable_data<T>(output);
  const double work = static_cast<double>(n * n) * static_cast<double>(n + right.columns);
  return for_each_matrix(batch.size(), work, [&](std::int64_t i) {
    return one(n, right.columns, a + broadcast_index(batch, matrices.batch, i) * n * n,
               b + broadcast_index(batch, right.batch, i) * size, x + i * size);
  });
}

void run_solve(const Call& call, std::span<Tensor> outputs) {
  const Lapack& lapack = need_lapack(call.op.name);
  const bool adjoint = call.attributes<SolveAttributes>().adjoint;
  with_matrix_type(call.input(0).dtype(), [&]<class T>(T) {
    const MatrixFailure failure =
        solve_each<T>(call, outputs[0], [&](std::int64_t n, std::int64_t columns, const T* a, const T* b, T* x) {
          return solve(lapack, n, columns, adjoint, a, b, x);
        });
    CAPSTAN_CHECK(!failure, ValueError, call.op.name, ": matrix ", failure.matrix, " is not invertible",
                  arguments({{"matrix", call.input(0)}}));
  });
}

void run_triangular_solve(const Call& call, std::span<Tensor> outputs) {
  const Lapack& lapack = need_lapack(call.op.name);
  const auto& attributes = call.attributes<TriangularAttributes>();
  with_matrix_type(call.input(0).dtype(), [&]<class T>(T) {
    const MatrixFailure failure =
        solve_each<T>(call, outputs[0], [&](std::int64_t n, std::int64_t columns, const T* a, const T* b, T* x) {
          std::copy_n(b, n * columns, x);
          return triangular_solve(lapack, n, columns, attributes.lower, attributes.adjoint, a, x);
        });
    CAPSTAN_CHECK(!failure, ValueError, call.op.name, ": matrix ", failure.matrix, " is not invertible, element ",
                  failure.code - 1, " of its diagonal is 0", arguments({{"matrix", call.input(0)}}));
  });
}

// With x = a^-1 b: for b the solution of the adjoint equation, for a minus its product with x^H.
void vjp_solve(const VjpCall& call, std::span<Tensor> cotangents) {
  const bool adjoint_of_a = call.attributes<SolveAttributes>().adjoint;
  const Tensor& x = call.output();
  const Tensor g = solve(call.input(0), call.cotangent(), !adjoint_of_a);
  if (call.needs(0)) cotangents[0] = -(adjoint_of_a ? matmul(x, adjoint(g)) : matmul(g, adjoint(x)));
  if (call.needs(1)) cotangents[1] = g;
}

void vjp_triangular_solve(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& attributes = call.attributes<TriangularAttributes>();
  const Tensor& x = call.output();
  const Tensor g = triangular_solve(call.input(0), call.cotangent(), attributes.lower, !attributes.adjoint);
  if (call.needs(0)) {
    const Tensor full = -(attributes.adjoint ? matmul(x, adjoint(g)) : matmul(g, adjoint(x)));
    cotangents[0] = attributes.lower ? band_part(full, -1, 0) : band_part(full, 0, -1);
  }
  if (call.needs(1)) cotangents[1] = g;
}

// A matrix that is the same for all items is factorised once: their right-hand sides stand side by side.
bool batch_solve(const BatchCall& call, std::vector<Tensor>& outputs) {
  if (call.is_batched(0) || call.item_rank(0) != 2 || call.item_rank(1) != 2) return batch_broadcasting(call, outputs);
  const Shape b = call.input(1).shape();
  call_again(call, {call.input(0), reshape(transpose(call.input(1), {1, 0, 2}), {b[1], b[0] * b[2]})},
             call.attribute_data, outputs);
  outputs[0] = transpose(reshape(outputs[0], {b[1], b[0], b[2]}), {1, 0, 2});
  return true;
}

void run_inv(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& a = call.input(0);
  const Lapack& lapack = need_lapack(call.op.name);
  const bool adjoint = call.attributes<SolveAttributes>().adjoint;
  const Matrices matrices = matrices_of(call.op.name, a);
  const std::int64_t size = matrices.rows * matrices.rows;
  with_matrix_type(a.dtype(), [&]<class T>(T) {
    const T* in = a.data<T>();
    T* out = mutable_data<T>(outputs[0]);
    const double work = static_cast<double>(size) * static_cast<double>(2 * matrices.rows);
    const MatrixFailure failure = for_each_matrix(matrices.count, work, [&](std::int64_t i) {
      return inverse(lapack, matrices.rows, adjoint, in + i * size, out + i * size);
    });
    CAPSTAN_CHECK(!failure, ValueError, call.op.name, ": ", which_matrix(failure, matrices), " is not invertible",
                  arguments({{"a", a}}));
  });
}

void vjp_inv(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& y = call.output();
  const Tensor& g = call.cotangent();
  if (call.attributes<SolveAttributes>().adjoint) {
    cotangents[0] = -matmul(y, matmul(adjoint(g), y));
  } else {
    const Tensor turned = adjoint(y);
    cotangents[0] = -matmul(turned, matmul(g, turned));
  }
}

#if CAPSTAN_TESTING
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
const OpTest kSolveTest = {.samples = solve_samples,
                           .reference = reference::real_reference<solve_reference>,
                           .complex_reference = solve_reference,
                           .dtypes = reference::kMatrixDTypes};

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
const OpTest kTriangularSolveTest = {.samples = triangular_samples,
                                     .reference = reference::real_reference<triangular_reference>,
                                     .complex_reference = triangular_reference,
                                     .dtypes = reference::kMatrixDTypes};

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
const OpTest kInvTest = {.samples = inv_samples,
                         .reference = reference::real_reference<inv_reference>,
                         .complex_reference = inv_reference,
                         .dtypes = reference::kMatrixDTypes};
#endif

}  // namespace

constinit const OpDef kSolve = {
    .name = "solve",
    .text = "Solves matrix x = rhs.",
    .arity = 2,
    .input_names = "matrix, rhs",
    .attributes = &kSolveAttributes,
    .infer = infer_solve,
    .kernel = run_solve,
    .saves = {.inputs = 1, .outputs = 1},
    .vjp = vjp_solve,
    .batch = batch_solve,
    .test = CAPSTAN_OP_TEST(kSolveTest),
};

constinit const OpDef kTriangularSolve = {
    .name = "triangular_solve",
    .text = "Solves matrix x = rhs with one triangle of the matrix.",
    .arity = 2,
    .input_names = "matrix, rhs",
    .attributes = &kTriangularAttributes,
    .infer = infer_solve,
    .kernel = run_triangular_solve,
    .saves = {.inputs = 1, .outputs = 1},
    .vjp = vjp_triangular_solve,
    .batch = batch_solve,
    .test = CAPSTAN_OP_TEST(kTriangularSolveTest),
};

constinit const OpDef kInv = {
    .name = "inv",
    .text = "The inverse of square matrices, or of their adjoints.",
    .input_names = "a",
    .attributes = &kSolveAttributes,
    .infer =
        [](const Call& call, OutputSpecs& outputs) {
          square_matrices(call.op.name, call.input(0));
          outputs.add(call.input(0).dtype(), call.input(0).shape());
        },
    .kernel = run_inv,
    .saves = {.outputs = 1},
    .vjp = vjp_inv,
    .batch = batch_leading,
    .test = CAPSTAN_OP_TEST(kInvTest),
};

Tensor solve(Operand matrix, Operand rhs, bool adjoint) {
  const SolveAttributes attributes{adjoint};
  return apply(kSolve, matrix, rhs, &attributes);
}

Tensor triangular_solve(Operand matrix, Operand rhs, bool lower, bool adjoint) {
  const TriangularAttributes attributes{lower, adjoint};
  return apply(kTriangularSolve, matrix, rhs, &attributes);
}

Tensor inv(Operand a, bool adjoint) {
  const SolveAttributes attributes{adjoint};
  return apply(kInv, a, &attributes);
}

OpFamily solve_ops() {
  static constexpr const OpDef* ops[] = {&kSolve, &kTriangularSolve, &kInv};
  return ops;
}

}  // namespace capstan
