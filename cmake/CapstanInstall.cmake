# `cmake --install`: headers, libraries, find_package(capstan) with the targets capstan::capstan and capstan::io, and
# capstan.pc and capstan-io.pc.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/capstan)
set(libraries)
foreach(library IN ITEMS capstan capstan_io)
  if(TARGET ${library})
    list(APPEND libraries ${library})
  endif()
endforeach()
if(NOT libraries)
  return()
endif()

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

# The .pc files stand in lib/pkgconfig, so the prefix is found from where they lie.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
  BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE CAPSTAN_PREFIX_FROM_PC)
if(BUILD_SHARED_LIBS)
  set(CAPSTAN_PC_PRIVATE Libs.private)
else()
  # A static library brings no dependencies of its own, so even a plain `--libs` has to name them.
  set(CAPSTAN_PC_PRIVATE Libs)
endif()
foreach(library IN LISTS libraries)
  string(REPLACE _ - name ${library})
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
