#!/usr/bin/env bash
# Formats the given source files, or all; with --check fails and names the ones that are not formatted.
#
# Of what is given only C++ is formatted: clang-format takes a document for C++ and breaks its text. So
# `tools/format.sh $(git diff --name-only)` is safe.
#
# Version 14 only, the one in Debian 12: other versions of clang-format disagree about the same settings.
set -euo pipefail
cd "$(dirname "$0")/.."

tool=
for candidate in clang-format-14 clang-format; do
  if command -v "$candidate" >/dev/null && "$candidate" --version | grep -q 'version 14\.'; then
    tool=$candidate
    break
  fi
done
if [ -z "$tool" ]; then
  echo "format: clang-format 14 is missing" >&2
  echo "  help: apt-get install clang-format-14" >&2
  exit 1
fi

check=
if [ "${1:-}" = --check ]; then
  check=1
  shift
fi
mapfile -t files < <(if [ $# -eq 0 ]; then tools/sources.sh; else printf '%s\n' "$@" | grep -E '\.(cc|h)$' || true; fi)
if [ ${#files[@]} -eq 0 ] && [ $# -eq 0 ]; then
  echo "format: found no source files" >&2
  exit 1
fi
if [ -z "$check" ]; then
  [ ${#files[@]} -eq 0 ] || "$tool" -i "${files[@]}"
  exit 0
fi

# Many files for each start of the tool, which takes longer than most files do.
said=$(printf '%s\0' "${files[@]}" | xargs -0 -n 100 "$tool" --dry-run --Werror 2>&1) && failed= || failed=1
mapfile -t bad < <(sed -nE 's/^([^:]+):[0-9]+:[0-9]+: error: code should be clang-formatted.*/\1/p' <<<"$said" | sort -u)
if [ ${#bad[@]} -gt 0 ]; then
  echo "format: ${#bad[@]} of ${#files[@]} files are not formatted"
  printf '  %s\n' "${bad[@]}"
  echo "  help: make format"
  exit 1
fi
if [ -n "$failed" ]; then
  echo "format: $tool failed: $said" >&2
  exit 1
fi
echo "format: ${#files[@]} files are formatted"
