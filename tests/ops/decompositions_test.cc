// What every_op_test cannot see of the ops on matrices: gradients of functions that read one triangle, what factors
// multiply to, large and degenerate matrices.
#include "capstan/ops/decompositions.h"

#include <gtest/gtest.h>

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
Tensor positive(const Tensor& x) { return matmul(x, adjoint(x)) + eye(x.dim(-2), -1, float64); }
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
      const QrFactors of_qr = qr(a, full);
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
    const std::vector<double> column = v(Slice(), j).to_vector<double>();
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
  check_gradients([](const auto& in) { return det(in[0]); }, {eye(3, -1, float64)}, {.order = 2});
}

TEST(Decompositions, ThePseudoInverseHasGradientsForEqualSingularValues) {
  const Tensor tall = make_tensor(float64, {3, 2}, {1, 0, 0, 1, 0, 0});
  check_gradients([](const auto& in) { return pinv(in[0]); }, {tall}, {.order = 2});
  // The solution of rank two is the smallest one.
  const Tensor a = make_tensor(float64, {3, 3}, {1, 2, 3, 2, 4, 6, 0, 1, -1});
  const Tensor b = make_tensor(float64, {3, 1}, {1, 2, 0});
  const Tensor x = lstsq(a, b, 0, false);
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
  EXPECT_EQ(norm(x, 2, {2, 0}, true).shape(), (Shape{1, 2, 1}));
  expect_near(norm(x, "fro", {0, 2}), norm(x, "euclidean", {0, 2}));
  check_gradients([](const auto& in) { return norm(in[0], 2, {0, 2}); }, {x}, {.order = 2});
  check_gradients([](const auto& in) { return norm(in[0], "nuclear", {0, 2}); }, {x}, {.order = 2});
  EXPECT_THROW(norm(x, "frobenius"), ValueError);
  EXPECT_THROW(norm(x, 0), ValueError);
  EXPECT_THROW(norm(x, std::nan("")), ValueError);
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
  EXPECT_THROW(tape.gradient(log, singular), ValueError);
}

}  // namespace
}  // namespace capstan::testing
