// Eigenvalues of general matrices: complex numbers, also of real matrices.
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "src/core/named_errors.h"
#include "src/core/op_test.h"
#include "src/ops/batching.h"
#include "src/ops/matrices.h"
#include "src/ops/matrix_families.h"
#include "src/ops/reference_matrix.h"

namespace capstan {

namespace {

void infer_eigvals(const Call& call, OutputSpecs& outputs) {
  const TensorRef& a = call.input(0);
  CAPSTAN_CHECK(is_complex(a.dtype()), DTypeError, call.op.name, ": dtype ", a.dtype(), " is not supported",
                arguments({{"a", a}}));
  const Matrices matrices = square_matrices(call.op.name, a);
  outputs.add(a.dtype(), vector_shape(matrices.batch, matrices.rows));
}

void infer_eig(const Call& call, OutputSpecs& outputs) {
  infer_eigvals(call, outputs);
  outputs.add(call.input(0).dtype(), call.input(0).shape());
}

template <class T>
void eig_of(const Call& call, std::span<Tensor> outputs) {
  const Lapack& lapack = need_lapack(call.op.name);
  const Matrices matrices = matrices_of(call.op.name, call.input(0));
  const std::int64_t n = matrices.rows;
  const T* in = call.input(0).data<T>();
  T* w = mutable_data<T>(outputs[0]);
  T* v = outputs.size() > 1 ? mutable_data<T>(outputs[1]) : nullptr;
  const double work = 25 * static_cast<double>(n * n) * static_cast<double>(n);
  check_spectral(
      call.op.name, for_each_matrix(matrices.count, work, [&](std::int64_t i) {
        return static_cast<int>(eig(lapack, n, in + i * n * n, w + i * n, v == nullptr ? nullptr : v + i * n * n));
      }));
}

// Eigenvalues, and vectors if there is a second output.
void run_eig(const Call& call, std::span<Tensor> outputs) {
  if (call.input(0).dtype() == DType::kComplex64) {
    eig_of<std::complex<float>>(call, outputs);
  } else {
    eig_of<std::complex<double>>(call, outputs);
  }
}

// v^-H inner v^H
Tensor from_basis(const Tensor& v, const Tensor& inner) { return solve(v, matmul(inner, adjoint(v)), true); }

// A change of the matrix, in the basis of its vectors, moves vector j along vector i by its element [i, j] over the
// difference of the two eigenvalues; the length of the vectors stays one. Phases are free.
void vjp_eig(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& w = call.output(0);
  const Tensor& v = call.output(1);
  const Tensor& gw = call.cotangent(0);
  if (!call.has_cotangent(1)) {
    cotangents[0] = from_basis(v, diag(gw));
    return;
  }
  const Tensor& gv = call.cotangent(1);
  const Tensor along = matmul(adjoint(v), gv);
  const Tensor lengths = as_dtype_of(real(diag_part(along)), v);
  const Tensor inner = conj(reciprocal_gaps(w)) * (along - matmul(adjoint(v), v * as_row(lengths)));
  cotangents[0] = from_basis(v, set_diag(inner, gw));
}

#if CAPSTAN_TESTING
// Of triangular matrices, whose eigenvalues LAPACK finds in the order of the diagonal.
std::vector<OpSample> eig_samples() {
  return {
      {.inputs = {{.shape = {3, 3}, .values = {2, 0.5, -1, 0, -1.5, 0.7, 0, 0, 3}}}},
      {.inputs = {{.shape = {2, 2, 2}, .values = {2, 0.5, 0, 1.5, 0.3, -1.5, 0, 0.7}}}},
      {.inputs = {{.shape = {1, 1}}}},
      {.inputs = {{.shape = {0, 0}}}},
      {.inputs = {{.shape = {0, 2, 2}}}},
      {.inputs = {{.shape = {2, 3}}}, .error = "takes square matrices, not 2 by 3"},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, NAN, 3}}}, .error = "matrix 0 has elements that are not finite"},
      {.inputs = {{.shape = {2, 2}, .dtype = int32, .differentiable = false}}, .error = "dtype int32 is not supported"},
  };
}
void eig_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&, std::vector<ComplexTensor>& outputs) {
  const Shape batch = reference::batch_of(inputs[0].shape);
  const std::int64_t n = inputs[0].shape[-1];
  outputs.resize(2);
  outputs[0].shape = vector_shape(batch, n);
  outputs[1].shape = inputs[0].shape;
  for (std::int64_t index = 0; index < batch.size(); ++index) {
    const reference::Matrix a = reference::matrix_of(inputs[0], index);
    reference::Matrix v = reference::identity(n, n);
    for (std::int64_t j = 0; j < n; ++j) {
      outputs[0].values.push_back(a(j, j));
      double length = 1;
      for (std::int64_t i = j - 1; i >= 0; --i) {
        reference::Complex sum = 0;
        for (std::int64_t k = i + 1; k <= j; ++k) sum += a(i, k) * v(k, j);
        v(i, j) = sum / (a(j, j) - a(i, i));
        length += std::norm(v(i, j));
      }
      for (std::int64_t i = 0; i <= j; ++i) v(i, j) /= std::sqrt(length);
      reference::fix_sign(v, j);
    }
    reference::append(outputs[1], v.values);
  }
}
void eigvals_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap& attributes,
                       std::vector<ComplexTensor>& outputs) {
  eig_reference(inputs, attributes, outputs);
  outputs.resize(1);
}
const OpTest kEigTest = {.samples = eig_samples, .complex_reference = eig_reference, .dtypes = {complex64, complex128}};
const OpTest kEigvalsTest = {
    .samples = eig_samples, .complex_reference = eigvals_reference, .dtypes = {complex64, complex128}};
#endif

Tensor as_complex(std::string_view op, Operand a) {
  const Tensor x = to_tensor(a);
  factorable(op, x);
  return cast(x, complex_dtype(x.dtype()));
}

}  // namespace

constinit const OpDef kEig = {
    .name = "eig",
    .text = "The eigenvalues and eigenvectors of square matrices.",
    .outputs = 2,
    .input_names = "a",
    .infer = infer_eig,
    .kernel = run_eig,
    .saves = {.outputs = 3},
    .vjp = vjp_eig,
    .batch = batch_leading,
    .compose =
        [](std::span<const Operand> inputs, const void*, std::vector<Tensor>& outputs) {
          Eigenpairs pairs = eig(inputs[0]);
          outputs.push_back(std::move(pairs.eigenvalues));
          outputs.push_back(std::move(pairs.eigenvectors));
        },
    .test = CAPSTAN_OP_TEST(kEigTest),
};

constinit const OpDef kEigvals = {
    .name = "eigvals",
    .text = "The eigenvalues of square matrices.",
    .input_names = "a",
    .infer = infer_eigvals,
    .kernel = run_eig,
    .saves = {.inputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          cotangents[0] = from_basis(eig(call.input(0)).eigenvectors, diag(call.cotangent()));
        },
    .batch = batch_leading,
    .compose = [](std::span<const Operand> inputs, const void*,
                  std::vector<Tensor>& outputs) { outputs.push_back(eigvals(inputs[0])); },
    .test = CAPSTAN_OP_TEST(kEigvalsTest),
};

Eigenpairs eig(Operand a) try {
  const Tensor matrix = as_complex("eig", a);
  Operand x = matrix;
  std::vector<Tensor> outputs = apply_all(kEig, std::span(&x, 1));
  return {std::move(outputs[0]), std::move(outputs[1])};
} catch (const Error&) {
  rethrow_as("eig");
}

Tensor eigvals(Operand a) try { return apply(kEigvals, as_complex("eigvals", a)); } catch (const Error&) {
  rethrow_as("eigvals");
}

}  // namespace capstan
