// The Cholesky factor, and what is computed with it.
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/named_errors.h"
#include "src/core/op_test.h"
#include "src/kernels/factorisations.h"
#include "src/ops/batching.h"
#include "src/ops/matrix_families.h"
#include "src/ops/matrices.h"
#include "src/ops/reference_matrix.h"

namespace capstan {

namespace {

void infer_cholesky(const Call& call, OutputSpecs& outputs) {
  const TensorRef& a = call.input(0);
  square_matrices(call.op.name, a);
  outputs.add(a.dtype(), a.shape());
}

void run_cholesky(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& a = call.input(0);
  const Lapack& lapack = need_lapack(call.op.name);
  const Matrices matrices = matrices_of(call.op.name, a);
  const std::int64_t n = matrices.rows;
  with_matrix_type(a.dtype(), [&]<class T>(T) {
    const T* in = a.data<T>();
    T* out = mutable_data<T>(outputs[0]);
    const double work = static_cast<double>(n * n * n) / 6 + static_cast<double>(n * n);
    const MatrixFailure failure = for_each_matrix(
        matrices.count, work, [&](std::int64_t i) { return cholesky(lapack, n, in + i * n * n, out + i * n * n); });
    CAPSTAN_CHECK(!failure, ValueError, call.op.name, ": ", which_matrix(failure, matrices),
                  " is not positive definite: its leading minor of order ", failure.code, " is not positive",
                  arguments({{"a", a}}));
  });
}

// The factor depends on the lower triangle only, but the gradient is that for a symmetric matrix, shared by both
// triangles.
void vjp_cholesky(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& l = call.output();
  const Tensor inner = matmul(adjoint(l), call.cotangent());
  const Tensor middle = band_part(set_diag(inner, 0.5 * diag_part(inner)), -1, 0);
  // l^-H middle l^-1
  const Tensor left = triangular_solve(l, middle, true, true);
  const Tensor whole = adjoint(triangular_solve(l, adjoint(left), true, true));
  cotangents[0] = hermitian_part(whole);
}

#if CAPSTAN_TESTING
const std::vector<double> kPositive2 = {4, 1, 1, 3};
const std::vector<double> kPositive3 = {4, 1, -0.5, 1, 3, 0.7, -0.5, 0.7, 2};

std::vector<OpSample> cholesky_samples() {
  return {
      {.inputs = {{.shape = {3, 3}, .values = kPositive3}}},
      {.inputs = {{.shape = {2, 2, 2}, .values = {4, 1, 1, 3, 2, -0.5, -0.5, 1}}}},
      {.inputs = {{.shape = {1, 1}, .values = {2.25}}}},
      {.inputs = {{.shape = {0, 0}}}},
      {.inputs = {{.shape = {0, 2, 2}}}},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, 2, 1}}},
       .error = "cholesky: the matrix is not positive definite: its leading minor of order 2"},
      {.inputs = {{.shape = {2, 2, 2}, .values = {4, 1, 1, 3, 0, 0, 0, 0}}}, .error = "matrix 1 is not positive"},
      {.inputs = {{.shape = {2, 2}, .values = {NAN, 2, 2, 1}}}, .error = "is not positive definite"},
      {.inputs = {{.shape = {2, 3}}}, .error = "cholesky: takes square matrices, not 2 by 3"},
      {.inputs = {{.shape = {3}}}, .error = "cholesky: takes matrices, not a tensor of rank 1"},
      {.inputs = {{.shape = {0, 1 << 25}}}, .error = "cholesky: matrices of 0 by 33554432 are too large"},
      {.inputs = {{.shape = {2, 2}, .dtype = int32, .differentiable = false}}, .error = "dtype int32 is not supported"},
  };
}
reference::Matrix cholesky_of(const reference::Matrix& a) {
  reference::Matrix l(a.rows, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      reference::Complex sum = a(i, j);
      for (std::int64_t k = 0; k < j; ++k) sum -= l(i, k) * std::conj(l(j, k));
      l(i, j) = i == j ? std::sqrt(sum) : sum / l(j, j);
    }
  }
  return l;
}
void cholesky_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&,
                        std::vector<ComplexTensor>& outputs) {
  outputs = {reference::map_matrices(inputs[0], inputs[0].shape[-2], inputs[0].shape[-1], cholesky_of)};
}
const OpTest kCholeskyTest = {.samples = cholesky_samples,
                              .reference = reference::real_reference<cholesky_reference>,
                              .complex_reference = cholesky_reference,
                              .dtypes = reference::kMatrixDTypes};

std::vector<OpSample> cholesky_solve_samples() {
  const std::vector<double> factor = {2, 0, 0, 0.5, 1.5, 0, -0.3, 0.4, 1.2};
  return {
      {.inputs = {{.shape = {3, 3}, .values = factor}, {.shape = {3, 2}}}},
      {.inputs = {{.shape = {2, 2}, .values = {2, 0, 0.5, 1.5}}, {.shape = {3, 2, 1}}}},
      {.inputs = {{.shape = {2, 2}, .values = {2, 0, 0.5, 1.5}}, {.shape = {3, 1}}}, .error = "2 rows and 3"},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2, 1}}}, .error = "takes square matrices, not 2 by 3"},
  };
}
void cholesky_solve_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&,
                              std::vector<ComplexTensor>& outputs) {
  outputs = {
      reference::map_matrices(inputs[1], inputs[1].shape[-2], inputs[1].shape[-1], [&](const reference::Matrix& b) {
        const reference::Matrix l = reference::matrix_of(inputs[0], 0);
        return reference::solved(reference::product(l, reference::adjoint_of(l)), b);
      })};
}
const OpTest kCholeskySolveTest = {.samples = cholesky_solve_samples,
                                   .reference = reference::real_reference<cholesky_solve_reference>,
                                   .complex_reference = cholesky_solve_reference,
                                   .dtypes = reference::kMatrixDTypes};

std::vector<OpSample> logdet_samples() {
  return {
      {.inputs = {{.shape = {3, 3}, .values = kPositive3}}},
      {.inputs = {{.shape = {2, 2, 2}, .values = {4, 1, 1, 3, 2, -0.5, -0.5, 1}}}},
      {.inputs = {{.shape = {0, 0}}}},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, 2, 1}}}, .error = "the matrix is not positive definite"},
      {.inputs = {{.shape = {2, 3}}}, .error = "takes square matrices, not 2 by 3"},
  };
}
void logdet_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&,
                      std::vector<ComplexTensor>& outputs) {
  outputs = {reference::map_to_number(inputs[0], [](const reference::Matrix& a) {
    const reference::Matrix l = cholesky_of(a);
    double sum = 0;
    for (std::int64_t i = 0; i < l.rows; ++i) sum += 2 * std::log(l(i, i).real());
    return reference::Complex(sum);
  })};
  outputs[0].dtype = float64;
}
const OpTest kLogdetTest = {.samples = logdet_samples,
                            .reference = reference::real_reference<logdet_reference>,
                            .complex_reference = logdet_reference,
                            .dtypes = reference::kMatrixDTypes};
#endif

}  // namespace

constinit const OpDef kCholesky = {
    .name = "cholesky",
    .text = "The lower triangular factor l of positive definite matrices, a = l l^H.",
    .input_names = "a",
    .infer = infer_cholesky,
    .kernel = run_cholesky,
    .saves = {.outputs = 1},
    .vjp = vjp_cholesky,
    .batch = batch_leading,
    .test = CAPSTAN_OP_TEST(kCholeskyTest),
};

constinit const OpDef kCholeskySolve = {
    .name = "cholesky_solve",
    .text = "Solves l l^H x = rhs, given the factor l.",
    .kind = OpKind::kComposite,
    .arity = 2,
    .input_names = "chol, rhs",
    .compose = [](std::span<const Operand> inputs, const void*,
                  std::vector<Tensor>& outputs) { outputs.push_back(cholesky_solve(inputs[0], inputs[1])); },
    .test = CAPSTAN_OP_TEST(kCholeskySolveTest),
};

constinit const OpDef kLogdet = {
    .name = "logdet",
    .text = "The logarithm of the determinant of positive definite matrices.",
    .kind = OpKind::kComposite,
    .input_names = "a",
    .compose = [](std::span<const Operand> inputs, const void*,
                  std::vector<Tensor>& outputs) { outputs.push_back(logdet(inputs[0])); },
    .test = CAPSTAN_OP_TEST(kLogdetTest),
};

Tensor cholesky(Operand a) { return apply(kCholesky, a); }

Tensor cholesky_solve(Operand chol, Operand rhs) try {
  const Tensor l = to_tensor(chol);
  return triangular_solve(l, triangular_solve(l, rhs), true, true);
} catch (const Error&) {
  rethrow_as("cholesky_solve");
}

Tensor logdet(Operand a) try { return 2.0 * reduce_sum(log(real(diag_part(cholesky(a)))), -1); } catch (const Error&) {
  rethrow_as("logdet");
}

OpFamily cholesky_ops() {
  static constexpr const OpDef* ops[] = {&kCholesky, &kCholeskySolve, &kLogdet};
  return ops;
}

}  // namespace capstan
