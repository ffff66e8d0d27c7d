#!/usr/bin/env bash
# Runs the scripts of this folder, each with its program and an empty folder, and says how many cases passed and failed.
#
#   tests/interop/run.sh PYTHON [SCRIPT ...]     SCRIPT: keras_archives, ...; all of them unless given
#
# What a script prints is in build/interop_files/SCRIPT.log, its files beside that. The exit status is 1 if one failed.
set -euo pipefail
cd "$(dirname "$0")/../.."

python=$1
shift
scripts=("$@")
if [ ${#scripts[@]} -eq 0 ]; then
  for file in tests/interop/*.py; do
    if [ "$file" != tests/interop/cases.py ]; then scripts+=("$(basename "$file" .py)"); fi
  done
fi

status=0
export TF_CPP_MIN_LOG_LEVEL=3 TF_ENABLE_ONEDNN_OPTS=0 CUDA_VISIBLE_DEVICES=-1 PYTHONDONTWRITEBYTECODE=1
for script in "${scripts[@]}"; do
  folder=build/interop_files/$script
  log=$folder.log
  rm -rf "$folder"
  mkdir -p "$folder"
  if "$python" "tests/interop/$script.py" "build/release/tests/${script}_check" "$folder" >"$log" 2>&1; then
    result=$(tail -n 1 "$log")
  else
    status=1
    result="$(tail -n 1 "$log"); failed, see $log"
  fi
  printf '%-24s %s\n' "$script" "$result"
done
exit $status
