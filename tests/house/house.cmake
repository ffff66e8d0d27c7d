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
  target_compile_options(headers_alone PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
    -Wold-style-cast -Werror -O0)
  target_include_directories(headers_alone PRIVATE ${PROJECT_SOURCE_DIR}/include)
endif()

add_test(NAME house/format COMMAND ${PROJECT_SOURCE_DIR}/tools/format.sh --check)
set_tests_properties(house/format PROPERTIES LABELS house TIMEOUT 300)

# These compile, which sanitizers do not make more telling.
if(NOT CAPSTAN_SANITIZE)
  add_test(NAME house/header_cost
    COMMAND ${PROJECT_SOURCE_DIR}/tools/header_cost.sh --check ${CMAKE_CXX_COMPILER})
  # An installed library has the objects of this build, if this is one for release.
  set(objects)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set(objects ${PROJECT_BINARY_DIR})
  endif()
  add_test(NAME house/install
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/house/install_test.sh ${CMAKE_CXX_COMPILER} ${PROJECT_BINARY_DIR}/install_test ${objects})
  add_test(NAME house/header_warnings
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/house/header_warnings_test.sh ${CMAKE_CXX_COMPILER} clang++)
  set_tests_properties(house/header_cost house/header_warnings PROPERTIES LABELS house TIMEOUT 300)
  set_tests_properties(house/install PROPERTIES LABELS house TIMEOUT 1800 PROCESSORS 2)
endif()

# The same with the archive of the core.
if(TARGET capstan_testable)
  set(core_archive capstan_testable)
else()
  set(core_archive capstan)
endif()
find_program(CAPSTAN_GDB gdb)
if(NOT CAPSTAN_SANITIZE)
  add_test(NAME house/dlopen COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/house/dlopen_test.sh
    ${CMAKE_CXX_COMPILER} $<TARGET_FILE:${core_archive}> ${PROJECT_BINARY_DIR}/dlopen_test)
  set_tests_properties(house/dlopen PROPERTIES LABELS house TIMEOUT 300)
  if(CAPSTAN_GDB)
    add_test(NAME house/gdb COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/house/gdb_test.sh
      ${CMAKE_CXX_COMPILER} $<TARGET_FILE:${core_archive}> ${PROJECT_BINARY_DIR}/gdb_test)
    set_tests_properties(house/gdb PROPERTIES LABELS house TIMEOUT 300)
  endif()
endif()

# The C++ of documents and of comments in public headers is compiled and run, so that it stays true. It is written into a
# few files, since each costs what the umbrella header costs.
set(documents ${CMAKE_CURRENT_SOURCE_DIR}/house/documents)
file(GLOB_RECURSE read_by_documents CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/*.h ${PROJECT_SOURCE_DIR}/docs/*.md
  ${PROJECT_SOURCE_DIR}/src/*.md)
add_executable(write_programs ${documents}/write_programs.cc
  ${CMAKE_CURRENT_SOURCE_DIR}/house/code_blocks.cc ${CMAKE_CURRENT_SOURCE_DIR}/house/source_tree.cc)
capstan_settings(write_programs)
target_compile_definitions(write_programs PRIVATE CAPSTAN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
set(programs)
foreach(number RANGE 1 4)
  list(APPEND programs ${CMAKE_CURRENT_BINARY_DIR}/documents_${number}.cc)
endforeach()
add_custom_command(OUTPUT ${programs}
  COMMAND write_programs ${programs}
  DEPENDS write_programs ${documents}/surroundings.txt ${read_by_documents}
          ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CONTRIBUTING.md
  COMMENT "Writing the code of documents")
add_executable(documents_tests ${documents}/run_programs.cc ${programs})
capstan_settings(documents_tests)
capstan_link_testable(documents_tests)
target_link_libraries(documents_tests PRIVATE GTest::gtest GTest::gtest_main)
# An example shows a call, whatever becomes of its result.
target_compile_options(documents_tests PRIVATE -O0 -Wno-unused)
add_test(NAME house/documents COMMAND documents_tests --gtest_brief=1 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(house/documents PROPERTIES LABELS house TIMEOUT 300)
