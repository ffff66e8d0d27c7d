#!/usr/bin/env bash
# The public headers as a program has them that does not call them system headers: without a warning, however strict.
#
#   header_warnings_test.sh COMPILER...      those that are not there are left out
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
for compiler in "$@"; do
  command -v "$compiler" >/dev/null || continue
  echo "== $compiler"
  "$compiler" -std=c++20 -fsyntax-only -I"$source/include" -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
    -Wsign-conversion -Wold-style-cast -Werror "$source/tests/house/programs/every_template.cc"
done
