# The libraries.
#
# The sources are compiled once, into object libraries; `capstan` and `capstan_io` are made of those objects, static or
# shared. Tests reach into hidden parts, so they always link a static library made of the same objects:
# capstan_testable().

include(CheckLinkerFlag)
include(CapstanInstructionSets)
include(CapstanOps)

file(GLOB_RECURSE all_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cc)
set(capstan_sources ${all_sources})
# Everything with a parser stands apart, so that the core depends on no library that reads untrusted bytes: src/io, and the
# datasets, logs, checkpoints and models that are read and written with it.
set(capstan_io_sources)
foreach(source IN LISTS capstan_sources)
  if(source MATCHES "/src/data/")
    file(STRINGS ${source} reads_files REGEX "#include \"src/io/" LIMIT_COUNT 1)
  else()
    set(reads_files)
  endif()
  if(reads_files OR source MATCHES "/src/(io|logs|checkpoint|datasets|onnx|saved_model|applications)/")
    list(APPEND capstan_io_sources ${source})
  endif()
endforeach()
if(capstan_io_sources)
  list(REMOVE_ITEM capstan_sources ${capstan_io_sources})
endif()
if(NOT CAPSTAN_MODEL_FILES)
  list(FILTER capstan_io_sources EXCLUDE REGEX "/src/(onnx|saved_model|applications|checkpoint|logs)/")
endif()
set(capstan_program_sources ${capstan_sources})
list(FILTER capstan_program_sources INCLUDE REGEX "/src/cli/")
list(FILTER capstan_sources EXCLUDE REGEX "/src/(cli|python)/")

list(TRANSFORM CAPSTAN_SMALL_FILES REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/\\1.cc" OUTPUT_VARIABLE small_sources)
foreach(source IN LISTS small_sources)
  if(NOT EXISTS ${source})
    message(FATAL_ERROR "CAPSTAN_SMALL_FILES names ${source}, which is not there")
  endif()
endforeach()
foreach(folder IN LISTS CAPSTAN_SMALL_FOLDERS)
  set(sources ${all_sources})
  list(FILTER sources INCLUDE REGEX "/src/${folder}/")
  list(FILTER sources EXCLUDE REGEX "${CAPSTAN_SMALL_EXCEPT}")
  list(APPEND small_sources ${sources})
endforeach()
foreach(kind KERNEL CALL)
  foreach(folder IN LISTS CAPSTAN_${kind}_FOLDERS)
    set(fast_sources ${capstan_sources})
    list(FILTER fast_sources INCLUDE REGEX "/src/${folder}/")
    list(FILTER fast_sources EXCLUDE REGEX "${CAPSTAN_KERNEL_EXCEPT}")
    list(REMOVE_ITEM fast_sources ${small_sources})
    set_source_files_properties(${fast_sources} PROPERTIES
      COMPILE_OPTIONS "$<$<CONFIG:Release>:${CAPSTAN_${kind}_OPTIMISATION}>")
  endforeach()
endforeach()

capstan_choose_instruction_sets(${capstan_sources})

# Kernels include little.
set(kernels ${capstan_sources})
list(FILTER kernels INCLUDE REGEX "/src/kernels/")
set_source_files_properties(${kernels} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)

# Files of a folder that are compiled together read their headers once and make what they share of templates once, which takes
# half of the time. They share their unnamed namespaces, so a folder has each name in these once. Left out is what is compiled
# once for each instruction set, and what has an optimisation of its own. Hot loops are in neither; a call of an op is not slower.
function(capstan_join)
  set(folders)
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} vector_code REGEX "define HWY_TARGET_INCLUDE" LIMIT_COUNT 1)
    if(NOT vector_code)
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src OUTPUT_VARIABLE folder)
      cmake_path(GET folder PARENT_PATH folder)
      string(MAKE_C_IDENTIFIER ${folder} folder)
      list(APPEND folders ${folder})
      list(APPEND sources_of_${folder} ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    list(LENGTH sources_of_${folder} count)
    math(EXPR groups "(${count} + 7) / 8")
    set(number 0)
    foreach(source IN LISTS sources_of_${folder})
      math(EXPR group "${number} * ${groups} / ${count}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${group})
      math(EXPR number "${number} + 1")
    endforeach()
  endforeach()
endfunction()

if(CAPSTAN_JOIN)
  set(joined ${capstan_sources} ${capstan_io_sources})
  list(FILTER joined INCLUDE REGEX "/src/(io|ops)/")
  list(REMOVE_ITEM joined ${small_sources})
  capstan_join(${joined})
  set(joined ${small_sources})
  list(FILTER joined EXCLUDE REGEX "/src/applications/")
  capstan_join(${joined})
endif()

# capstan_library(name SOURCES... LINK_PUBLIC targets... LINK_PRIVATE libraries...)
#
# ${name}_parts is the list of its object libraries: ${name}_objects, and ${name}_small_objects, whose sources are compiled for size.
function(capstan_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK_PUBLIC;LINK_PRIVATE;INCLUDE" ${ARGN})
  set(${name}_objects_sources ${arg_SOURCES})
  list(REMOVE_ITEM ${name}_objects_sources ${small_sources})
  set(${name}_small_objects_sources ${arg_SOURCES})
  list(REMOVE_ITEM ${name}_small_objects_sources ${${name}_objects_sources})
  set(parts ${name}_objects ${name}_small_objects)
  set(${name}_parts ${parts} PARENT_SCOPE)
  foreach(part IN LISTS parts)
    if(CAPSTAN_OBJECTS)
      file(READ ${CAPSTAN_OBJECTS}/${part}.txt objects)
      list(FILTER objects INCLUDE REGEX "\\.o$")  # a precompiled header is among them
      add_library(${part} OBJECT IMPORTED)
      set_target_properties(${part} PROPERTIES IMPORTED_OBJECTS "${objects}")
      continue()
    endif()
    add_library(${part} OBJECT ${${part}_sources})
    capstan_settings(${part})
    set_target_properties(${part} PROPERTIES UNITY_BUILD ${CAPSTAN_JOIN} UNITY_BUILD_MODE GROUP)
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/${part}.txt CONTENT "$<TARGET_OBJECTS:${part}>")
    if(part MATCHES "_small_objects$")
      target_compile_options(${part} PRIVATE $<$<CONFIG:Release>:-Os>)
    endif()
    capstan_precompile(${part} ${PROJECT_SOURCE_DIR}/cmake/precompiled_library.h)
    target_include_directories(${part} SYSTEM PRIVATE ${arg_INCLUDE})
  endforeach()

  set(variants ${name})
  if(BUILD_SHARED_LIBS AND CAPSTAN_TESTING)
    list(APPEND variants ${name}_testable)
    add_library(${name}_testable STATIC EXCLUDE_FROM_ALL)
  endif()
  add_library(${name})
  foreach(library IN LISTS variants)
    foreach(part IN LISTS parts)
      target_sources(${library} PRIVATE $<TARGET_OBJECTS:${part}>)
    endforeach()
    set_target_properties(${library} PROPERTIES LINKER_LANGUAGE CXX)
    target_compile_features(${library} PUBLIC cxx_std_20)
    target_include_directories(${library} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${library} PRIVATE ${arg_LINK_PRIVATE})
  endforeach()
  target_link_libraries(${name} PUBLIC ${arg_LINK_PUBLIC})
  set_target_properties(${name} PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  if(BUILD_SHARED_LIBS)
    # A library calls its own functions without the table that a program may put others into.
    target_link_options(${name} PRIVATE -Wl,--no-undefined -Wl,--gc-sections -Wl,-Bsymbolic-functions)
    # The constants of ops are full of addresses; in this form their relocations take a twentieth of the space. The loader
    # of glibc 2.36 and later knows it, and where the linker offers it, that is what programs are built for.
    check_linker_flag(CXX -Wl,-z,pack-relative-relocs CAPSTAN_PACKS_RELOCATIONS)
    if(CAPSTAN_PACKS_RELOCATIONS)
      target_link_options(${name} PRIVATE -Wl,-z,pack-relative-relocs)
    endif()
  endif()
endfunction()

if(capstan_sources)
  capstan_library(capstan
    SOURCES ${capstan_sources}
    INCLUDE ${CAPSTAN_HIGHWAY_INCLUDE} ${CAPSTAN_KISSFFT_INCLUDE}
            ${CAPSTAN_XBYAK_INCLUDE}
    LINK_PRIVATE Threads::Threads)
  capstan_write_files_of_ops(${PROJECT_BINARY_DIR}/generated/capstan_files_of_ops.inc)
  if(NOT CAPSTAN_OBJECTS)
    foreach(part IN LISTS capstan_parts)
      target_include_directories(${part} PRIVATE ${PROJECT_BINARY_DIR}/generated)
    endforeach()
  endif()
  set_target_properties(capstan PROPERTIES EXPORT_NAME core)
  add_library(capstan::core ALIAS capstan)
endif()

if(CAPSTAN_IO AND capstan_io_sources)
  capstan_library(capstan_io
    SOURCES ${capstan_io_sources}
    INCLUDE ${CAPSTAN_ZLIB_INCLUDE} ${CAPSTAN_MINIZIP_INCLUDE} ${CAPSTAN_PNG_INCLUDE} ${CAPSTAN_JPEG_INCLUDE}
    LINK_PUBLIC capstan
    LINK_PRIVATE minizip png jpeg z)
  set_target_properties(capstan_io PROPERTIES EXPORT_NAME io)
  add_library(capstan::io ALIAS capstan_io)
endif()

# capstan::capstan is all that <capstan/capstan.h> declares; a program that reads no files may take capstan::core, which
# needs none of zlib, minizip, libpng and libjpeg.
if(TARGET capstan)
  add_library(capstan_all INTERFACE)
  if(TARGET capstan_io)
    target_link_libraries(capstan_all INTERFACE capstan_io)
  endif()
  target_link_libraries(capstan_all INTERFACE capstan)
  set_target_properties(capstan_all PROPERTIES EXPORT_NAME capstan)
  add_library(capstan::capstan ALIAS capstan_all)
endif()

# The program `capstan`, which does what any program with the libraries can do.
if(TARGET capstan_io AND CAPSTAN_CLI)
  add_executable(capstan_cli ${capstan_program_sources})
  capstan_settings(capstan_cli)
  target_include_directories(capstan_cli SYSTEM PRIVATE ${CAPSTAN_CLI11_INCLUDE})
  target_compile_definitions(capstan_cli PRIVATE CAPSTAN_VERSION="${PROJECT_VERSION}")
  target_link_libraries(capstan_cli PRIVATE capstan_io capstan)
  set_target_properties(capstan_cli PROPERTIES OUTPUT_NAME capstan)
endif()

# Links a program of ours with both libraries, statically, so that it may use what is hidden.
function(capstan_link_testable target)
  foreach(library IN ITEMS capstan_io capstan)
    if(TARGET ${library}_testable)
      target_link_libraries(${target} PRIVATE ${library}_testable)
    elseif(TARGET ${library})
      target_link_libraries(${target} PRIVATE ${library})
    endif()
  endforeach()
endfunction()
