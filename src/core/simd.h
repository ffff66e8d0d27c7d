// Settings of Highway, the same in every file that uses it. Include before any Highway header.
//
// Highway serves as headers only; its library is not linked (see cpu.h). Three targets are compiled: a portable
// fallback, AVX2 and AVX-512. More x86 targets cost 42 % more compile time and gain nothing measurable.
//
// A file with vector code starts with
//
//     #undef HWY_TARGET_INCLUDE
//     #define HWY_TARGET_INCLUDE "src/kernels/<file>.cc"
//     #include "src/core/simd.h"
//     #include "hwy/foreach_target.h"
//     #include "hwy/highway.h"
//
// and builds its tables in the part under `#if HWY_ONCE` with CAPSTAN_TARGET_TABLE(name), which lists the symbol `name`
// of each target's namespace in the order of InstructionSet.
#pragma once

// A build may leave out one of the two x86 targets, and another then stands for it in the tables, so that they keep
// their form. Sanitizers, which multiply the compile time of vector code, leave out AVX-512. A build for one machine
// has CAPSTAN_WITHOUT_AVX512 or CAPSTAN_WITHOUT_AVX2 (cmake/CapstanInstructionSets.cmake); the second is for machines
// with AVX-512, where the portable target stands for AVX2, and cpu.cc never chooses AVX2.
#if defined(CAPSTAN_WITHOUT_AVX512) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL | HWY_EMU128)
namespace capstan {
namespace N_AVX2 {}
namespace N_AVX3 = N_AVX2;
}  // namespace capstan
#elif defined(CAPSTAN_WITHOUT_AVX2)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX2 | HWY_AVX3_DL | HWY_EMU128)
namespace capstan {
namespace N_SCALAR {}
namespace N_AVX2 = N_SCALAR;
}  // namespace capstan
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_EMU128)
#endif
#define HWY_COMPILE_ALL_ATTAINABLE
// The portable target is Highway's SCALAR with every compiler; newer ones would get EMU128 instead.
#define HWY_BROKEN_EMU128 1

// One entry per instruction set: {portable, AVX2, AVX-512}.
#define CAPSTAN_TARGET_TABLE(name) \
  { N_SCALAR::name, N_AVX2::name, N_AVX3::name }

// A struct template Kernels<T> of functions, chosen by element type and instruction set: the first of these is in
// the namespace of a target, after a `template <class T> constexpr Kernels<T> kKernels`, the second under
// `#if HWY_ONCE`, where it defines Kernels<T> name_kernels<T>(int instruction_set) for float and double.
#define CAPSTAN_TARGET_KERNELS(Kernels, name)               \
  Kernels<float> name##_float() { return kKernels<float>; } \
  Kernels<double> name##_double() { return kKernels<double>; }
#define CAPSTAN_CHOOSE_KERNELS(Kernels, name)                                             \
  template <>                                                                             \
  Kernels<float> name##_kernels<float>(int instruction_set) {                             \
    static constexpr Kernels<float> (*kTable[])() = CAPSTAN_TARGET_TABLE(name##_float);   \
    return kTable[instruction_set]();                                                     \
  }                                                                                       \
  template <>                                                                             \
  Kernels<double> name##_kernels<double>(int instruction_set) {                           \
    static constexpr Kernels<double> (*kTable[])() = CAPSTAN_TARGET_TABLE(name##_double); \
    return kTable[instruction_set]();                                                     \
  }
