// Determinants.
//
// The gradient of a determinant is the matrix of its cofactors, which exists for singular matrices as well,
// so it is not made of the inverse but an op of its own. Its kernel and its rule work in the basis of the
// singular vectors, where a matrix is diagonal and cofactors are products of singular values: no division,
// no special case.
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/kernels/decompositions/factorisations.h"
#include "src/ops/batching.h"
#include "src/ops/decompositions/matrices.h"
#include "src/ops/decompositions/regular.h"
#include "src/ops/family.h"

namespace capstan {

namespace {

// Calls write(i, determinant) for every matrix.
template <class T, class Write>
void each_determinant(const Call& call, const Write& write) {
  const TensorRef& a = call.input(0);
  const Lapack& lapack = need_lapack(call.op.name);
  const auto& matrices = call.geometry<Matrices>();
  const std::int64_t n = matrices.rows;
  const T* in = a.data<T>();
  for_each_matrix(matrices.count, static_cast<double>(n * n) * static_cast<double>(n), [&](std::int64_t i) {
    write(i, determinant(lapack, n, in + i * n * n));
    return 0;
  });
}

void infer_det(const Call& call, OutputSpecs& outputs) {
  const Matrices matrices = square_matrices(call.op.name, call.input(0));
  outputs.add(call.input(0).dtype(), matrices.batch);
  outputs.hand_on(matrices);
}

void run_det(const Call& call, std::span<Tensor> outputs) {
  with_matrix_type(call.input(0).dtype(), [&]<class T>(T) {
    T* out = mutable_data<T>(outputs[0]);
    each_determinant<T>(call, [&](std::int64_t i, const Determinant<T>& value) { out[i] = value.value; });
  });
}

void infer_slogdet(const Call& call, OutputSpecs& outputs) {
  infer_det(call, outputs);
  outputs.add(call.input(0).dtype(), outputs[0].shape);
}

void run_slogdet(const Call& call, std::span<Tensor> outputs) {
  with_matrix_type(call.input(0).dtype(), [&]<class T>(T) {
    T* sign = mutable_data<T>(outputs[0]);
    T* log = mutable_data<T>(outputs[1]);
    each_determinant<T>(call, [&](std::int64_t i, const Determinant<T>& value) {
      sign[i] = value.sign;
      log[i] = value.log;
    });
  });
}

// The logarithm of a complex determinant is log|det| + i angle: its cotangent times a^-H. The sign is exp(i angle), and
// of real numbers a constant. A singular matrix, whose logarithm is minus infinity, has none.
void vjp_slogdet(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& a = call.input(0);
  Tensor g = call.cotangent(1);
  if (is_complex(a.dtype())) g = complex(real(g), imag(call.cotangent(0) * conj(call.output(0))));
  const Tensor& log = call.output(1);
  const Tensor is_regular = is_finite(is_complex(a.dtype()) ? real(log) : log);
  cotangents[0] = or_nan(is_regular, as_row(as_column(g)) * inv(or_identity(is_regular, a), {.adjoint = true}));
}

void run_cofactors(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& a = call.input(0);
  const Lapack& lapack = need_lapack(call.op.name);
  const auto& matrices = call.geometry<Matrices>();
  const std::int64_t n = matrices.rows;
  with_matrix_type(a.dtype(), [&]<class T>(T) {
    const T* in = a.data<T>();
    T* out = mutable_data<T>(outputs[0]);
    for_each_matrix(matrices.count, 20 * static_cast<double>(n * n) * static_cast<double>(n), [&](std::int64_t i) {
      cofactors(lapack, n, in + i * n * n, out + i * n * n);
      return 0;
    });
  });
}

// The products of all singular values but those number i and j at [..., i, j]; 0 where i is j. Above the diagonal they
// are the products of those before i, between the two, and after j, so nothing is divided and zeros are no special
// case.
Tensor products_but_two(const Tensor& s) {
  const std::int64_t n = s.dim(-1);
  const Tensor above = band_part(ones({n, n}, s.dtype()), 0, -1) - eye(n, {}, s.dtype());
  const Tensor between = cumprod(above * as_row(s) + (1.0 - above), -1, {.exclusive = true});
  const Tensor before = as_column(cumprod(s, -1, {.exclusive = true}));
  const Tensor after = as_row(cumprod(s, -1, {.exclusive = true, .reverse = true}));
  const Tensor half = above * (before * between * after);
  return half + matrix_transpose(half);
}

// Along b, in the basis where the matrix is diag(s), cofactor [i, i] changes by the sum over j of p[i, j] b[j, j],
// cofactor [i, j] by -p[i, j] b[j, i]; p as above, and conjugates of all these for complex numbers. Second derivatives
// do not depend on their order, so this is its own adjoint. The third order goes through the gradient of svd, which
// needs distinct singular values above zero.
void vjp_cofactors(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& a = call.input(0);
  const Tensor all_finite = reduce_all(is_finite(is_complex(a.dtype()) ? abs(a) : a), {-2, -1});
  const SvdFactors factors = svd(or_identity(all_finite, a));
  const Tensor b = matmul(adjoint(factors.u), matmul(call.cotangent(), factors.v));
  const Tensor p = as_dtype_of(products_but_two(factors.s), a);
  const Tensor diagonal = squeeze(matmul(p, as_column(conj(diag_part(b)))), -1);
  const Tensor change = set_diag(-(p * adjoint(b)), diagonal);
  const Tensor turned = conj(det(factors.u)) * det(factors.v);
  cotangents[0] = or_nan(all_finite, as_row(as_column(turned)) * matmul(factors.u, matmul(change, adjoint(factors.v))));
}

}  // namespace

constinit const OpDef kDet = {
    .name = "det",
    .text = "The determinant of square matrices.",
    .inputs = "a",
    .infer = infer_det,
    .kernel = run_det,
    .saves = {.inputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          cotangents[0] = as_row(as_column(call.cotangent())) * cofactors(call.input(0));
        },
    .batch = batch_leading,
};

constinit const OpDef kSlogdet = {
    .name = "slogdet",
    .text = "The sign of the determinant, and the logarithm of its magnitude.",
    .outputs = 2,
    .inputs = "a",
    .infer = infer_slogdet,
    .kernel = run_slogdet,
    .saves = {.inputs = 1, .outputs = 3},
    .vjp = vjp_slogdet,
    .batch = batch_leading,
};

constinit const OpDef kCofactors = {
    .name = "cofactors",
    .text = "The cofactors of square matrices, singular ones included.",
    .inputs = "a",
    .infer = infer_square,
    .kernel = run_cofactors,
    .saves = {.inputs = 1},
    .vjp = vjp_cofactors,
    .batch = batch_leading,
};

Tensor det(Operand a) { return apply(kDet, a); }

SignAndLog slogdet(Operand a) {
  std::vector<Tensor> outputs = apply_all(kSlogdet, std::span(&a, 1));
  return {std::move(outputs[0]), std::move(outputs[1])};
}

Tensor cofactors(Operand a) { return apply(kCofactors, a); }

CAPSTAN_OPS(determinant, &kDet, &kSlogdet, &kCofactors);

}  // namespace capstan
