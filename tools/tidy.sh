#!/usr/bin/env bash
# Runs clang-tidy on what has changed.
#
#   tools/tidy.sh [BASE]     BASE: the commit to compare with; by default where this branch left main, or the commit before
#
# It configures build/tidy (or TIDY_BUILD), whose compile commands it reads: they name each file, while a build joins some. TIDY_SECONDS (default 300) bounds the whole:
# what was not reached by then is counted, and the nightly preset, which looks at everything, will see it.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${TIDY_SECONDS:-300}
build=${TIDY_BUILD:-build/tidy}
tool=$(command -v clang-tidy-14 || command -v clang-tidy || true)
if [ -z "$tool" ]; then
  echo "tidy: clang-tidy is missing" >&2
  echo "  help: apt-get install clang-tidy-14" >&2
  exit 1
fi
cmake --preset release -B "$build" -DCAPSTAN_JOIN=OFF -DCAPSTAN_PRECOMPILE=OFF >/dev/null
# What g++ alone knows.
sed -i 's/ -f\(no-\)\?reorder-blocks-and-partition//g' "$build/compile_commands.json"

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

# clang cannot read what g++ has precompiled.
commands=$(mktemp -d)
sed -E 's/-Winvalid-pch -include [^ ]+//g' "$build/compile_commands.json" >"$commands/compile_commands.json"

# One file: nothing where it is clean, its findings otherwise. A file that this configuration leaves out has no compile command.
export tool build results commands
results=$(mktemp -d)
trap 'rm -rf "$results" "$commands"' EXIT
end=$(($(date +%s) + seconds))
export end
check() {
  local file=$1 name=${1//\//_} left status=0
  grep -q "\"file\": \"$PWD/$file\"" "$build/compile_commands.json" || return 0
  left=$((end - $(date +%s)))
  if [ "$left" -le 0 ]; then
    touch "$results/$name.skipped"
    return 0
  fi
  timeout "$left" "$tool" -p "$commands" --quiet --extra-arg=-Wno-error "$file" >"$results/$name.text" 2>/dev/null || status=$?
  case $status in
    0) touch "$results/$name.clean" ;;
    124) touch "$results/$name.skipped" ;;
    # clang 14 has not all of C++20: no floating-point template arguments, which composites of ops have for defaults.
    1)
      if grep -q 'clang-diagnostic-error' "$results/$name.text" && ! grep 'error:' "$results/$name.text" | grep -qv 'clang-diagnostic-error'; then
        touch "$results/$name.unread"
      else
        touch "$results/$name.found"
        cat "$results/$name.text"
      fi
      ;;
    *)
      touch "$results/$name.found"
      cat "$results/$name.text"
      ;;
  esac
}
export -f check
printf '%s\n' "${files[@]}" | xargs -r -P "$(nproc)" -I FILE bash -c 'check FILE'

count() { find "$results" -name "*.$1" | wc -l; }
if [ "$(count skipped)" -gt 0 ]; then
  echo "tidy: no time left for $(count skipped) files (TIDY_SECONDS=$seconds); the nightly preset looks at all"
fi
if [ "$(count unread)" -gt 0 ]; then
  echo "tidy: clang cannot read $(count unread) files"
fi
echo "tidy: $(count clean) files clean, $(count found) with findings"
[ "$(count found)" -eq 0 ]
