#!/usr/bin/env bash
# Installs the library as a user does, static and shared, and builds a foreign project against each, once with CMake and
# once with pkg-config.
#
#   install_test.sh COMPILER BUILD_FOLDER [OBJECTS]     OBJECTS: a build folder that has compiled the library with the same settings
set -euo pipefail
compiler=$1
work=$2
objects=${3:-}
source=$(cd "$(dirname "$0")/../.." && pwd)
foreign=$source/tests/house/foreign
mkdir -p "$work"

unset CMAKE_PREFIX_PATH PKG_CONFIG_PATH LD_LIBRARY_PATH
for shared in OFF ON; do
  prefix=$work/installed_shared_$shared
  rm -rf "$prefix" "$work/foreign"
  echo "== BUILD_SHARED_LIBS=$shared"
  # The objects of both are the same, so the second round only links.
  cmake -S "$source" -B "$work/library" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release \
    -DCAPSTAN_TESTING=OFF -DCAPSTAN_EXAMPLES=OFF -DCAPSTAN_BENCHMARKS=OFF -DBUILD_SHARED_LIBS=$shared -DCAPSTAN_OBJECTS="$objects" >"$work/log"
  cmake --build "$work/library"
  cmake --install "$work/library" --prefix "$prefix.staged" >"$work/log"
  # An installed tree may be moved.
  mv "$prefix.staged" "$prefix"

  echo "== find_package"
  cmake -S "$foreign" -B "$work/foreign" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log"
  cmake --build "$work/foreign"
  "$work/foreign/gradient"
  "$work/foreign/digits"

  echo "== pkg-config"
  PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name capstan.pc)")
  export PKG_CONFIG_PATH
  for program in gradient:capstan-core digits:capstan; do
    # shellcheck disable=SC2046  # the flags are meant to be words
    "$compiler" -std=c++20 "$foreign/${program%%:*}.cc" -o "$work/${program%%:*}" $(pkg-config --cflags --libs "${program##*:}")
    LD_LIBRARY_PATH=$(pkg-config --variable=libdir capstan) "$work/${program%%:*}"
  done

  echo "== the program capstan, from where it lies"
  "$prefix/bin/capstan" --version

  echo "== what the programs need"
  if [ $shared = ON ]; then
    readelf -d "$work/gradient" | grep -q 'NEEDED.*libcapstan.so.0.1' || { echo "gradient does not use the shared library"; exit 1; }
  fi
  if [ $shared = ON ]; then
    strip -o "$work/stripped.so" "$(find "$prefix" -name 'libcapstan.so.*.*.*')"
    bytes=$(stat -c %s "$work/stripped.so")
    echo "the stripped shared library has $bytes bytes"
    [ "$bytes" -le 8200000 ] || { echo "more than 8.2 MB"; exit 1; }
  fi
  # The core stands alone: no parser, no network, no linear algebra of others.
  if readelf -d "$work/gradient" | grep -E 'NEEDED.*(libz|libminizip|libpng|libjpeg|libhwy|blas)'; then
    echo "a program that only computes needs a library that reads files"
    exit 1
  fi
done

[ -f "$prefix/share/capstan/capstan-gdb.py" ] || { echo "the printers for gdb are missing"; exit 1; }
if find "$prefix/include" -type f ! -path "*/include/capstan/*.h" | grep .; then
  echo "these files do not belong into an installed tree"
  exit 1
fi
