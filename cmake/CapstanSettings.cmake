# How every target of this project is compiled: capstan_settings(target).

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(CAPSTAN_CCACHE ccache)
  if(CAPSTAN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # With paths relative to the tree, so that a second clone finds what the first has compiled.
    # The sloppiness is what ccache needs to keep objects that were compiled with precompiled headers. Comments count, since
    # g++ recognises a header that it has precompiled by its whole text: else `#pragma once` fails when a comment changes.
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_COMMENTS=1 ${CAPSTAN_CCACHE})
  endif()
  if(CAPSTAN_SANITIZE)
    add_compile_options(-fsanitize=${CAPSTAN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${CAPSTAN_SANITIZE})
  endif()
endif()

function(capstan_settings target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(${target} PRIVATE
    "$<$<CONFIG:Release>:${CAPSTAN_OPTIMISATION}>"
    -ffp-contract=off            # eager, fused and emitted code agree in every bit
    -fno-math-errno
    -ftls-model=initial-exec     # otherwise every access to the context is a call in a shared library
    -fno-semantic-interposition
    -Wall -Wextra
    -Wno-missing-field-initializers   # designated initialisers name what differs from the default
    -Wno-psabi
    # Files that take less than half a gigabyte are compiled without looks for memory to free, a seventh of the time of tests.
    "$<$<CXX_COMPILER_ID:GNU>:SHELL:--param ggc-min-heapsize=524288>")
  if(CAPSTAN_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(CAPSTAN_SANITIZE)
    # g++ 12 sees such uses in std::regex and std::optional when it instruments them.
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
  endif()
endfunction()

# Has a target read the headers that most files include once and for all, not file by file: a third of a file of the library, more of
# a test. Files include what they use all the same: builds with sanitizers or clang go without, and so does clang-tidy.
# `header`: a header, or another target of the same settings whose headers serve.
function(capstan_precompile target header)
  if(NOT CAPSTAN_PRECOMPILE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR CAPSTAN_SANITIZE)
    return()
  endif()
  if(TARGET ${header})
    target_precompile_headers(${target} REUSE_FROM ${header})
  else()
    target_precompile_headers(${target} PRIVATE ${header})
  endif()
  # The first is for ccache. The others are false alarms of g++ 12 at "a" + std::string (its bugs 105329 and 105651), which it gives
  # in other places with precompiled headers; builds without these still ask.
  target_compile_options(${target} PRIVATE -fpch-preprocess -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow)
endfunction()

# The same for what becomes a part of a program; the objects of libraries and programs would differ in how their code may be moved.
function(capstan_precompile_for_programs target header)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIE)
  capstan_precompile(${target} ${header})
endfunction()

# The same for programs that include <capstan/capstan.h>, all of which share one target with headers.
function(capstan_precompile_program target)
  if(NOT TARGET program_headers)
    add_library(program_headers OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/precompiled_program.cc)
    capstan_settings(program_headers)
    capstan_precompile_for_programs(program_headers ${PROJECT_SOURCE_DIR}/cmake/precompiled_program.h)
  endif()
  capstan_precompile_for_programs(${target} program_headers)
endfunction()
