# Which instruction sets vector code is compiled for: CAPSTAN_INSTRUCTION_SETS.
#
#   all     the portable one, AVX2 and AVX-512; the best that the machine has is chosen at run time. What is installed and tested.
#   native  the portable one and the best of the machine that compiles: a third less time for files with vector code. Such a
#           library runs on other machines, too, but slowly on those that lack this one.

set(CAPSTAN_INSTRUCTION_SETS all CACHE STRING "all, or native: vector code for this machine only")
set_property(CACHE CAPSTAN_INSTRUCTION_SETS PROPERTY STRINGS all native)
if(NOT CAPSTAN_INSTRUCTION_SETS MATCHES "^(all|native)$")
  message(FATAL_ERROR "CAPSTAN_INSTRUCTION_SETS is '${CAPSTAN_INSTRUCTION_SETS}'; it can be all or native")
endif()

# The set that this build goes without, as simd.h and cpu.cc know it; empty with all, or where there is no x86.
set(capstan_left_out)
if(CAPSTAN_INSTRUCTION_SETS STREQUAL "native" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND NOT CMAKE_CROSSCOMPILING)
  include(CheckCXXSourceRuns)
  check_cxx_source_runs([[
    int main() {
      __builtin_cpu_init();
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                     __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd")
                 ? 0
                 : 1;
    }]] CAPSTAN_HAS_AVX512)
  if(CAPSTAN_HAS_AVX512)
    set(capstan_left_out CAPSTAN_WITHOUT_AVX2)
  else()
    set(capstan_left_out CAPSTAN_WITHOUT_AVX512)
  endif()
endif()

# capstan_choose_instruction_sets(SOURCES...): tells those of the files that hold or choose vector code. The others are compiled as in
# every build, so that a compiler cache has them.
function(capstan_choose_instruction_sets)
  if(NOT capstan_left_out)
    return()
  endif()
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} vector_code REGEX "define HWY_TARGET_INCLUDE" LIMIT_COUNT 1)
    if(vector_code OR source MATCHES "/src/core/cpu\\.cc$")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS ${capstan_left_out})
    endif()
  endforeach()
endfunction()
