# The Python module: `capstan` with its extension module `_core`, which is linked with the libraries.
find_package(Python 3.10 COMPONENTS Interpreter Development.Module REQUIRED)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT RESULT_VARIABLE nanobind_missing)
if(nanobind_missing)
  message(FATAL_ERROR "nanobind is missing in ${Python_EXECUTABLE}\n  help: ${Python_EXECUTABLE} -m pip install nanobind")
endif()
find_package(nanobind CONFIG REQUIRED)

file(GLOB capstan_python_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/python/*.cc)
nanobind_add_module(capstan_python NB_STATIC NOMINSIZE ${capstan_python_sources})
capstan_settings(capstan_python)
# What makes models, datasets, files and errors is called seldom, or beside work that takes much longer, so there size counts;
# and the calls that count for speed do not go through nanobind.
foreach(name applications checkpoints classes datasets debugging errors files graph_layers layers models own_classes summaries
        text_files text_layers texts)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/python/${name}.cc PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-Os>)
endforeach()
target_compile_options(nanobind-static PRIVATE $<$<CONFIG:Release>:-Os>)
target_link_libraries(capstan_python PRIVATE capstan_io capstan)
# The package lies where it is built, too, so that tests need no installation.
set(package ${PROJECT_BINARY_DIR}/python/capstan)
set_target_properties(capstan_python PROPERTIES OUTPUT_NAME _core LIBRARY_OUTPUT_DIRECTORY ${package})
if(NOT BUILD_SHARED_LIBS)
  target_link_options(capstan_python PRIVATE -Wl,--gc-sections -Wl,--exclude-libs,ALL)
  check_linker_flag(CXX -Wl,-z,pack-relative-relocs CAPSTAN_PACKS_RELOCATIONS)
  if(CAPSTAN_PACKS_RELOCATIONS)
    target_link_options(capstan_python PRIVATE -Wl,-z,pack-relative-relocs)
  endif()
endif()
add_custom_target(capstan_python_package ALL
  COMMAND ${CMAKE_COMMAND} -E copy_directory ${PROJECT_SOURCE_DIR}/python/capstan ${package}
  COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/python/_capstan_keras.py ${PROJECT_BINARY_DIR}/python
  DEPENDS capstan_python)

# What scikit-build-core puts into a wheel; the package's own files it takes from python/.
install(TARGETS capstan_python LIBRARY DESTINATION capstan COMPONENT python)
# By which Keras finds the backend when a process starts.
install(FILES ${PROJECT_SOURCE_DIR}/python/_capstan_keras.py ${PROJECT_SOURCE_DIR}/python/_capstan_keras.pth DESTINATION .
  COMPONENT python)
