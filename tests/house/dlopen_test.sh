#!/usr/bin/env bash
# Opens the library with dlopen in a program that has opened libstdc++ by itself and used its thread-local variables, as
# an interpreter does that imports several extensions.
#
#   dlopen_test.sh COMPILER ARCHIVE WORK_FOLDER
set -euo pipefail
compiler=$1
archive=$2
work=$3
source=$(cd "$(dirname "$0")/../.." && pwd)
programs=$source/tests/house/programs
mkdir -p "$work"

"$compiler" -std=c++20 -shared -fPIC -I"$source/include" "$programs/plugin.cc" -o "$work/plugin.so" \
  -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -Wl,--gc-sections -pthread
"$compiler" -shared -fPIC "$programs/user.cc" -o "$work/user.so"
# In C, and without a library that it does not use.
"$compiler" -x c "$programs/program.c" -o "$work/program" -Wl,--as-needed -ldl
if readelf -d "$work/program" | grep 'NEEDED.*libstdc++'; then
  echo "the program brings libstdc++ itself, so it shows nothing"
  exit 1
fi
"$work/program" "$work/user.so" "$work/plugin.so"
if command -v python3 >/dev/null; then
  python3 -c "
import ctypes
ctypes.CDLL('$work/user.so').use()
plugin = ctypes.CDLL('$work/plugin.so')
plugin.run.restype = ctypes.c_double
assert plugin.run() == 27.0
"
fi

# Such a library takes of a reserve of some 1,600 bytes that all libraries of a process share.
bytes=$((0x$(readelf -lW "$work/plugin.so" | awk '$1 == "TLS" { print substr($6, 3) }')))
echo "thread-local variables: $bytes bytes"
[ "$bytes" -le 1024 ] || { echo "more than 1,024"; exit 1; }
# Those of others can be reached with the initial-exec model only by luck.
if readelf -rW "$work/plugin.so" | grep 'TPOFF.*GLIBCXX'; then
  echo "the library uses thread-local variables of libstdc++"
  exit 1
fi
