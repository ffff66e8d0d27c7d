#!/usr/bin/env bash
# Start-up of the smallest program against that of an empty one: the least of many runs, in milliseconds.
#
#   tools/startup.sh [BUILD]        BUILD: a built tree, build/release by default
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '#include <string>\nint main() { return std::string("x").empty(); }\n' >"$folder/empty.cc"
"${CXX:-g++}" -O2 "$folder/empty.cc" -o "$folder/empty"

least() {
  local best=999999999 begin end
  for _ in $(seq 200); do
    begin=$(date +%s%N)
    "$1"
    end=$(date +%s%N)
    if [ $((end - begin)) -lt "$best" ]; then best=$((end - begin)); fi
  done
  echo "$best"
}
empty=$(least "$folder/empty")
smallest=$(least "$build/benchmarks/smallest")
awk -v a="$empty" -v b="$smallest" 'BEGIN { printf "empty %.2f ms, smallest %.2f ms, difference %.2f ms\n", a / 1e6, b / 1e6, (b - a) / 1e6 }'
