// Eigenvalues of general matrices: complex numbers, also of real matrices.
#include <complex>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "src/core/named_errors.h"
#include "src/ops/batching.h"
#include "src/ops/decompositions/matrices.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

void infer_eigvals(const Call& call, OutputSpecs& outputs) {
  const TensorRef& a = call.input(0);
  CAPSTAN_CHECK(is_complex(a.dtype()), DTypeError, call.op.name, ": dtype ", a.dtype(), " is not supported",
                arguments({{"a", a}}));
  const Matrices matrices = square_matrices(call.op.name, a);
  outputs.hand_on(matrices);
  outputs.add(a.dtype(), vector_shape(matrices.batch, matrices.rows));
}

void infer_eig(const Call& call, OutputSpecs& outputs) {
  infer_eigvals(call, outputs);
  outputs.add(call.input(0).dtype(), call.input(0).shape());
}

template <class T>
void eig_of(const Call& call, std::span<Tensor> outputs) {
  const Lapack& lapack = need_lapack(call.op.name);
  const auto& matrices = call.geometry<Matrices>();
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
Tensor from_basis(const Tensor& v, const Tensor& inner) {
  return solve(v, matmul(inner, adjoint(v)), {.adjoint = true});
}

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
    .inputs = "a",
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
};

constinit const OpDef kEigvals = {
    .name = "eigvals",
    .text = "The eigenvalues of square matrices.",
    .inputs = "a",
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

CAPSTAN_OPS(eigen, &kEig, &kEigvals);

}  // namespace capstan
