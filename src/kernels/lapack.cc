#include "src/kernels/lapack.h"

#include <dlfcn.h>

#include <iterator>
#include <semaphore>
#include <string>

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

// More than any pool needs, and fewer than any build of OpenBLAS takes.
std::counting_semaphore<>& turns() {
  static std::counting_semaphore<> semaphore(32);
  return semaphore;
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
    auto* const routines = new Lapack;
    find_routines(resolver, "s", routines->float32);
    find_routines(resolver, "d", routines->float64);
    find_routines(resolver, "c", routines->complex64);
    find_routines(resolver, "z", routines->complex128);
    find_schur(resolver, "c", routines->schur64);
    find_schur(resolver, "z", routines->schur128);
    if (!resolver.missing().empty()) {
      // Not closed again: a library with threads of its own cannot be unloaded safely.
      problem += (problem.empty() ? "" : "; ") + std::string(names[i]) + " lacks " + resolver.missing();
      delete routines;
      continue;
    }
    // The reference LAPACK has no threads to turn off.
    void (*set_threads)(int) = nullptr;
    Resolver(library).find(set_threads, "openblas_set_num_threads");
    if (set_threads != nullptr) set_threads(1);
    return {routines, {}};
  }
  return {nullptr, problem};
}

const LoadedLapack& load_lapack() {
  static const LoadedLapack loaded = load_lapack_from(kNames, std::size(kNames));
  return loaded;
}

LapackTurn::LapackTurn() { turns().acquire(); }
LapackTurn::~LapackTurn() { turns().release(); }

}  // namespace capstan
