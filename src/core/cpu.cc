// The choice of an instruction set, see cpu.h.
//
// Users may compute tensors in the initialisers of their own static variables, before any
// constructor of this library has run. So the answer is kept in a constant-initialised atomic that
// is filled on the first call, and the compiler's runtime is initialised by hand, which is
// idempotent.
#include "src/core/cpu.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace capstan {
namespace {

#if defined(__x86_64__)
// Clang 14 does not know this name.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

// What the processor and the operating system support. The features listed are those that the
// vector code is compiled with, so a set is taken only if all of them are there.
InstructionSet supported() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && has_f16c() && __builtin_cpu_supports("aes") &&
                    __builtin_cpu_supports("pclmul");
  if (!avx2) return kPortable;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd");
  return avx512 ? kAvx512 : kAvx2;
#else
  return kPortable;
#endif
}

// The ceiling that the environment asks for; an unknown name asks for nothing.
InstructionSet requested() {
  const char* name = std::getenv("CAPSTAN_INSTRUCTION_SET");
  if (name == nullptr) return kAvx512;
  if (std::strcmp(name, "portable") == 0) return kPortable;
  if (std::strcmp(name, "avx2") == 0) return kAvx2;
  return kAvx512;
}

// The best set up to this one for which there is code, see simd.h.
InstructionSet compiled(InstructionSet set) {
#if defined(CAPSTAN_WITHOUT_AVX512)
  if (set == kAvx512) return kAvx2;
#elif defined(CAPSTAN_WITHOUT_AVX2)
  if (set == kAvx2) return kPortable;
#endif
  return set;
}

}  // namespace

constinit std::atomic<int> detail::chosen_instruction_set{-1};

int detail::choose_instruction_set() {
  const InstructionSet best = supported();
  const InstructionSet ceiling = requested();
  const int set = compiled(ceiling < best ? ceiling : best);
  // Threads that race here compute and store the same value.
  chosen_instruction_set.store(set, std::memory_order_relaxed);
  return set;
}

}  // namespace capstan
