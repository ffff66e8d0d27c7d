#!/usr/bin/env bash
# Prints tensors and variables in gdb with tools/debuggers/capstan-gdb.py.
#
#   gdb_test.sh COMPILER ARCHIVE WORK_FOLDER
set -euo pipefail
compiler=$1
archive=$2
work=$3
source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$work"

"$compiler" -std=c++20 -g -O0 -I"$source/include" "$source/tests/house/programs/debugged.cc" -o "$work/debugged" \
  "$archive" -pthread -ldl
cat >"$work/commands" <<END
source $source/tools/debuggers/capstan-gdb.py
break stop_here
run
up
print x
print large
print nothing
print truths
print half
print z
print v
print shape
print type
print row_sparse
END
gdb --batch -nx -x "$work/commands" "$work/debugged" >"$work/output" 2>&1 || { cat "$work/output"; exit 1; }

expect() {
  grep -qF -- "$1" "$work/output" || { cat "$work/output"; echo "missing: $1"; exit 1; }
}
expect '= Tensor float32[2, 3] [[1, 2, 3], [4, 5, 6.5]]'
expect '= Tensor int64[100] [0, 1, 2, 3, 4, 5, 6, 7, ...]'
expect '= Tensor empty'
expect '= Tensor bool[2] [true, false]'
expect '= Tensor bfloat16[] 0.5'
expect '= Tensor complex64[] 1-2i'
expect '= Variable "kernel" float64[2] [0.25, -3]'
expect '= [32, 784]'
expect '= int32'
expect '= Tensor float32[3, 2] in rows: indices int32[1] [1], values float32[1, 2] [[1, 1]]'
