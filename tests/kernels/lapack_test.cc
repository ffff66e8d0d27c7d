// Loading LAPACK, and what its kernels do with elements that are not finite.
#include "src/kernels/decompositions/lapack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <complex>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "src/kernels/decompositions/factorisations.h"
#include "src/kernels/decompositions/matrix_functions.h"
#include "src/kernels/decompositions/spectral.h"

namespace capstan {
namespace {

const Lapack& lapack() {
  const LoadedLapack& loaded = load_lapack();
  if (loaded.routines == nullptr) throw std::runtime_error(loaded.problem);
  return *loaded.routines;
}

TEST(Lapack, SaysWhichLibrariesCannotBeLoaded) {
  const char* const names[] = {"libno_such_lapack.so.7", "libanother_one.so"};
  const LoadedLapack loaded = load_lapack_from(names, 2);
  EXPECT_EQ(loaded.routines, nullptr);
  EXPECT_NE(loaded.problem.find("libno_such_lapack.so.7"), std::string::npos) << loaded.problem;
  EXPECT_NE(loaded.problem.find("libanother_one.so"), std::string::npos) << loaded.problem;
}

TEST(Lapack, PassesByALibraryThatLacksARoutine) {
  const char* const names[] = {"libc.so.6"};
  const LoadedLapack loaded = load_lapack_from(names, 1);
  EXPECT_EQ(loaded.routines, nullptr);
  EXPECT_NE(loaded.problem.find("libc.so.6 lacks spotrf_"), std::string::npos) << loaded.problem;
}

TEST(Lapack, IsLoadedOnceWhicheverThreadAsks) {
  std::vector<const Lapack*> seen(8);
  std::vector<std::thread> threads;
  for (const Lapack*& place : seen) {
    threads.emplace_back([&place] { place = load_lapack().routines; });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Lapack* place : seen) EXPECT_EQ(place, &lapack());
}

TEST(Lapack, TakesMoreThreadsThanItsLimitOfTurns) {
  const std::vector<double> a = {2, 1, 1, 3};
  std::vector<std::vector<double>> results(100, std::vector<double>(4));
  std::vector<std::thread> threads;
  for (std::vector<double>& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) inverse(lapack(), 2, false, a.data(), result.data());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<double>& result : results) EXPECT_EQ(result, results[0]);
  EXPECT_NEAR(results[0][0], 0.6, 1e-15);
}

TEST(Lapack, IterationsEndForElementsThatAreNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {std::nan(""), infinity, -infinity}) {
    const std::vector<double> a = {1, 2, bad, 3};
    std::vector<double> s(2);
    std::vector<double> u(4);
    std::vector<double> v(4);
    EXPECT_EQ(svd(lapack(), 2, 2, false, a.data(), s.data(), u.data(), v.data()), Spectral::kNotFinite);
    EXPECT_EQ(eigh(lapack(), 2, a.data(), s.data(), v.data()), Spectral::kNotFinite);
    cofactors(lapack(), 2, a.data(), u.data());
    for (const double x : u) EXPECT_TRUE(std::isnan(x));
    matrix_exponential(lapack(), 2, a.data(), u.data());
    for (const double x : u) EXPECT_TRUE(std::isnan(x));
    const std::vector<std::complex<double>> z = {1, 2, {0, bad}, 3};
    std::vector<std::complex<double>> w(2);
    std::vector<std::complex<double>> vectors(4);
    EXPECT_EQ(eig(lapack(), 2, z.data(), w.data(), vectors.data()), Spectral::kNotFinite);
  }
}

TEST(Lapack, TheUpperTriangleOfAHermitianMatrixIsNotRead) {
  const std::vector<double> a = {2, std::nan(""), 1, 3};
  std::vector<double> w(2);
  std::vector<double> l(4);
  EXPECT_EQ(eigh(lapack(), 2, a.data(), w.data(), static_cast<double*>(nullptr)), Spectral::kDone);
  EXPECT_NEAR(w[0] * w[1], 5, 1e-14);
  EXPECT_EQ(cholesky(lapack(), 2, a.data(), l.data()), 0);
  EXPECT_EQ(l[1], 0);
}

using Complex = std::complex<double>;

std::vector<Complex> product(std::int64_t n, const std::vector<Complex>& a, const std::vector<Complex>& b) {
  std::vector<Complex> c(static_cast<std::size_t>(n * n));
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j) {
      for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k)
        c[i * static_cast<std::size_t>(n) + j] +=
            a[i * static_cast<std::size_t>(n) + k] * b[k * static_cast<std::size_t>(n) + j];
    }
  }
  return c;
}
std::vector<Complex> adjoint_of(std::int64_t n, const std::vector<Complex>& a) {
  std::vector<Complex> c(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::size_t m = static_cast<std::size_t>(n);
    c[i % m * m + i / m] = std::conj(a[i]);
  }
  return c;
}
void expect_near(const std::vector<Complex>& a, const std::vector<Complex>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_LT(std::abs(a[i] - b[i]), 1e-13) << i << ": " << a[i] << ", " << b[i];
}

const std::vector<Complex> kGeneral = {{1, 2}, {0.5, -1}, {-2, 0.3}, {0.7, 0.1}, {2, -1.5},
                                       {1, 1}, {0, 1},    {-1, 0.4}, {3, 0}};

TEST(Lapack, FactorsOfComplexMatricesMultiplyToThem) {
  std::vector<Complex> q(9);
  std::vector<Complex> r(9);
  qr(lapack(), 3, 3, false, kGeneral.data(), q.data(), r.data());
  expect_near(product(3, q, r), kGeneral);

  std::vector<double> s(3);
  std::vector<Complex> u(9);
  std::vector<Complex> v(9);
  ASSERT_EQ(svd(lapack(), 3, 3, true, kGeneral.data(), s.data(), u.data(), v.data()), Spectral::kDone);
  std::vector<Complex> scaled = u;
  for (std::size_t i = 0; i < 9; ++i) scaled[i] *= s[i % 3];
  expect_near(product(3, scaled, adjoint_of(3, v)), kGeneral);
  // Of each column of u the first large element is positive.
  EXPECT_GT(std::max({u[0].real(), u[3].real(), u[6].real()}), 0.5);

  const std::vector<Complex> hermitian = product(3, kGeneral, adjoint_of(3, kGeneral));
  std::vector<double> w(3);
  ASSERT_EQ(eigh(lapack(), 3, hermitian.data(), w.data(), v.data()), Spectral::kDone);
  scaled = v;
  for (std::size_t i = 0; i < 9; ++i) scaled[i] *= w[i % 3];
  expect_near(product(3, scaled, adjoint_of(3, v)), hermitian);

  std::vector<Complex> l(9);
  ASSERT_EQ(cholesky(lapack(), 3, hermitian.data(), l.data()), 0);
  expect_near(product(3, l, adjoint_of(3, l)), hermitian);

  std::vector<Complex> t(9);
  ASSERT_EQ(schur(lapack(), 3, kGeneral.data(), t.data(), u.data()), Spectral::kDone);
  expect_near(product(3, product(3, u, t), adjoint_of(3, u)), kGeneral);

  std::vector<Complex> values(3);
  ASSERT_EQ(eig(lapack(), 3, kGeneral.data(), values.data(), v.data()), Spectral::kDone);
  scaled = v;
  for (std::size_t i = 0; i < 9; ++i) scaled[i] *= values[i % 3];
  expect_near(product(3, kGeneral, v), scaled);
}

TEST(Lapack, ComplexEquationsAreSolved) {
  const std::vector<Complex> identity = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (const bool adjoint : {false, true}) {
    const std::vector<Complex> a = adjoint ? adjoint_of(3, kGeneral) : kGeneral;
    std::vector<Complex> x(9);
    ASSERT_EQ(inverse(lapack(), 3, adjoint, kGeneral.data(), x.data()), 0);
    expect_near(product(3, a, x), identity);
    ASSERT_EQ(solve(lapack(), 3, 3, adjoint, kGeneral.data(), identity.data(), x.data()), 0);
    expect_near(product(3, a, x), identity);
    for (const bool lower : {false, true}) {
      std::vector<Complex> triangle = kGeneral;
      for (std::size_t i = 0; i < 9; ++i) {
        if (lower ? i % 3 > i / 3 : i % 3 < i / 3) triangle[i] = 0;
      }
      x = identity;
      ASSERT_EQ(triangular_solve(lapack(), 3, 3, lower, adjoint, kGeneral.data(), x.data()), 0);
      expect_near(product(3, adjoint ? adjoint_of(3, triangle) : triangle, x), identity);
    }
  }
  std::vector<Complex> x(9);
  ASSERT_EQ(pseudo_inverse(lapack(), 3, 3, 1e-12, kGeneral.data(), x.data()), Spectral::kDone);
  expect_near(product(3, kGeneral, x), identity);
  // Cofactors are conj(det) a^-H.
  const Complex value = determinant(lapack(), 3, kGeneral.data()).value;
  std::vector<Complex> c(9);
  cofactors(lapack(), 3, kGeneral.data(), c.data());
  std::vector<Complex> expected = adjoint_of(3, x);
  for (Complex& y : expected) y *= std::conj(value);
  expect_near(c, expected);
}

}  // namespace
}  // namespace capstan
