# How every target of this project is compiled: capstan_settings(target).

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(CAPSTAN_CCACHE ccache)
  if(CAPSTAN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # With paths relative to the tree, so that a second clone finds what the first has compiled.
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CAPSTAN_CCACHE})
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
    $<$<CONFIG:Release>:${CAPSTAN_OPTIMISATION}>
    -ffp-contract=off            # eager, fused and emitted code agree in every bit
    -fno-math-errno
    -ftls-model=initial-exec     # otherwise every access to the context is a call in a shared library
    -fno-semantic-interposition
    -Wall -Wextra
    -Wno-missing-field-initializers   # designated initialisers name what differs from the default
    -Wno-psabi)
  if(CAPSTAN_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(CAPSTAN_SANITIZE)
    # g++ 12 sees such uses in std::regex and std::optional when it instruments them.
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
  endif()
endfunction()
