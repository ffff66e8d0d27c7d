// Linear equations: general, triangular, by inverses, and in the least-squares sense.
#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "src/kernels/decompositions/factorisations.h"
#include "src/ops/batching.h"
#include "src/ops/decompositions/matrices.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

struct SolveAttributes {
  bool adjoint = false;
};
constexpr const AttributeType& kSolveAttributes = attribute_table<SolveAttributes, "adjoint">;

struct TriangularAttributes {
  bool lower = true;
  bool adjoint = false;
};

// Square matrices and right-hand sides with as many rows; the batches broadcast.
struct Systems {
  Matrices left, right;
  Shape batch;
};
void infer_solve(const Call& call, OutputSpecs& outputs) {
  const TensorRef& a = call.input(0);
  const TensorRef& b = call.input(1);
  const Matrices matrices = square_matrices(call.op.name, a);
  const Matrices right = factorable(call.op.name, b);
  CAPSTAN_CHECK(matrices.rows == right.rows, ShapeError, call.op.name, ": ", matrices.rows, " rows and ", right.rows,
                " values per right-hand side", arguments({{"matrix", a}, {"rhs", b}}));
  const Shape batch = broadcast_shapes(call.op.name, matrices.batch, right.batch);
  outputs.add(a.dtype(), matrix_shape(batch, right.rows, right.columns));
  outputs.hand_on(Systems{matrices, right, batch});
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
  const auto& of = call.geometry<Systems>();
  const std::int64_t n = of.left.rows;
  const std::int64_t size = n * of.right.columns;
  const T* a = call.input(0).data<T>();
  const T* b = call.input(1).data<T>();
  T* x = mutable_data<T>(output);
  const double work = static_cast<double>(n * n) * static_cast<double>(n + of.right.columns);
  return for_each_matrix(of.batch.size(), work, [&](std::int64_t i) {
    return one(n, of.right.columns, a + broadcast_index(of.batch, of.left.batch, i) * n * n,
               b + broadcast_index(of.batch, of.right.batch, i) * size, x + i * size);
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
  const Tensor g = solve(call.input(0), call.cotangent(), {.adjoint = !adjoint_of_a});
  if (call.needs(0)) cotangents[0] = -(adjoint_of_a ? matmul(x, adjoint(g)) : matmul(g, adjoint(x)));
  if (call.needs(1)) cotangents[1] = g;
}

void vjp_triangular_solve(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& attributes = call.attributes<TriangularAttributes>();
  const Tensor& x = call.output();
  const Tensor g =
      triangular_solve(call.input(0), call.cotangent(), {.lower = attributes.lower, .adjoint = !attributes.adjoint});
  if (call.needs(0)) {
    const Tensor full = -(attributes.adjoint ? matmul(x, adjoint(g)) : matmul(g, adjoint(x)));
    cotangents[0] = attributes.lower ? band_part(full, -1, 0) : band_part(full, 0, -1);
  }
  if (call.needs(1)) cotangents[1] = g;
}

// A matrix that is the same for all items is factorised once: their right-hand sides are side by side.
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
  const auto& matrices = call.geometry<Matrices>();
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

}  // namespace

constinit const OpDef kSolve = {
    .name = "solve",
    .text = "Solves matrix x = rhs.",
    .inputs = "matrix, rhs",
    .attributes = &kSolveAttributes,
    .infer = infer_solve,
    .kernel = run_solve,
    .saves = {.inputs = 1, .outputs = 1},
    .vjp = vjp_solve,
    .batch = batch_solve,
};

constinit const OpDef kTriangularSolve = {
    .name = "triangular_solve",
    .text = "Solves matrix x = rhs with one triangle of the matrix.",
    .inputs = "matrix, rhs",
    .attributes = &attribute_table<TriangularAttributes, "lower, adjoint">,
    .infer = infer_solve,
    .kernel = run_triangular_solve,
    .saves = {.inputs = 1, .outputs = 1},
    .vjp = vjp_triangular_solve,
    .batch = batch_solve,
};

constinit const OpDef kInv = {
    .name = "inv",
    .text = "The inverse of square matrices, or of their adjoints.",
    .inputs = "a",
    .attributes = &kSolveAttributes,
    .infer = infer_square,
    .kernel = run_inv,
    .saves = {.outputs = 1},
    .vjp = vjp_inv,
    .batch = batch_leading,
};

Tensor solve(Operand matrix, Operand rhs, const SolveOptions& options) {
  const SolveAttributes attributes{options.adjoint};
  return apply(kSolve, matrix, rhs, &attributes);
}

Tensor triangular_solve(Operand matrix, Operand rhs, const TriangularSolveOptions& options) {
  const TriangularAttributes attributes{options.lower, options.adjoint};
  return apply(kTriangularSolve, matrix, rhs, &attributes);
}

Tensor inv(Operand a, const SolveOptions& options) {
  const SolveAttributes attributes{options.adjoint};
  return apply(kInv, a, &attributes);
}

CAPSTAN_OPS(solve, &kSolve, &kTriangularSolve, &kInv);

}  // namespace capstan
