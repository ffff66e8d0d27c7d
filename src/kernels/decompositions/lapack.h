// LAPACK, loaded when it is first needed.
//
// The library does not link LAPACK: a program that factorises no matrix needs no such package, starts
// no faster or slower, and a machine without one learns so from an error that names the package, not
// from the loader. What is loaded keeps its symbols to itself (RTLD_LOCAL), so that a program may use
// another LAPACK beside it. The single-threaded OpenBLAS is preferred, since work is split over
// matrices by the library's own pool; the threads of any other OpenBLAS are turned off, so that results
// have the same bits for any number of threads; this holds for all users of that OpenBLAS in the process.
//
// The routines are those of Fortran: matrices stored by columns, arguments by address, 32-bit integers,
// and the lengths of texts at the end.
#pragma once

#include <complex>
#include <cstddef>
#include <string>
#include <type_traits>

namespace capstan {

template <class T>
struct RealPart {
  using type = T;
};
template <class T>
struct RealPart<std::complex<T>> {
  using type = T;
};
// float for std::complex<float>; any other type is its own.
template <class T>
using RealOf = typename RealPart<T>::type;
template <class T>
inline constexpr bool kIsComplex = !std::is_same_v<T, RealOf<T>>;

// The routines for one type of elements. Where those of real and of complex numbers differ in their
// arguments, the latter have one more array of reals.
template <class T>
struct LapackRoutines {
  using R = RealOf<T>;
  using Length = std::size_t;

  void (*potrf)(const char* uplo, const int* n, T* a, const int* lda, int* info, Length);
  void (*getrf)(const int* m, const int* n, T* a, const int* lda, int* pivots, int* info);
  void (*getrs)(const char* trans, const int* n, const int* columns, const T* a, const int* lda, const int* pivots,
                T* b, const int* ldb, int* info, Length);
  void (*getri)(const int* n, T* a, const int* lda, const int* pivots, T* work, const int* lwork, int* info);
  void (*geqrf)(const int* m, const int* n, T* a, const int* lda, T* tau, T* work, const int* lwork, int* info);
  void (*orgqr)(const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau, T* work, const int* lwork,
                int* info);
  std::conditional_t<
      kIsComplex<T>,
      void (*)(const char* job, const int* m, const int* n, T* a, const int* lda, R* s, T* u, const int* ldu, T* vt,
               const int* ldvt, T* work, const int* lwork, R* rwork, int* iwork, int* info, Length),
      void (*)(const char* job, const int* m, const int* n, T* a, const int* lda, R* s, T* u, const int* ldu, T* vt,
               const int* ldvt, T* work, const int* lwork, int* iwork, int* info, Length)>
      gesdd;
  std::conditional_t<kIsComplex<T>,
                     void (*)(const char* job, const char* uplo, const int* n, T* a, const int* lda, R* w, T* work,
                              const int* lwork, R* rwork, const int* lrwork, int* iwork, const int* liwork, int* info,
                              Length, Length),
                     void (*)(const char* job, const char* uplo, const int* n, T* a, const int* lda, R* w, T* work,
                              const int* lwork, int* iwork, const int* liwork, int* info, Length, Length)>
      syevd;
  void (*trsm)(const char* side, const char* uplo, const char* trans, const char* diagonal, const int* m, const int* n,
               const T* alpha, const T* a, const int* lda, T* b, const int* ldb, Length, Length, Length, Length);
  void (*gemm)(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k, const T* alpha,
               const T* a, const int* lda, const T* b, const int* ldb, const T* beta, T* c, const int* ldc, Length,
               Length);
};

// The routines that exist for complex numbers only: eigenvalues and the Schur form of any square matrix.
template <class T>
struct ComplexRoutines {
  using R = RealOf<T>;
  using Length = std::size_t;

  void (*geev)(const char* left, const char* right, const int* n, T* a, const int* lda, T* w, T* vl, const int* ldvl,
               T* vr, const int* ldvr, T* work, const int* lwork, R* rwork, int* info, Length, Length);
  void (*gees)(const char* vectors, const char* sort, int (*select)(const T*), const int* n, T* a, const int* lda,
               int* sorted, T* w, T* vs, const int* ldvs, T* work, const int* lwork, R* rwork, int* bwork, int* info,
               Length, Length);
};

struct Lapack {
  LapackRoutines<float> float32;
  LapackRoutines<double> float64;
  LapackRoutines<std::complex<float>> complex64;
  LapackRoutines<std::complex<double>> complex128;
  ComplexRoutines<std::complex<float>> schur64;
  ComplexRoutines<std::complex<double>> schur128;

  template <class T>
  const LapackRoutines<T>& of() const {
    if constexpr (std::is_same_v<T, float>) {
      return float32;
    } else if constexpr (std::is_same_v<T, double>) {
      return float64;
    } else if constexpr (std::is_same_v<T, std::complex<float>>) {
      return complex64;
    } else {
      return complex128;
    }
  }
  template <class T>
  const ComplexRoutines<T>& schur_of() const {
    if constexpr (std::is_same_v<T, std::complex<float>>) {
      return schur64;
    } else {
      return schur128;
    }
  }
};

// What loading gave: the routines, which are never freed, or the reason why there are none.
struct LoadedLapack {
  const Lapack* routines = nullptr;
  std::string problem;
};

// Loads at the first call; any thread may make it. The result stays valid until the process ends.
const LoadedLapack& load_lapack();

// Loads the first of the libraries that has every routine; for tests, load_lapack() knows the names.
LoadedLapack load_lapack_from(const char* const* names, std::size_t count);

// One caller at a time: OpenBLAS takes a large buffer for each more, ends the process when there are more than it was
// built for, and hangs when there is no memory for one.
class LapackTurn {
 public:
  LapackTurn();
  ~LapackTurn();
  LapackTurn(const LapackTurn&) = delete;
  LapackTurn& operator=(const LapackTurn&) = delete;
};

}  // namespace capstan
