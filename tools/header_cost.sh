#!/usr/bin/env bash
# What it costs to include Capstan: processor seconds of `g++ -O2 -c` on a file with nothing but one #include.
#
#   tools/header_cost.sh [--check] [COMPILER]
#
# The budgets are 0.7 s for <capstan/tape.h> and 1.5 s for <capstan/capstan.h> on an idle machine. With --check, for the
# tests, which run on machines of any speed and load, a header fails if it costs more than `limit` times a file that includes
# only the standard headers that public headers may use, measured in turns with it.
set -euo pipefail
cd "$(dirname "$0")/.."

check=
if [ "${1:-}" = --check ]; then
  check=1
  shift
fi
compiler=${1:-g++}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/standard.cc" <<'END'
#include <array>
#include <atomic>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>
END
echo '#include <capstan/tape.h>' >"$folder/tape.cc"
echo '#include <capstan/capstan.h>' >"$folder/capstan.cc"

# Processor seconds of one compilation.
seconds() {
  local TIMEFORMAT='%U %S'
  { time "$compiler" -std=c++20 -O2 -Iinclude -c "$folder/$1.cc" -o "$folder/out.o"; } 2>&1 | awk 'END { print $1 + $2 }'
}

names=(standard)
for name in tape capstan; do
  if [ -f "include/capstan/$name.h" ]; then names+=("$name"); fi
done
declare -A least
for _ in 1 2 3 4 5; do
  for name in "${names[@]}"; do
    now=$(seconds "$name")
    least[$name]=$(awk -v a="$now" -v b="${least[$name]:-1e9}" 'BEGIN { print (a < b ? a : b) }')
  done
done

declare -A budget=([tape]=0.7 [capstan]=1.5)
# The budget over the 0.31 s that the standard headers cost on the machine of the budgets, and half as much again.
declare -A limit=([tape]=3.5 [capstan]=7)
failed=0
printf '%-22s %8s %8s %8s\n' header seconds budget ratio
printf '%-22s %8.2f\n' 'standard headers' "${least[standard]}"
for name in "${names[@]:1}"; do
  ratio=$(awk -v a="${least[$name]}" -v b="${least[standard]}" 'BEGIN { printf "%.2f", a / b }')
  printf '%-22s %8.2f %8.2f %8.2f\n' "<capstan/$name.h>" "${least[$name]}" "${budget[$name]}" "$ratio"
  if [ -n "$check" ] && awk -v a="$ratio" -v b="${limit[$name]}" 'BEGIN { exit !(a > b) }'; then
    echo "header_cost: <capstan/$name.h> costs $ratio times the standard headers, more than ${limit[$name]}"
    failed=1
  fi
done
exit $failed
