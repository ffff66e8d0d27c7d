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

# The program in the README is compiled and run, so that it stays true.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/README.md)
file(READ ${PROJECT_SOURCE_DIR}/README.md readme)
string(FIND "${readme}" "```cpp\n" begin)
math(EXPR begin "${begin} + 7")
string(SUBSTRING "${readme}" ${begin} -1 program)
string(FIND "${program}" "```" end)
string(SUBSTRING "${program}" 0 ${end} program)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/readme_program.cc CONTENT "${program}" @ONLY)
if(EXISTS ${PROJECT_SOURCE_DIR}/include/capstan/capstan.h)
  add_executable(readme_program ${CMAKE_CURRENT_BINARY_DIR}/readme_program.cc)
  capstan_settings(readme_program)
  capstan_link_testable(readme_program)
  add_test(NAME house/readme COMMAND readme_program)
  set_tests_properties(house/readme PROPERTIES LABELS house TIMEOUT 300
    PASS_REGULAR_EXPRESSION "dy/dx = 6\naccuracy: 0\\.9")
endif()
