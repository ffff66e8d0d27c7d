// What every_op_test cannot see of the ops on matrices: gradients of functions that read one triangle, what factors
// multiply to, large and degenerate matrices.
#include "capstan/ops/decompositions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/diagonals.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"
#include "capstan/testing.h"
#include "tests/support/compare.h"
#include "tests/support/make_tensor.h"
#include "tests/support/random.h"

namespace capstan::testing {
namespace {

Tensor random_tensor(const Shape& shape, const char* seed) {
  Random random(seed);
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.size(); ++i) values.push_back(random.uniform(-1, 1));
  return make_tensor(float64, shape, values);
}

void expect_near(const Tensor& got, const Tensor& want, double tolerance = 1e-12) {
  EXPECT_EQ(difference(got, want, {tolerance, tolerance, tolerance}), "");
}

// A positive definite matrix for any x, so that differences stay symmetric.
Tensor positive(const Tensor& x) { return matmul(x, adjoint(x)) + eye(x.dim(-2), {}, float64); }
Tensor symmetric(const Tensor& x) { return x + adjoint(x); }

TEST(Decompositions, GradientsOfSymmetricMatricesAreThoseOfDifferences) {
  const std::vector<Tensor> x = {random_tensor({2, 3, 3}, "symmetric")};
  const GradientCheckOptions options{.order = 2};
  check_gradients([](const auto& in) { return cholesky(positive(in[0])); }, x, options);
  check_gradients([](const auto& in) { return logdet(positive(in[0])); }, x, options);
  check_gradients([](const auto& in) { return eigvalsh(symmetric(in[0])); }, x, options);
  check_gradients([](const auto& in) { return eigh(symmetric(in[0])).eigenvalues; }, x, options);
  check_gradients([](const auto& in) { return eigh(symmetric(in[0])).eigenvectors; }, x, options);
}

TEST(Decompositions, FactorsMultiplyToTheMatrix) {
  for (const Shape& shape : {Shape{40, 40}, Shape{3, 30, 12}, Shape{70, 20}, Shape{20, 70}, Shape{1, 5}, Shape{5, 1}}) {
    const Tensor a = random_tensor(shape, "factors");
    for (const bool full : {false, true}) {
      const QrFactors of_qr = qr(a, {.full_matrices = full});
      expect_near(matmul(of_qr.q, of_qr.r), a);
      const SvdFactors of_svd = svd(a, {.full_matrices = full});
      const std::int64_t k = of_svd.s.dim(-1);
      const DiagOptions rest = full ? DiagOptions{.num_rows = shape[-2], .num_cols = shape[-1]} : DiagOptions{};
      expect_near(matmul(of_svd.u, matmul(diag(of_svd.s, rest), adjoint(of_svd.v))), a);
      EXPECT_EQ(k, std::min(shape[-1], shape[-2]));
    }
  }
  const Tensor a = random_tensor({2, 50, 50}, "square");
  const Eigenpairs pairs = eigh(symmetric(a));
  expect_near(matmul(pairs.eigenvectors, matmul(diag(pairs.eigenvalues), adjoint(pairs.eigenvectors))), symmetric(a));
  const Tensor l = cholesky(positive(a));
  expect_near(matmul(l, adjoint(l)), positive(a));
  const LuFactors factors = lu(a);
  const Tensor unit = set_diag(band_part(factors.packed, -1, 0), ones({2, 50}, float64));
  expect_near(matmul(unit, band_part(factors.packed, 0, -1)), gather(a, factors.permutation, 1, 1));
}

TEST(Decompositions, SignsDoNotChangeWithTheMatrix) {
  // Of each vector the first element of at least half the largest magnitude is positive.
  const Tensor v = eigh(symmetric(random_tensor({9, 9}, "signs"))).eigenvectors;
  for (int j = 0; j < 9; ++j) {
    const std::vector<double> column = v(Slice{}, j).to_vector<double>();
    double largest = 0;
    for (const double x : column) largest = std::max(largest, std::abs(x));
    for (const double x : column) {
      if (std::abs(x) < largest / 2) continue;
      EXPECT_GT(x, 0);
      break;
    }
  }
}

TEST(Decompositions, ADeterminantHasTwoDerivativesAtASingularMatrix) {
  // det of a matrix of rank one: the gradient is zero, the second derivative is not.
  const Tensor a = make_tensor(float64, {3, 3}, {1, 2, 3, 2, 4, 6, 3, 6, 9});
  GradientTape tape;
  tape.watch(a);
  expect_near(tape.gradient(det(a), a), zeros({3, 3}, float64), 1e-13);
  check_gradients([](const auto& in) { return det(in[0]); }, {a}, {.order = 2});
  check_gradients([](const auto& in) { return det(in[0]); }, {eye(3, {}, float64)}, {.order = 2});
}

TEST(Decompositions, ThePseudoInverseHasGradientsForEqualSingularValues) {
  const Tensor tall = make_tensor(float64, {3, 2}, {1, 0, 0, 1, 0, 0});
  check_gradients([](const auto& in) { return pinv(in[0]); }, {tall}, {.order = 2});
  // The solution of rank two is the smallest one.
  const Tensor a = make_tensor(float64, {3, 3}, {1, 2, 3, 2, 4, 6, 0, 1, -1});
  const Tensor b = make_tensor(float64, {3, 1}, {1, 2, 0});
  const Tensor x = lstsq(a, b, {.fast = false});
  expect_near(matmul(a, x), b);
}

TEST(Decompositions, TheExponentialOfANilpotentMatrixIsAPolynomial) {
  const Tensor a = make_tensor(float64, {3, 3}, {0, 40, 7, 0, 0, -30, 0, 0, 0});
  const Tensor want = make_tensor(float64, {3, 3}, {1, 40, 7 - 600, 0, 1, -30, 0, 0, 1});
  expect_near(expm(a), want);
  check_gradients([](const auto& in) { return expm(in[0]); }, {a / 20.0}, {.order = 2});
}

TEST(Decompositions, NormsOfMatricesAreThoseOfSingularValues) {
  const Tensor x = random_tensor({3, 2, 4}, "norms");
  const Tensor s = svd(transpose(x, {1, 0, 2}), {.compute_uv = false}).s;
  expect_near(norm(x, 2, {0, 2}), reduce_max(s, -1));
  expect_near(norm(x, "nuclear", {0, 2}), reduce_sum(s, -1));
  EXPECT_EQ(norm(x, 2, {2, 0}, {.keepdims = true}).shape(), (Shape{1, 2, 1}));
  expect_near(norm(x, "fro", {0, 2}), norm(x, "euclidean", {0, 2}));
  check_gradients([](const auto& in) { return norm(in[0], 2, {0, 2}); }, {x}, {.order = 2});
  check_gradients([](const auto& in) { return norm(in[0], "nuclear", {0, 2}); }, {x}, {.order = 2});
  EXPECT_THROW(norm(x, "frobenius"), ValueError);
  EXPECT_THROW(norm(x, 0), ValueError);
  EXPECT_THROW(norm(x, std::nan("")), ValueError);
}

Tensor random_complex(const Shape& shape, const char* seed) {
  Random random(seed);
  std::vector<double> values;
  for (std::int64_t i = 0; i < 2 * shape.size(); ++i) values.push_back(random.uniform(-1, 1));
  return make_tensor(complex128, shape, values);
}
Tensor complex_positive(const Tensor& x) {
  return matmul(x, adjoint(x)) + cast(eye(x.dim(-2), {}, float64), complex128);
}

TEST(Decompositions, GradientsOfComplexMatricesAreThoseOfDifferences) {
  const GradientCheckOptions options{.order = 2};
  const std::vector<Tensor> x = {random_complex({3, 3}, "complex")};
  check_gradients([](const auto& in) { return cholesky(complex_positive(in[0])); }, x, options);
  check_gradients([](const auto& in) { return logdet(complex_positive(in[0])); }, x, options);
  check_gradients([](const auto& in) { return eigvalsh(symmetric(in[0])); }, x, options);
  check_gradients([](const auto& in) { return inv(in[0]); }, x, options);
  check_gradients([](const auto& in) { return inv(in[0], {.adjoint = true}); }, x, options);
  check_gradients([](const auto& in) { return det(in[0]); }, x, options);
  check_gradients([](const auto& in) { return cofactors(in[0]); }, x, options);
  check_gradients([](const auto& in) { return slogdet(in[0]).sign; }, x, options);
  check_gradients([](const auto& in) { return slogdet(in[0]).log_abs_determinant; }, x, options);
  check_gradients([](const auto& in) { return lu(in[0]).packed; }, x, options);
  check_gradients([](const auto& in) { return expm(in[0]); }, x, options);
  check_gradients([](const auto& in) { return eigvals(in[0]); }, x, options);
  const std::vector<Tensor> tall = {random_complex({3, 2}, "tall")};
  check_gradients([](const auto& in) { return qr(in[0]).q; }, tall, options);
  check_gradients([](const auto& in) { return qr(in[0]).r; }, tall, options);
  check_gradients([](const auto& in) { return qr(adjoint(in[0])).r; }, tall, options);
  check_gradients([](const auto& in) { return pinv(in[0]); }, tall, options);
  check_gradients([](const auto& in) { return norm(in[0], 2, {0, 1}); }, tall, options);
  const std::vector<Tensor> pair = {tall[0], random_complex({3, 1}, "right")};
  check_gradients([](const auto& in) { return lstsq(in[0], in[1]); }, pair, options);
  check_gradients([](const auto& in) { return lstsq(in[0], in[1], {.fast = false}); }, pair, options);
  const std::vector<Tensor> square = {x[0], pair[1]};
  for (const bool adjoint : {false, true}) {
    check_gradients([&](const auto& in) { return solve(in[0], in[1], {.adjoint = adjoint}); }, square, options);
    check_gradients([&](const auto& in) { return triangular_solve(in[0], in[1], {.adjoint = adjoint}); }, square,
                    options);
  }
}

// What does not see the phases of vectors: projections on them, and what they multiply to.
TEST(Decompositions, GradientsThroughComplexVectors) {
  const GradientCheckOptions options{.order = 2};
  const std::vector<Tensor> x = {random_complex({3, 3}, "vectors")};
  const auto first = [](const Tensor& vectors) { return vectors(slice(), slice(0, 1)); };
  check_gradients(
      [&](const auto& in) {
        const Tensor v = first(eigh(symmetric(in[0])).eigenvectors);
        return matmul(v, adjoint(v));
      },
      x, options);
  for (const std::vector<Tensor>& a : {x, {random_complex({3, 2}, "tall")}, {random_complex({2, 3}, "wide")}}) {
    check_gradients(
        [&](const auto& in) {
          const SvdFactors factors = svd(in[0]);
          return matmul(first(factors.u), adjoint(first(factors.v)));
        },
        a, options);
  }
  check_gradients(
      [&](const auto& in) {
        const Eigenpairs pairs = eig(in[0]);
        return matmul(pairs.eigenvectors, matmul(diag(exp(pairs.eigenvalues)), inv(pairs.eigenvectors)));
      },
      x, options);
}

TEST(Decompositions, EigenvaluesOfRealMatricesAreComplex) {
  const Tensor a = random_tensor({2, 5, 5}, "general");
  const Eigenpairs pairs = eig(a);
  EXPECT_EQ(pairs.eigenvalues.dtype(), complex128);
  expect_near(matmul(cast(a, complex128), pairs.eigenvectors), pairs.eigenvectors * expand_dims(pairs.eigenvalues, -2));
  EXPECT_EQ(eigvals(cast(a, float32)).dtype(), complex64);
  // The sum of the eigenvalues is the trace, and has its gradient.
  GradientTape tape;
  tape.watch(a);
  const Tensor sum = real(reduce_sum(eigvals(a), -1));
  expect_near(sum, trace(a));
  expect_near(tape.gradient(sum, a), eye(5, {}, float64) + zeros({2, 5, 5}, float64), 1e-10);
}

TEST(Decompositions, RootsAndLogarithmsUndoPowersAndExponentials) {
  const Tensor a = 0.5 * random_tensor({6, 6}, "functions");
  expect_near(logm(expm(a)), a, 1e-11);
  const Tensor root = sqrtm(positive(a));
  expect_near(matmul(root, root), positive(a));
  const Tensor z = random_complex({6, 6}, "functions");
  expect_near(expm(logm(z)), z, 1e-10);
  const Tensor complex_root = sqrtm(z);
  expect_near(matmul(complex_root, complex_root), z, 1e-11);
}

TEST(Decompositions, LogarithmsOfDeterminantsHaveGradients) {
  const Tensor a = random_tensor({2, 4, 4}, "slogdet");
  check_gradients([](const auto& in) { return slogdet(in[0]).log_abs_determinant; }, {a}, {.order = 2});
  const Tensor singular = make_tensor(float64, {2, 2}, {1, 2, 2, 4});
  EXPECT_EQ(slogdet(singular).sign.item<double>(), 0);
  GradientTape tape;
  tape.watch(singular);
  const Tensor log = slogdet(singular).log_abs_determinant;
  EXPECT_EQ(log.item<double>(), -INFINITY);
  // It has no derivative, which does not end the pass.
  EXPECT_TRUE(reduce_all(is_nan(tape.gradient(log, singular))).item<bool>());
}

}  // namespace
}  // namespace capstan::testing
