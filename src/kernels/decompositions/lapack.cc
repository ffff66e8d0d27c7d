#include "src/kernels/decompositions/lapack.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

namespace capstan {

namespace {

// In the order of preference. Debian keeps each build of OpenBLAS in a folder of its own and points
// libopenblas.so.0 at one of them.
constexpr const char* kNames[] = {
#if defined(__x86_64__)
    "/usr/lib/x86_64-linux-gnu/openblas-serial/libopenblas.so.0",
#elif defined(__aarch64__)
    "/usr/lib/aarch64-linux-gnu/openblas-serial/libopenblas.so.0",
#endif
    "libopenblas.so.0",
    "liblapack.so.3",
};

// Looks up routines of one library and remembers the first that is missing.
class Resolver {
 public:
  explicit Resolver(void* library) : library_(library) {}

  template <class Function>
  void find(Function& function, const std::string& name) {
    function = reinterpret_cast<Function>(dlsym(library_, name.c_str()));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

template <class T>
void find_routines(Resolver& resolver, const std::string& letter, LapackRoutines<T>& routines) {
  resolver.find(routines.potrf, letter + "potrf_");
  resolver.find(routines.getrf, letter + "getrf_");
  resolver.find(routines.getrs, letter + "getrs_");
  resolver.find(routines.getri, letter + "getri_");
  resolver.find(routines.geqrf, letter + "geqrf_");
  resolver.find(routines.orgqr, letter + (kIsComplex<T> ? "ungqr_" : "orgqr_"));
  resolver.find(routines.gesdd, letter + "gesdd_");
  resolver.find(routines.syevd, letter + (kIsComplex<T> ? "heevd_" : "syevd_"));
  resolver.find(routines.trsm, letter + "trsm_");
  resolver.find(routines.gemm, letter + "gemm_");
}

template <class T>
void find_schur(Resolver& resolver, const std::string& letter, ComplexRoutines<T>& routines) {
  resolver.find(routines.geev, letter + "geev_");
  resolver.find(routines.gees, letter + "gees_");
}

// OpenBLAS takes a buffer of 128 MiB when it is first called, and tries for ever if there is no memory for it. So that
// call is made here, after it is known that there is room; as callers take turns, it never needs another buffer.
void take_buffer(const Lapack& lapack) {
  constexpr std::size_t kRoom = std::size_t{160} << 20;
  void* const room = mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  munmap(room, kRoom);
  constexpr int kSize = 128;  // Smaller products may go without a buffer.
  const std::vector<double> x(kSize * kSize, 1.0);
  std::vector<double> y(kSize * kSize);
  const double one = 1;
  const double zero = 0;
  lapack.float64.gemm("N", "N", &kSize, &kSize, &kSize, &one, x.data(), &kSize, x.data(), &kSize, &zero, y.data(),
                      &kSize, 1, 1);
}

std::mutex& in_use() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

LoadedLapack load_lapack_from(const char* const* names, std::size_t count) {
  std::string problem;
  for (std::size_t i = 0; i < count; ++i) {
    void* const library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const reason = dlerror();
      problem += (problem.empty() ? "" : "; ") + std::string(reason == nullptr ? names[i] : reason);
      continue;
    }
    Resolver resolver(library);
    auto routines = std::make_unique<Lapack>();
    find_routines(resolver, "s", routines->float32);
    find_routines(resolver, "d", routines->float64);
    find_routines(resolver, "c", routines->complex64);
    find_routines(resolver, "z", routines->complex128);
    find_schur(resolver, "c", routines->schur64);
    find_schur(resolver, "z", routines->schur128);
    if (!resolver.missing().empty()) {
      // Not closed again: a library with threads of its own cannot be unloaded safely.
      problem += (problem.empty() ? "" : "; ") + std::string(names[i]) + " lacks " + resolver.missing();
      continue;
    }
    // The reference LAPACK has no threads to turn off.
    void (*set_threads)(int) = nullptr;
    Resolver(library).find(set_threads, "openblas_set_num_threads");
    if (set_threads != nullptr) {
      set_threads(1);
      take_buffer(*routines);
    }
    return {routines.release(), {}};
  }
  return {nullptr, problem};
}

const LoadedLapack& load_lapack() {
  static const LoadedLapack loaded = load_lapack_from(kNames, std::size(kNames));
  return loaded;
}

LapackTurn::LapackTurn() { in_use().lock(); }
LapackTurn::~LapackTurn() { in_use().unlock(); }

}  // namespace capstan
