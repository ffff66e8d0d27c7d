#!/usr/bin/env bash
# Runs the fuzzers of readers, one after the other, for some seconds or executions each, whichever ends first, and prints
# how many executions each made.
#
#   tests/fuzz/run.sh [--seconds N] [--executions N] [READER ...]
#
# New inputs of interest are kept in build/fuzz/corpus; what fails is written to build/fuzz/found-READER-..., and the exit
# status is 1. One allocation may take 64 MB, the promise of docs/design.md for files that are as small as these.
#
# Most of the readers take some microseconds, so what libFuzzer and the sanitizer do beside them counts: without the
# weights of inputs by entropy and with little freed memory kept aside there are two to four times as many executions.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=60
executions=-1
while [ $# -gt 1 ]; do
  case $1 in
    --seconds) seconds=$2 ;;
    --executions) executions=$2 ;;
    *) break ;;
  esac
  shift 2
done
readers=("$@")
if [ ${#readers[@]} -eq 0 ]; then
  for folder in tests/fuzz/corpus/*/; do readers+=("$(basename "$folder")"); done
fi

status=0
export ASAN_OPTIONS=detect_container_overflow=0:alloc_dealloc_mismatch=0:allocator_may_return_null=1:quarantine_size_mb=8:malloc_context_size=5
for reader in "${readers[@]}"; do
  mkdir -p "build/fuzz/corpus/$reader"
  log="build/fuzz/$reader.log"
  if "build/fuzz/tests/${reader}_fuzzer" "build/fuzz/corpus/$reader" "tests/fuzz/corpus/$reader" \
    -max_total_time="$seconds" -runs="$executions" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=65 -max_len=8192 -entropic=0 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/found-$reader-" >"$log" 2>&1; then
    printf '%-12s %12d executions\n' "$reader" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
  else
    printf '%-12s failed: %s\n' "$reader" "$log"
    status=1
  fi
done
exit $status
