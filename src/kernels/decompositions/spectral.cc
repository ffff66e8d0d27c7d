#include "src/kernels/decompositions/spectral.h"

#include <algorithm>
#include <limits>
#include <complex>

#include "src/kernels/decompositions/factorisations.h"
#include "src/kernels/decompositions/lapack_memory.h"

namespace capstan {

namespace {

// The factor that brings a column of rows[length, stride] into the form that the header describes.
template <class T>
T factor_of_column(std::int64_t length, std::int64_t stride, const T* column) {
  RealOf<T> largest = 0;
  for (std::int64_t i = 0; i < length; ++i) largest = std::max(largest, std::abs(column[i * stride]));
  for (std::int64_t i = 0; i < length; ++i) {
    const T value = column[i * stride];
    if (std::abs(value) >= largest / 2 && largest > 0) return conjugate(value) / std::abs(value);
  }
  return T(1);
}

template <class T>
void scale_column(std::int64_t length, std::int64_t stride, T* column, T factor) {
  if (factor == T(1)) return;
  for (std::int64_t i = 0; i < length; ++i) column[i * stride] *= factor;
}

// c = a b of square matrices by columns.
template <class T>
void multiply(const Lapack& lapack, const char* trans_a, const char* trans_b, std::int64_t m, std::int64_t n,
              std::int64_t k, const T* a, const T* b, T* c) {
  const int rows = static_cast<int>(m);
  const int columns = static_cast<int>(n);
  const int inner = static_cast<int>(k);
  const int lda = *trans_a == 'N' ? rows : inner;
  const int ldb = *trans_b == 'N' ? inner : columns;
  const T one(1);
  const T zero(0);
  const LapackTurn turn_taken;
  lapack.of<T>().gemm(trans_a, trans_b, &rows, &columns, &inner, &one, a, &lda, b, &ldb, &zero, c, &rows, 1, 1);
}

}  // namespace

template <class T>
Spectral svd(const Lapack& lapack, std::int64_t m, std::int64_t n, bool full, const T* a, RealOf<T>* s, T* u, T* v) {
  using R = RealOf<T>;
  const std::int64_t k = std::min(m, n);
  if (k == 0) {
    if (u == nullptr) return Spectral::kDone;
    set_identity(m, full ? m : k, u);
    set_identity(n, full ? n : k, v);
    return Spectral::kDone;
  }
  if (!all_finite(a, m * n)) return Spectral::kNotFinite;
  const std::int64_t width_u = full ? m : k;
  const std::int64_t width_v = full ? n : k;
  const bool vectors = u != nullptr;
  const Work<T> columns(m * n);
  turn(m, n, a, columns.get());
  const Work<T> left(vectors ? m * width_u : 1);
  const Work<T> right(vectors ? n * width_v : 1);
  const Work<int> integers(8 * k);
  // The bound of LAPACK 3.7 and later for every way through xGESDD.
  const Work<R> reals(!kIsComplex<T> ? 1 : vectors ? k * std::max(5 * k + 7, 2 * std::max(m, n) + 2 * k + 1) : 7 * k);
  const char* const job = !vectors ? "N" : full ? "A" : "S";
  const int rows = static_cast<int>(m);
  const int count = static_cast<int>(n);
  const int ldu = vectors ? rows : 1;
  const int ldvt = vectors ? static_cast<int>(width_v) : 1;
  int info = 0;
  const auto run = [&](T* work, int length) {
    if constexpr (kIsComplex<T>) {
      lapack.of<T>().gesdd(job, &rows, &count, columns.get(), &rows, s, left.get(), &ldu, right.get(), &ldvt, work,
                           &length, reals.get(), integers.get(), &info, 1);
    } else {
      lapack.of<T>().gesdd(job, &rows, &count, columns.get(), &rows, s, left.get(), &ldu, right.get(), &ldvt, work,
                           &length, integers.get(), &info, 1);
    }
  };
  {
    const LapackTurn turn_taken;
    T asked(0);
    run(&asked, -1);
    const int length = work_length(asked);
    const Work<T> work(length);
    run(work.get(), length);
  }
  if (info != 0) return Spectral::kNoConvergence;
  if (!vectors) return Spectral::kDone;
  turn(width_u, m, left.get(), u);
  // By columns this is v^H, so by rows its conjugate is v.
  std::transform(right.get(), right.get() + n * width_v, v, [](T value) { return conjugate(value); });
  for (std::int64_t j = 0; j < width_u; ++j) {
    const T factor = factor_of_column(m, width_u, u + j);
    scale_column(m, width_u, u + j, factor);
    if (j < k) scale_column(n, width_v, v + j, factor);
  }
  for (std::int64_t j = k; j < width_v; ++j) scale_column(n, width_v, v + j, factor_of_column(n, width_v, v + j));
  return Spectral::kDone;
}

template <class T>
Spectral eigh(const Lapack& lapack, std::int64_t n, const T* a, RealOf<T>* w, T* v) {
  using R = RealOf<T>;
  if (n == 0) return Spectral::kDone;
  const Work<T> columns(n * n);
  for (std::int64_t i = 0; i < n; ++i) {
    if (!all_finite(a + i * n, i + 1)) return Spectral::kNotFinite;
    for (std::int64_t j = 0; j < n; ++j) columns[j * n + i] = j <= i ? a[i * n + j] : T(0);
  }
  const char* const job = v == nullptr ? "N" : "V";
  const int order = static_cast<int>(n);
  int info = 0;
  {
    const LapackTurn turn_taken;
    T asked(0);
    R asked_reals(0);
    int asked_integers = 0;
    const auto run = [&](T* work, int length, R* reals, int length_reals, int* integers, int length_integers) {
      if constexpr (kIsComplex<T>) {
        lapack.of<T>().syevd(job, "L", &order, columns.get(), &order, w, work, &length, reals, &length_reals, integers,
                             &length_integers, &info, 1, 1);
      } else {
        static_cast<void>(reals);
        static_cast<void>(length_reals);
        lapack.of<T>().syevd(job, "L", &order, columns.get(), &order, w, work, &length, integers, &length_integers,
                             &info, 1, 1);
      }
    };
    run(&asked, -1, &asked_reals, -1, &asked_integers, -1);
    const int length = work_length(asked);
    const int length_reals = work_length(asked_reals);
    const int length_integers = std::max(1, asked_integers);
    const Work<T> work(length);
    const Work<R> reals(length_reals);
    const Work<int> integers(length_integers);
    run(work.get(), length, reals.get(), length_reals, integers.get(), length_integers);
  }
  if (info != 0) return Spectral::kNoConvergence;
  if (v == nullptr) return Spectral::kDone;
  turn(n, n, columns.get(), v);
  for (std::int64_t j = 0; j < n; ++j) scale_column(n, n, v + j, factor_of_column(n, n, v + j));
  return Spectral::kDone;
}

template <class T>
Spectral eig(const Lapack& lapack, std::int64_t n, const T* a, T* w, T* v) {
  if (n == 0) return Spectral::kDone;
  if (!all_finite(a, n * n)) return Spectral::kNotFinite;
  const Work<T> columns(n * n);
  const Work<T> vectors(v == nullptr ? 1 : n * n);
  const Work<RealOf<T>> reals(2 * n);
  turn(n, n, a, columns.get());
  const int order = static_cast<int>(n);
  const int one = 1;
  int info = 0;
  const auto run = [&](T* work, int length) {
    lapack.schur_of<T>().geev("N", v == nullptr ? "N" : "V", &order, columns.get(), &order, w, nullptr, &one,
                              vectors.get(), v == nullptr ? &one : &order, work, &length, reals.get(), &info, 1, 1);
  };
  {
    const LapackTurn turn_taken;
    T asked(0);
    run(&asked, -1);
    const int length = work_length(asked);
    const Work<T> work(length);
    run(work.get(), length);
  }
  if (info != 0) return Spectral::kNoConvergence;
  if (v == nullptr) return Spectral::kDone;
  turn(n, n, vectors.get(), v);
  for (std::int64_t j = 0; j < n; ++j) scale_column(n, n, v + j, factor_of_column(n, n, v + j));
  return Spectral::kDone;
}

template <class T>
Spectral schur(const Lapack& lapack, std::int64_t n, const T* a, T* t, T* u) {
  if (n == 0) return Spectral::kDone;
  if (!all_finite(a, n * n)) return Spectral::kNotFinite;
  const Work<T> columns(n * n);
  const Work<T> vectors(n * n);
  const Work<T> eigenvalues(n);
  const Work<RealOf<T>> reals(n);
  turn(n, n, a, columns.get());
  const int order = static_cast<int>(n);
  int sorted = 0;
  int info = 0;
  const auto run = [&](T* work, int length) {
    lapack.schur_of<T>().gees("V", "N", nullptr, &order, columns.get(), &order, &sorted, eigenvalues.get(),
                              vectors.get(), &order, work, &length, reals.get(), nullptr, &info, 1, 1);
  };
  {
    const LapackTurn turn_taken;
    T asked(0);
    run(&asked, -1);
    const int length = work_length(asked);
    const Work<T> work(length);
    run(work.get(), length);
  }
  if (info != 0) return Spectral::kNoConvergence;
  turn(n, n, columns.get(), t);
  turn(n, n, vectors.get(), u);
  return Spectral::kDone;
}

template <class T>
void cofactors(const Lapack& lapack, std::int64_t n, const T* a, T* out) {
  if (n == 0) return;
  const Work<RealOf<T>> s(n);
  const Work<T> u(n * n);
  const Work<T> v(n * n);
  if (svd(lapack, n, n, false, a, s.get(), u.get(), v.get()) != Spectral::kDone) {
    std::fill(out, out + n * n, T(std::numeric_limits<RealOf<T>>::quiet_NaN()));
    return;
  }
  // With a = u s v^H these are conj(det(u v^H)) u p v^H, where p has the products of all other singular
  // values.
  const T turn_of_u = determinant(lapack, n, u.get()).sign;
  const T turn_of_v = determinant(lapack, n, v.get()).sign;
  T before = conjugate(turn_of_u) * turn_of_v;
  const Work<T> products(n);
  for (std::int64_t i = 0; i < n; ++i) {
    products[i] = before;
    before *= s[i];
  }
  RealOf<T> after = 1;
  for (std::int64_t i = n - 1; i >= 0; --i) {
    products[i] *= after;
    after *= s[i];
  }
  for (std::int64_t i = 0; i < n * n; ++i) u[i] *= products[i % n];
  // By columns: (u p v^H)^T = conj(v) (u p)^T.
  if constexpr (kIsComplex<T>) {
    for (std::int64_t i = 0; i < n * n; ++i) v[i] = std::conj(v[i]);
  }
  multiply(lapack, "T", "N", n, n, n, v.get(), u.get(), out);
}

template <class T>
Spectral pseudo_inverse(const Lapack& lapack, std::int64_t m, std::int64_t n, double rcond, const T* a, T* out) {
  const std::int64_t k = std::min(m, n);
  if (k == 0) return Spectral::kDone;
  const Work<RealOf<T>> s(k);
  const Work<T> u(m * k);
  const Work<T> v(n * k);
  const Spectral end = svd(lapack, m, n, false, a, s.get(), u.get(), v.get());
  if (end != Spectral::kDone) return end;
  const RealOf<T> cutoff = static_cast<RealOf<T>>(rcond) * s[0];
  for (std::int64_t i = 0; i < n * k; ++i) {
    const RealOf<T> value = s[i % k];
    v[i] = value > cutoff ? v[i] / value : T(0);
  }
  // By columns: (v u^H)^T = conj(u) v^T.
  if constexpr (kIsComplex<T>) {
    for (std::int64_t i = 0; i < m * k; ++i) u[i] = std::conj(u[i]);
  }
  multiply(lapack, "T", "N", m, n, k, u.get(), v.get(), out);
  return Spectral::kDone;
}

#define CAPSTAN_INSTANTIATE(T)                                                                          \
  template Spectral svd(const Lapack&, std::int64_t, std::int64_t, bool, const T*, RealOf<T>*, T*, T*); \
  template Spectral eigh(const Lapack&, std::int64_t, const T*, RealOf<T>*, T*);                        \
  template void cofactors(const Lapack&, std::int64_t, const T*, T*);                                   \
  template Spectral pseudo_inverse(const Lapack&, std::int64_t, std::int64_t, double, const T*, T*);
CAPSTAN_INSTANTIATE(float)
CAPSTAN_INSTANTIATE(double)
CAPSTAN_INSTANTIATE(std::complex<float>)
CAPSTAN_INSTANTIATE(std::complex<double>)
#undef CAPSTAN_INSTANTIATE

#define CAPSTAN_INSTANTIATE(T)                                          \
  template Spectral eig(const Lapack&, std::int64_t, const T*, T*, T*); \
  template Spectral schur(const Lapack&, std::int64_t, const T*, T*, T*);
CAPSTAN_INSTANTIATE(std::complex<float>)
CAPSTAN_INSTANTIATE(std::complex<double>)
#undef CAPSTAN_INSTANTIATE

}  // namespace capstan
