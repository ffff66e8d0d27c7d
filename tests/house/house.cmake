# Tests about the project itself that are no C++ programs.

# Each public header alone, as the only thing that a file includes. A header that needs another before it does not build.
file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include
  ${PROJECT_SOURCE_DIR}/include/capstan/*.h)
set(alone_sources)
foreach(header IN LISTS public_headers)
  string(REGEX REPLACE "[/.]" "_" name ${header})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/headers_alone/${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include <${header}>\n" @ONLY)
  list(APPEND alone_sources ${source})
endforeach()
if(alone_sources)
  add_library(headers_alone OBJECT ${alone_sources})
  target_compile_features(headers_alone PRIVATE cxx_std_20)
  # Stricter than our own settings, for headers are compiled with the flags of whoever includes them.
  target_compile_options(headers_alone PRIVATE -Wall -Wextra -Wpedantic -Werror)
  target_include_directories(headers_alone PRIVATE ${PROJECT_SOURCE_DIR}/include)
endif()

add_test(NAME house/format COMMAND ${PROJECT_SOURCE_DIR}/tools/format.sh --check)
set_tests_properties(house/format PROPERTIES LABELS house TIMEOUT 300)

# These two compile, which sanitizers do not make more telling.
if(NOT CAPSTAN_SANITIZE)
  add_test(NAME house/header_cost
    COMMAND ${PROJECT_SOURCE_DIR}/tools/header_cost.sh --check ${CMAKE_CXX_COMPILER})
  add_test(NAME house/install
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/house/install_test.sh ${CMAKE_CXX_COMPILER} ${PROJECT_BINARY_DIR}/install_test)
  set_tests_properties(house/header_cost PROPERTIES LABELS house TIMEOUT 300)
  set_tests_properties(house/install PROPERTIES LABELS house TIMEOUT 1800 PROCESSORS 2)
endif()
