# What the build needs, each found or named with its Debian package.

function(capstan_need_header variable header package)
  find_path(${variable} ${header})
  mark_as_advanced(${variable})
  if(NOT ${variable})
    message(FATAL_ERROR "${header} is missing\n  help: apt-get install ${package}")
  endif()
endfunction()

# Headers only, compiled into the library; no program that uses Capstan needs them.
capstan_need_header(CAPSTAN_HIGHWAY_INCLUDE hwy/highway.h libhwy-dev)
capstan_need_header(CAPSTAN_KISSFFT_INCLUDE kissfft/kissfft.hh libkissfft-dev)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  capstan_need_header(CAPSTAN_XBYAK_INCLUDE xbyak/xbyak.h libxbyak-dev)
else()
  set(CAPSTAN_XBYAK_INCLUDE)  # src/emit is empty there
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

if(CAPSTAN_IO)
  capstan_need_header(CAPSTAN_ZLIB_INCLUDE zlib.h zlib1g-dev)
  capstan_need_header(CAPSTAN_MINIZIP_INCLUDE minizip/unzip.h libminizip-dev)
  capstan_need_header(CAPSTAN_PNG_INCLUDE png.h libpng-dev)
  capstan_need_header(CAPSTAN_JPEG_INCLUDE jpeglib.h libjpeg62-turbo-dev)
  if(CAPSTAN_CLI)
    capstan_need_header(CAPSTAN_CLI11_INCLUDE CLI/CLI.hpp libcli11-dev)
  endif()
endif()
