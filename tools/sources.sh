#!/usr/bin/env bash
# Prints the project's own C++ files, tracked or new, one per line.
set -euo pipefail
cd "$(dirname "$0")/.."
if git rev-parse --git-dir >/dev/null 2>&1; then
  git ls-files --cached --others --exclude-standard -- '*.cc' '*.h' | sort -u | while read -r file; do
    if [ -f "$file" ]; then echo "$file"; fi
  done
else
  find include src tests examples benchmarks -name '*.cc' -o -name '*.h' | sort
fi
