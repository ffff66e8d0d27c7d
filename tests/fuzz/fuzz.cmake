# A libFuzzer program for each reader: NAME_fuzzer, in build/fuzz/tests. Only what parses is compiled here, and instrumented;
# the rest is the library of another build, which would take half an hour and is not looked at. Of two objects with the
# same functions the linker takes those of the one that is named, not those of the library.
set(CAPSTAN_FUZZ_CORE ${PROJECT_SOURCE_DIR}/build/release/libcapstan.a CACHE FILEPATH
  "The static library capstan that the fuzzers are linked with")
set(parsers_in_core core/attributes.cc core/json.cc train/config.cc train/functional.cc train/input_shape.cc train/model_config.cc
  train/op_layer.cc train/sequential.cc)
list(TRANSFORM parsers_in_core PREPEND ${PROJECT_SOURCE_DIR}/src/)

file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/readers.cc rows REGEX "^    {\"[a-z0-9_]+\", ")
add_custom_target(fuzzers)
set(instrumentation -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
foreach(part IN LISTS capstan_io_parts)
  # Checksums of structures are taken for right, or nothing that was changed would get behind them.
  target_compile_definitions(${part} PRIVATE FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
  target_compile_options(${part} PRIVATE ${instrumentation})
  list(APPEND instrumented_objects $<TARGET_OBJECTS:${part}>)
endforeach()
add_library(fuzzed_core OBJECT EXCLUDE_FROM_ALL ${parsers_in_core})
capstan_settings(fuzzed_core)
target_compile_options(fuzzed_core PRIVATE ${instrumentation})
add_library(fuzzer_objects OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/fuzzer.cc ${CMAKE_CURRENT_LIST_DIR}/readers.cc)
capstan_settings(fuzzer_objects)
foreach(row IN LISTS rows)
  string(REGEX REPLACE "^    {\"([a-z0-9_]+)\".*" "\\1" name ${row})
  add_executable(${name}_fuzzer EXCLUDE_FROM_ALL
    $<TARGET_OBJECTS:fuzzer_objects> $<TARGET_OBJECTS:fuzzed_core> ${instrumented_objects})
  target_link_options(${name}_fuzzer PRIVATE -fsanitize=fuzzer,address,undefined -Wl,-z,muldefs)
  set_target_properties(${name}_fuzzer PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${name}_fuzzer PRIVATE ${CAPSTAN_FUZZ_CORE} minizip png jpeg z Threads::Threads)
  add_dependencies(fuzzers ${name}_fuzzer)
endforeach()
