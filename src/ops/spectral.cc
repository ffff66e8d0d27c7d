// Singular values and eigenvalues.
//
// The vectors of a decomposition are functions of the matrix only up to a factor each, and not at all where
// two values are equal. Gradients are those of functions that do not care: for equal values the
// undetermined part is left out (see reciprocal_gaps), as TensorFlow does.
#include <algorithm>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/named_errors.h"
#include "src/core/op_test.h"
#include "src/kernels/scratch.h"
#include "src/ops/batching.h"
#include "src/ops/matrix_families.h"
#include "src/ops/matrices.h"
#include "src/ops/reference_matrix.h"

namespace capstan {

namespace {

// --- svd ---

struct SvdAttributes {
  bool full_matrices = false;
  bool compute_uv = true;
};
constexpr AttributeType kSvdAttributes = attribute_type<SvdAttributes>(
    {field<&SvdAttributes::full_matrices>("full_matrices"), field<&SvdAttributes::compute_uv>("compute_uv")});

void infer_svd(const Call& call, OutputSpecs& outputs) {
  const TensorRef& a = call.input(0);
  const auto& attributes = call.attributes<SvdAttributes>();
  const Matrices matrices = factorable(call.op.name, a);
  const std::int64_t m = matrices.rows;
  const std::int64_t n = matrices.columns;
  const std::int64_t k = std::min(m, n);
  outputs.add(real_dtype(a.dtype()), vector_shape(matrices.batch, k));
  if (!attributes.compute_uv) return;
  outputs.add(a.dtype(), matrix_shape(matrices.batch, m, attributes.full_matrices ? m : k));
  outputs.add(a.dtype(), matrix_shape(matrices.batch, n, attributes.full_matrices ? n : k));
}

void run_svd(const Call& call, std::span<Tensor> outputs) {
  const TensorRef& a = call.input(0);
  const auto& attributes = call.attributes<SvdAttributes>();
  const Lapack& lapack = need_lapack(call.op.name);
  const Matrices matrices = matrices_of(call.op.name, a);
  const std::int64_t m = matrices.rows;
  const std::int64_t n = matrices.columns;
  const std::int64_t k = std::min(m, n);
  const std::int64_t size_u = m * (attributes.full_matrices ? m : k);
  const std::int64_t size_v = n * (attributes.full_matrices ? n : k);
  with_matrix_type(a.dtype(), [&]<class T>(T) {
    const T* in = a.data<T>();
    RealOf<T>* s = mutable_data<RealOf<T>>(outputs[0]);
    T* u = attributes.compute_uv ? mutable_data<T>(outputs[1]) : nullptr;
    T* v = attributes.compute_uv ? mutable_data<T>(outputs[2]) : nullptr;
    const double work = 20 * static_cast<double>(m * n) * static_cast<double>(k);
    check_spectral(call.op.name, for_each_matrix(matrices.count, work, [&](std::int64_t i) {
                     return static_cast<int>(svd(lapack, m, n, attributes.full_matrices, in + i * m * n, s + i * k,
                                                 u == nullptr ? nullptr : u + i * size_u,
                                                 v == nullptr ? nullptr : v + i * size_v));
                   }));
  });
}

// The cotangent of the first k columns. The other ones complete them to a basis; they turn into the first ones by
// as much as the first turn into them, and among themselves they are not determined.
Tensor cotangent_of_thin(const Tensor& vectors, const Tensor& cotangent, std::int64_t k) {
  if (vectors.dim(-1) == k) return cotangent;
  const Tensor rest = columns_after(vectors, k);
  const Tensor turned = matmul(rest, matmul(adjoint(columns_after(cotangent, k)), first_columns(vectors, k)));
  return first_columns(cotangent, k) - turned;
}

// What flows in from vectors[..., m, k] outside of their span: (g - vectors vectors^H g) / s.
Tensor outside_span(const Tensor& vectors, const Tensor& g, const Tensor& s) {
  const Tensor outside = g - matmul(vectors, matmul(adjoint(vectors), g));
  return divide_no_nan(outside, as_row(as_dtype_of(s, g)));
}

void vjp_svd(const VjpCall& call, std::span<Tensor> cotangents) {
  const auto& attributes = call.attributes<SvdAttributes>();
  const Tensor& gs = call.cotangent(0);
  if (!attributes.compute_uv) {
    const SvdFactors factors = svd(call.input(0));
    cotangents[0] = matmul(factors.u * as_row(as_dtype_of(gs, factors.u)), adjoint(factors.v));
    return;
  }
  const Tensor& s = call.output(0);
  const std::int64_t k = s.dim(-1);
  const Tensor u = first_columns(call.output(1), k);
  const Tensor v = first_columns(call.output(2), k);
  if (!call.has_cotangent(1) && !call.has_cotangent(2)) {
    cotangents[0] = matmul(u * as_row(as_dtype_of(gs, u)), adjoint(v));
    return;
  }
  const Tensor gu = cotangent_of_thin(call.output(1), call.cotangent(1), k);
  const Tensor gv = cotangent_of_thin(call.output(2), call.cotangent(2), k);
  const Tensor gaps = as_dtype_of(reciprocal_gaps(square(s)), u);
  const Tensor scale = as_dtype_of(s, u);
  const Tensor along_u = matmul(adjoint(u), gu);
  const Tensor along_v = matmul(adjoint(v), gv);
  const Tensor of_u = hermitian_part(gaps * along_u);
  const Tensor of_v = hermitian_part(gaps * along_v);
  const Tensor inner = 2.0 * (of_u * as_row(scale) + as_column(scale) * of_v);
  Tensor diagonal = gs;
  if (is_complex(u.dtype())) {
    // The phases of u and v are free together; their difference is not.
    const Tensor phase = imag(diag_part(along_u)) - imag(diag_part(along_v));
    diagonal = complex(gs, divide_no_nan(0.5 * phase, s));
  }
  Tensor result = matmul(matmul(u, set_diag(inner, diagonal)), adjoint(v));
  if (u.dim(-2) > k) result = result + matmul(outside_span(u, gu, s), adjoint(v));
  if (v.dim(-2) > k) result = result + matmul(u, adjoint(outside_span(v, gv, s)));
  cotangents[0] = result;
}

#if CAPSTAN_TESTING
std::vector<OpSample> svd_samples() {
  const std::vector<double> tall = {1.2, -0.7, 0.4, 0.9, -1.5, 0.3};
  return {
      {.inputs = {{.shape = {3, 2}, .values = tall}}},
      {.inputs = {{.shape = {2, 3}, .values = tall}}},
      {.inputs = {{.shape = {3, 2}, .values = tall}}, .attributes = {{"full_matrices", true}}},
      {.inputs = {{.shape = {2, 3}, .values = tall}}, .attributes = {{"full_matrices", true}}},
      {.inputs = {{.shape = {3, 2}, .values = tall}}, .attributes = {{"compute_uv", false}}},
      {.inputs = {{.shape = {2, 2, 2}, .values = {2, 0.5, -1, 1.5, 0.3, -1.5, 2, 0.7}}}},
      {.inputs = {{.shape = {0, 2, 2}}}},
      {.inputs = {{.shape = {0, 2}}}, .attributes = {{"full_matrices", true}}},
      {.inputs = {{.shape = {3}}}, .error = "takes matrices, not a tensor of rank 1"},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, NAN, 3}}}, .error = "matrix 0 has elements that are not finite"},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, INFINITY, 3}}}, .error = "svd: matrix 0 has elements that are"},
  };
}
// From the eigenvalues of a^T a; full matrices for a difference of one between the lengths.
void svd_of(const reference::Matrix& a, bool full, std::vector<double>& s, reference::Matrix& u, reference::Matrix& v) {
  const std::int64_t m = a.rows;
  const std::int64_t n = a.columns;
  const std::int64_t k = std::min(m, n);
  if (m < n) {
    svd_of(reference::adjoint_of(a), full, s, v, u);
  } else {
    auto [squares, vectors] = reference::eigen(reference::product(reference::adjoint_of(a), a));
    v = reference::Matrix(n, n);
    for (std::int64_t j = 0; j < n; ++j) {
      s.push_back(std::sqrt(squares[static_cast<std::size_t>(n - 1 - j)]));
      for (std::int64_t i = 0; i < n; ++i) v(i, j) = vectors(i, n - 1 - j);
    }
    const reference::Matrix av = reference::product(a, v);
    u = reference::Matrix(m, full ? m : k);
    for (std::int64_t j = 0; j < k; ++j) {
      for (std::int64_t i = 0; i < m; ++i) u(i, j) = av(i, j) / s[static_cast<std::size_t>(j)];
    }
    // The vector that is left: what a unit vector has outside of the span.
    for (std::int64_t start = 0; full && m == k + 1 && start < m; ++start) {
      double length = 0;
      for (std::int64_t i = 0; i < m; ++i) {
        u(i, k) = i == start ? 1 : 0;
        for (std::int64_t j = 0; j < k; ++j) u(i, k) -= u(i, j) * std::conj(u(start, j));
        length += std::norm(u(i, k));
      }
      for (std::int64_t i = 0; i < m; ++i) u(i, k) /= std::sqrt(length);
      if (length > 0.1) break;
    }
    if (full && k == 0) u = reference::identity(m, m);
  }
  for (std::int64_t j = 0; j < k; ++j) reference::fix_sign(u, j, &v);
  for (std::int64_t j = k; j < u.columns; ++j) reference::fix_sign(u, j);
  for (std::int64_t j = k; j < v.columns; ++j) reference::fix_sign(v, j);
}
void svd_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap& attributes,
                   std::vector<ComplexTensor>& outputs) {
  const Shape& shape = inputs[0].shape;
  const Shape batch = reference::batch_of(shape);
  const bool full = reference::flag(attributes, "full_matrices");
  const std::int64_t k = std::min(shape[-1], shape[-2]);
  outputs.resize(3);
  outputs[0].dtype = float64;
  outputs[0].shape = vector_shape(batch, k);
  outputs[1].shape = matrix_shape(batch, shape[-2], full ? shape[-2] : k);
  outputs[2].shape = matrix_shape(batch, shape[-1], full ? shape[-1] : k);
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    std::vector<double> s;
    reference::Matrix u;
    reference::Matrix v;
    if (k == 0) {
      u = reference::identity(shape[-2], outputs[1].shape[-1]);
      v = reference::identity(shape[-1], outputs[2].shape[-1]);
    } else {
      svd_of(reference::matrix_of(inputs[0], i), full, s, u, v);
    }
    reference::append(outputs[0], s);
    reference::append(outputs[1], u.values);
    reference::append(outputs[2], v.values);
  }
  if (!reference::flag(attributes, "compute_uv", true)) outputs.resize(1);
}
const OpTest kSvdTest = {.samples = svd_samples,
                         .reference = reference::real_reference<svd_reference>,
                         .complex_reference = svd_reference,
                         .dtypes = reference::kMatrixDTypes};
#endif

// --- eigh ---

void infer_eigvalsh(const Call& call, OutputSpecs& outputs) {
  const Matrices matrices = square_matrices(call.op.name, call.input(0));
  outputs.add(call.input(0).dtype(), vector_shape(matrices.batch, matrices.rows));
}

void infer_eigh(const Call& call, OutputSpecs& outputs) {
  infer_eigvalsh(call, outputs);
  outputs.add(call.input(0).dtype(), call.input(0).shape());
}

// Eigenvalues, and vectors if there is a second output. As in TensorFlow the eigenvalues have the dtype of the matrix.
template <class T>
void eigh_of(const Call& call, std::span<Tensor> outputs) {
  const Lapack& lapack = need_lapack(call.op.name);
  const Matrices matrices = matrices_of(call.op.name, call.input(0));
  const std::int64_t n = matrices.rows;
  const T* in = call.input(0).data<T>();
  T* w = mutable_data<T>(outputs[0]);
  T* v = outputs.size() > 1 ? mutable_data<T>(outputs[1]) : nullptr;
  const double work = 10 * static_cast<double>(n * n) * static_cast<double>(n);
  check_spectral(call.op.name, for_each_matrix(matrices.count, work, [&](std::int64_t i) {
                   const Scratch scratch(ScratchSlot::kTask, static_cast<std::size_t>(n) * sizeof(RealOf<T>));
                   RealOf<T>* values = scratch.as<RealOf<T>>();
                   const Spectral end = eigh(lapack, n, in + i * n * n, values, v == nullptr ? nullptr : v + i * n * n);
                   if (end == Spectral::kDone) std::copy_n(values, n, w + i * n);
                   return static_cast<int>(end);
                 }));
}

void run_eigh(const Call& call, std::span<Tensor> outputs) {
  with_matrix_type(call.input(0).dtype(), [&]<class T>(T) { eigh_of<T>(call, outputs); });
}

// The lower triangle stands for both, so its elements take the gradient of both.
Tensor cotangent_of_lower(const Tensor& v, const Tensor& inner) {
  const Tensor whole = hermitian_part(matmul(matmul(v, inner), adjoint(v)));
  return set_diag(band_part(2.0 * whole, -1, 0), diag_part(whole));
}

void vjp_eigh(const VjpCall& call, std::span<Tensor> cotangents) {
  const Tensor& w = call.output(0);
  const Tensor& v = call.output(1);
  const Tensor& gw = call.cotangent(0);
  if (!call.has_cotangent(1)) {
    cotangents[0] = cotangent_of_lower(v, diag(gw));
    return;
  }
  const Tensor inner = as_dtype_of(reciprocal_gaps(real(w)), v) * matmul(adjoint(v), call.cotangent(1));
  cotangents[0] = cotangent_of_lower(v, set_diag(inner, gw));
}

#if CAPSTAN_TESTING
std::vector<OpSample> eigh_samples() {
  return {
      {.inputs = {{.shape = {3, 3}, .values = {2, 0.5, -1, 0.5, -1.5, 0.7, -1, 0.7, 3}}}},
      {.inputs = {{.shape = {2, 2, 2}, .values = {2, 0.5, 0.5, 1.5, 0.3, -1.5, -1.5, 0.7}}}},
      {.inputs = {{.shape = {2, 2}, .values = {2, 99, 0.5, 1.5}}}},
      {.inputs = {{.shape = {1, 1}, .values = {-2}}}},
      {.inputs = {{.shape = {0, 0}}}},
      {.inputs = {{.shape = {0, 2, 2}}}},
      {.inputs = {{.shape = {2, 3}}}, .error = "takes square matrices, not 2 by 3"},
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, NAN, 3}}}, .error = "matrix 0 has elements that are not finite"},
  };
}
void eigh_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap&,
                    std::vector<ComplexTensor>& outputs) {
  const Shape batch = reference::batch_of(inputs[0].shape);
  outputs.resize(2);
  outputs[0].shape = vector_shape(batch, inputs[0].shape[-1]);
  outputs[1].shape = inputs[0].shape;
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    auto [values, vectors] = reference::eigen(reference::matrix_of(inputs[0], i));
    for (std::int64_t j = 0; j < vectors.columns; ++j) reference::fix_sign(vectors, j);
    reference::append(outputs[0], values);
    reference::append(outputs[1], vectors.values);
  }
}
void eigvalsh_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap& attributes,
                        std::vector<ComplexTensor>& outputs) {
  eigh_reference(inputs, attributes, outputs);
  outputs.resize(1);
}
const OpTest kEighTest = {.samples = eigh_samples,
                          .reference = reference::real_reference<eigh_reference>,
                          .complex_reference = eigh_reference,
                          .dtypes = reference::kMatrixDTypes};
const OpTest kEigvalshTest = {.samples = eigh_samples,
                              .reference = reference::real_reference<eigvalsh_reference>,
                              .complex_reference = eigvalsh_reference,
                              .dtypes = reference::kMatrixDTypes};

// --- matrix_rank ---

std::vector<OpSample> rank_samples() {
  return {
      {.inputs = {{.shape = {2, 2}, .values = {1, 2, 2, 4}}}},
      {.inputs = {{.shape = {2, 2, 3}, .values = {1, 2, 3, 2, 4, 6, 1, 0, 0, 0, 1, 0}}}},
      {.inputs = {{.shape = {2, 2}, .values = {3, 0, 0, 0.01}}}, .attributes = {{"tol", 0.1}}},
      {.inputs = {{.shape = {2, 2}, .values = {0, 0, 0, 0}}}},
      {.inputs = {{.shape = {0, 2}}}},
      {.inputs = {{.shape = {3}}}, .error = "takes matrices, not a tensor of rank 1"},
  };
}
void rank_reference(const std::vector<ComplexTensor>& inputs, const AttributeMap& attributes,
                    std::vector<ComplexTensor>& outputs) {
  // By elimination with complete pivots.
  const double tolerance = std::max(1e-5, reference::number(attributes, "tol", 0));
  ComplexTensor out = reference::map_to_number(inputs[0], [&](reference::Matrix a) {
    int rank = 0;
    for (; rank < std::min(a.rows, a.columns); ++rank) {
      std::int64_t row = rank;
      std::int64_t column = rank;
      for (std::int64_t i = rank; i < a.rows; ++i) {
        for (std::int64_t j = rank; j < a.columns; ++j) {
          if (std::abs(a(i, j)) <= std::abs(a(row, column))) continue;
          row = i;
          column = j;
        }
      }
      if (std::abs(a(row, column)) <= tolerance) break;
      for (std::int64_t j = 0; j < a.columns; ++j) std::swap(a(rank, j), a(row, j));
      for (std::int64_t i = 0; i < a.rows; ++i) std::swap(a(i, rank), a(i, column));
      for (std::int64_t i = rank + 1; i < a.rows; ++i) {
        const reference::Complex factor = a(i, rank) / a(rank, rank);
        for (std::int64_t j = rank; j < a.columns; ++j) a(i, j) -= factor * a(rank, j);
      }
    }
    return reference::Complex(rank);
  });
  out.dtype = int32;
  outputs = {out};
}
const OpTest kMatrixRankTest = {.samples = rank_samples,
                                .reference = reference::real_reference<rank_reference>,
                                .complex_reference = rank_reference,
                                .dtypes = reference::kMatrixDTypes};
#endif

// A tolerance below zero stands for the usual one.
struct RankAttributes {
  double tol = -1;
};
constexpr AttributeType kRankAttributes = attribute_type<RankAttributes>({field<&RankAttributes::tol>("tol")});

}  // namespace

constinit const OpDef kSvd = {
    .name = "svd",
    .text = "The singular values of matrices, largest first, and singular vectors.",
    .outputs = kVariadic,
    .input_names = "a",
    .attributes = &kSvdAttributes,
    .infer = infer_svd,
    .kernel = run_svd,
    .saves = {.inputs = 1, .outputs = 7},
    .vjp = vjp_svd,
    .batch = batch_leading,
    .test = CAPSTAN_OP_TEST(kSvdTest),
};

constinit const OpDef kEigh = {
    .name = "eigh",
    .text = "The eigenvalues of Hermitian matrices in ascending order, and eigenvectors.",
    .outputs = 2,
    .input_names = "a",
    .infer = infer_eigh,
    .kernel = run_eigh,
    .saves = {.outputs = 3},
    .vjp = vjp_eigh,
    .batch = batch_leading,
    .test = CAPSTAN_OP_TEST(kEighTest),
};

constinit const OpDef kEigvalsh = {
    .name = "eigvalsh",
    .text = "The eigenvalues of Hermitian matrices in ascending order.",
    .input_names = "a",
    .infer = infer_eigvalsh,
    .kernel = run_eigh,
    .saves = {.inputs = 1},
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          cotangents[0] = cotangent_of_lower(eigh(call.input(0)).eigenvectors, diag(call.cotangent()));
        },
    .batch = batch_leading,
    .test = CAPSTAN_OP_TEST(kEigvalshTest),
};

constinit const OpDef kMatrixRank = {
    .name = "matrix_rank",
    .text = "The number of singular values above a tolerance.",
    .kind = OpKind::kComposite,
    .flags = kNotDifferentiable,
    .input_names = "a",
    .attributes = &kRankAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const double tolerance = static_cast<const RankAttributes*>(attributes)->tol;
          outputs.push_back(tolerance < 0 ? matrix_rank(inputs[0]) : matrix_rank(inputs[0], tolerance));
        },
    .test = CAPSTAN_OP_TEST(kMatrixRankTest),
};

SvdFactors svd(Operand a, SvdOptions options) {
  const SvdAttributes attributes{options.full_matrices, options.compute_uv};
  std::vector<Tensor> outputs = apply_all(kSvd, std::span(&a, 1), &attributes);
  outputs.resize(3);
  return {std::move(outputs[0]), std::move(outputs[1]), std::move(outputs[2])};
}

Eigenpairs eigh(Operand a) {
  std::vector<Tensor> outputs = apply_all(kEigh, std::span(&a, 1));
  return {std::move(outputs[0]), std::move(outputs[1])};
}

Tensor eigvalsh(Operand a) { return apply(kEigvalsh, a); }

Tensor matrix_rank(Operand a, std::optional<double> tolerance) try {
  const Tensor x = stop_gradient(to_tensor(a));
  const Tensor s = svd(x, {.compute_uv = false}).s;
  if (tolerance) return reduce_sum(cast(greater(s, *tolerance), int32), -1);
  if (s.dim(-1) == 0) return reduce_sum(cast(s, int32), -1);
  const double epsilon = s.dtype() == float32 ? 0x1p-23 : 0x1p-52;
  const double factor = epsilon * static_cast<double>(std::max(x.dim(-1), x.dim(-2)));
  return reduce_sum(cast(greater(s, factor * reduce_max(s, -1, true)), int32), -1);
} catch (const Error&) {
  rethrow_as("matrix_rank");
}

OpFamily spectral_ops() {
  static constexpr const OpDef* ops[] = {&kSvd, &kEigh, &kEigvalsh, &kEig, &kEigvals, &kMatrixRank};
  return ops;
}

}  // namespace capstan
