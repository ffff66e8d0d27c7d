# The list of the files of ops, for the registry: those of src/ops that have a line CAPSTAN_OPS(file, ...), in the order of
# their names. A file of ops is a new file or, rarely, one that had none: then the build has to be configured again, and a
# test says so (tests/house/op_names_test.cc).
function(capstan_write_files_of_ops output)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/ops/*.cc)
  list(SORT files)
  set(list)
  foreach(file IN LISTS files)
    file(STRINGS ${file} lines REGEX "^CAPSTAN_OPS\\(" LIMIT_COUNT 1)
    if(lines)
      cmake_path(GET file STEM name)
      if(NOT lines MATCHES "^CAPSTAN_OPS\\(${name},")
        message(FATAL_ERROR "${file}: CAPSTAN_OPS takes the name of the file, ${name}, first")
      endif()
      string(APPEND list "CAPSTAN_FILE_OF_OPS(${name})\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${output} CONTENT "${list}" @ONLY)
endfunction()
