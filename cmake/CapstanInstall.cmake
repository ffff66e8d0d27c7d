# `cmake --install`: headers, libraries, find_package(capstan) with the targets capstan::capstan, capstan::core and
# capstan::io, capstan.pc and capstan-core.pc, and what makes debuggers show tensors.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/capstan)
set(libraries)
foreach(library IN ITEMS capstan capstan_io capstan_all)
  if(TARGET ${library})
    list(APPEND libraries ${library})
  endif()
endforeach()
if(NOT libraries)
  return()
endif()

# What is installed together is found together, wherever that is.
set_target_properties(${libraries} PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS ${libraries} EXPORT capstan-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/capstan
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(EXPORT capstan-targets NAMESPACE capstan:: DESTINATION ${package_dir})

configure_package_config_file(cmake/capstan-config.cmake.in
  ${PROJECT_BINARY_DIR}/capstan-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/capstan-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/capstan-config.cmake
  ${PROJECT_BINARY_DIR}/capstan-config-version.cmake
  DESTINATION ${package_dir})

if(TARGET capstan_cli)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_BINDIR} OUTPUT_VARIABLE lib_from_bin)
  set_target_properties(capstan_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${lib_from_bin}")
  install(TARGETS capstan_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES src/cli/capstan.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES src/cli/capstan.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME capstan)
  install(FILES src/cli/_capstan DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()

install(FILES tools/debuggers/capstan-gdb.py tools/debuggers/capstan.natvis
  DESTINATION ${CMAKE_INSTALL_DATADIR}/capstan)

# The .pc files stand in lib/pkgconfig, so the prefix is found from where they lie.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
  BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE CAPSTAN_PREFIX_FROM_PC)
if(BUILD_SHARED_LIBS)
  set(CAPSTAN_PC_PRIVATE Libs.private)
else()
  # A static library brings no dependencies of its own, so even a plain `--libs` has to name them.
  set(CAPSTAN_PC_PRIVATE Libs)
endif()
if(TARGET capstan_io)
  set(CAPSTAN_PC_IO "-L\${libdir} -lcapstan_io")
  set(CAPSTAN_PC_IO_PRIVATE "-lminizip -lpng -ljpeg -lz")
endif()
foreach(name IN ITEMS capstan capstan-core)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
