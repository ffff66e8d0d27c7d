#!/usr/bin/env bash
# Runs clang-tidy on what has changed.
#
#   tools/tidy.sh [BASE]     BASE: the commit to compare with; by default where this branch left main, or the commit before
#
# It needs a configured build/release, whose compile commands it reads. TIDY_SECONDS (default 300) bounds the whole: what
# was not reached by then is named, and the nightly preset, which looks at everything, will see it.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${TIDY_SECONDS:-300}
build=build/release
tool=$(command -v clang-tidy-14 || command -v clang-tidy || true)
if [ -z "$tool" ]; then
  echo "tidy: clang-tidy is missing" >&2
  echo "  help: apt-get install clang-tidy-14" >&2
  exit 1
fi
if [ ! -f "$build/compile_commands.json" ]; then
  echo "tidy: $build is not configured" >&2
  echo "  help: cmake --preset release" >&2
  exit 1
fi

base=${1:-}
if [ -z "$base" ]; then
  head=$(git rev-parse HEAD)
  for branch in origin/main main; do
    base=$(git merge-base HEAD "$branch" 2>/dev/null || true)
    if [ -n "$base" ] && [ "$base" != "$head" ]; then break; fi
    base=
  done
  # The empty tree, for a first commit: everything has changed.
  [ -n "$base" ] || base=$(git rev-parse -q --verify HEAD~1 || git hash-object -t tree /dev/null)
fi

mapfile -t files < <(
  {
    git diff --name-only --diff-filter=d "$base" -- '*.cc'
    git ls-files --others --exclude-standard -- '*.cc'
  } | sort -u
)
echo "tidy: ${#files[@]} files changed since $(git rev-parse --short "$base")"

end=$((SECONDS + seconds))
failed=0
checked=0
skipped=()
for file in "${files[@]}"; do
  # Files of a target that this configuration leaves out have no compile command.
  grep -q "\"file\": \"$PWD/$file\"" "$build/compile_commands.json" || continue
  left=$((end - SECONDS))
  if [ "$left" -le 0 ]; then
    skipped+=("$file")
    continue
  fi
  status=0
  timeout "$left" "$tool" -p "$build" --quiet --extra-arg=-Wno-error "$file" 2>/dev/null || status=$?
  if [ "$status" -eq 124 ]; then
    skipped+=("$file")
    continue
  fi
  checked=$((checked + 1))
  if [ "$status" -ne 0 ]; then
    echo "tidy: $file: see above"
    failed=$((failed + 1))
  fi
done

if [ ${#skipped[@]} -gt 0 ]; then
  echo "tidy: no time left for ${#skipped[@]} files (TIDY_SECONDS=$seconds): ${skipped[*]}"
fi
echo "tidy: $checked files checked, $failed with findings"
[ "$failed" -eq 0 ]
