#include "src/kernels/decompositions/factorisations.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "src/kernels/decompositions/lapack_memory.h"

namespace capstan {

template <class T>
int cholesky(const Lapack& lapack, std::int64_t n, const T* a, T* l) {
  if (n == 0) return 0;
  for (std::int64_t i = 0; i < n; ++i) {
    std::copy_n(a + i * n, i + 1, l + i * n);
    std::fill(l + i * n + i + 1, l + (i + 1) * n, T(0));
    // The diagonal of a Hermitian matrix is real; what else is there is not read.
    if constexpr (kIsComplex<T>) l[i * n + i] = l[i * n + i].real();
  }
  // By columns this memory holds the transpose of a in its upper triangle, whose factor u with
  // u^H u = a^T is by rows the wanted one.
  const int order = static_cast<int>(n);
  int info = 0;
  const LapackTurn turn_taken;
  lapack.of<T>().potrf("U", &order, l, &order, &info, 1);
  // OpenBLAS takes NaN for a positive pivot.
  for (std::int64_t i = 0; info == 0 && i < n; ++i) {
    if (!is_finite(l[i * n + i])) info = static_cast<int>(i + 1);
  }
  return info;
}

namespace {

// Factors the matrix by columns in place.
template <class T>
int factor(const Lapack& lapack, std::int64_t n, T* columns, int* pivots) {
  const int order = static_cast<int>(n);
  int info = 0;
  const LapackTurn turn_taken;
  lapack.of<T>().getrf(&order, &order, columns, &order, pivots, &info);
  return info;
}

}  // namespace

template <class T>
int lu(const Lapack& lapack, std::int64_t n, const T* a, T* packed, std::int32_t* permutation) {
  if (n == 0) return 0;
  const Work<T> factors(n * n);
  const Work<int> pivots(n);
  turn(n, n, a, factors.get());
  const int info = factor(lapack, n, factors.get(), pivots.get());
  turn(n, n, factors.get(), packed);
  // LAPACK lists exchanges of rows, one after the other.
  for (std::int64_t i = 0; i < n; ++i) permutation[i] = static_cast<std::int32_t>(i);
  for (std::int64_t i = 0; i < n; ++i) std::swap(permutation[i], permutation[pivots[i] - 1]);
  return info;
}

template <class T>
int solve(const Lapack& lapack, std::int64_t n, std::int64_t columns, bool adjoint, const T* a, const T* b, T* x) {
  if (n == 0) return 0;
  if (!all_finite(a, n * n)) {
    std::fill_n(x, n * columns, std::numeric_limits<RealOf<T>>::quiet_NaN());
    return 0;
  }
  const Work<T> factors(n * n);
  const Work<int> pivots(n);
  turn(n, n, a, factors.get());
  const int info = factor(lapack, n, factors.get(), pivots.get());
  if (info != 0 || columns == 0) return info;
  const Work<T> right(n * columns);
  turn(n, columns, b, right.get());
  const int order = static_cast<int>(n);
  const int count = static_cast<int>(columns);
  int ignored = 0;
  {
    const LapackTurn turn_taken;
    lapack.of<T>().getrs(adjoint ? "C" : "N", &order, &count, factors.get(), &order, pivots.get(), right.get(), &order,
                         &ignored, 1);
  }
  turn(columns, n, right.get(), x);
  return 0;
}

template <class T>
int inverse(const Lapack& lapack, std::int64_t n, bool adjoint, const T* a, T* out) {
  if (n == 0) return 0;
  if (!all_finite(a, n * n)) {
    std::fill_n(out, n * n, std::numeric_limits<RealOf<T>>::quiet_NaN());
    return 0;
  }
  // The inverse of the transpose is the transpose of the inverse, so rows may pass for columns; the
  // adjoint differs in one turn.
  if (adjoint) {
    turn(n, n, a, out);
    std::transform(out, out + n * n, out, [](T value) { return conjugate(value); });
  } else {
    std::copy_n(a, n * n, out);
  }
  const Work<int> pivots(n);
  const int info = factor(lapack, n, out, pivots.get());
  if (info != 0) return info;
  const int order = static_cast<int>(n);
  const LapackRoutines<T>& routines = lapack.of<T>();
  T asked(0);
  int length = -1;
  int singular = 0;
  const LapackTurn turn_taken;
  routines.getri(&order, out, &order, pivots.get(), &asked, &length, &singular);
  length = work_length(asked);
  const Work<T> work(length);
  routines.getri(&order, out, &order, pivots.get(), work.get(), &length, &singular);
  return singular;
}

template <class T>
int triangular_solve(const Lapack& lapack, std::int64_t n, std::int64_t columns, bool lower, bool adjoint, const T* a,
                     T* x) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (a[i * n + i] == T(0)) return static_cast<int>(i + 1);
  }
  if (n == 0 || columns == 0) return 0;
  // By columns the memory holds transposes, so a x = b is x^T a^T = b^T, and the triangles are exchanged.
  const int rows = static_cast<int>(columns);
  const int order = static_cast<int>(n);
  const T one(1);
  const LapackTurn turn_taken;
  lapack.of<T>().trsm("R", lower ? "U" : "L", adjoint ? "C" : "N", "N", &rows, &order, &one, a, &order, x, &rows, 1, 1,
                      1, 1);
  return 0;
}

template <class T>
Determinant<T> determinant(const Lapack& lapack, std::int64_t n, const T* a) {
  Determinant<T> result{T(1), T(1), 0};
  if (n == 0) return result;
  // That of the transpose is the same.
  const Work<T> factors(n * n);
  const Work<int> pivots(n);
  std::copy_n(a, n * n, factors.get());
  factor(lapack, n, factors.get(), pivots.get());
  for (std::int64_t i = 0; i < n; ++i) {
    const T pivot = pivots[i] == i + 1 ? factors[i * n + i] : -factors[i * n + i];
    const RealOf<T> size = std::abs(pivot);
    result.value *= pivot;
    result.log += std::log(size);
    result.sign *= size == 0 ? T(0) : pivot / size;
  }
  return result;
}

template <class T>
void qr(const Lapack& lapack, std::int64_t m, std::int64_t n, bool full, const T* a, T* q, T* r) {
  const std::int64_t k = std::min(m, n);
  const std::int64_t width = full ? m : k;
  if (k == 0) {
    set_identity(m, width, q);
    return;
  }
  const Work<T> columns(m * std::max(n, width));
  const Work<T> tau(k);
  turn(m, n, a, columns.get());
  const int rows = static_cast<int>(m);
  const int count = static_cast<int>(n);
  const int reflections = static_cast<int>(k);
  const int columns_of_q = static_cast<int>(width);
  const LapackRoutines<T>& routines = lapack.of<T>();
  int info = 0;
  const LapackTurn turn_taken;
  T asked(0);
  T asked_for_q(0);
  int length = -1;
  routines.geqrf(&rows, &count, columns.get(), &rows, tau.get(), &asked, &length, &info);
  routines.orgqr(&rows, &columns_of_q, &reflections, columns.get(), &rows, tau.get(), &asked_for_q, &length, &info);
  length = std::max(work_length(asked), work_length(asked_for_q));
  const Work<T> work(length);
  routines.geqrf(&rows, &count, columns.get(), &rows, tau.get(), work.get(), &length, &info);
  for (std::int64_t i = 0; i < width; ++i) {
    for (std::int64_t j = 0; j < n; ++j) r[i * n + j] = j < i ? T(0) : columns[j * m + i];
  }
  // The reflections are in the first k columns; those beyond them are written.
  routines.orgqr(&rows, &columns_of_q, &reflections, columns.get(), &rows, tau.get(), work.get(), &length, &info);
  turn(width, m, columns.get(), q);
}

#define CAPSTAN_INSTANTIATE(T)                                                                        \
  template int cholesky(const Lapack&, std::int64_t, const T*, T*);                                   \
  template int lu(const Lapack&, std::int64_t, const T*, T*, std::int32_t*);                          \
  template int solve(const Lapack&, std::int64_t, std::int64_t, bool, const T*, const T*, T*);        \
  template int inverse(const Lapack&, std::int64_t, bool, const T*, T*);                              \
  template int triangular_solve(const Lapack&, std::int64_t, std::int64_t, bool, bool, const T*, T*); \
  template Determinant<T> determinant(const Lapack&, std::int64_t, const T*);                         \
  template void qr(const Lapack&, std::int64_t, std::int64_t, bool, const T*, T*, T*);
CAPSTAN_INSTANTIATE(float)
CAPSTAN_INSTANTIATE(double)
CAPSTAN_INSTANTIATE(std::complex<float>)
CAPSTAN_INSTANTIATE(std::complex<double>)
#undef CAPSTAN_INSTANTIATE

}  // namespace capstan
