#!/usr/bin/env bash
# Makes build/interop, an environment of Python with the tools that own the formats of files, at fixed versions from PyPI.
#
#   tools/interop_environment.sh            what tests/interop/requirements.txt names: 2 GB
#   tools/interop_environment.sh --torch    and PyTorch, 5 GB more
#
# What is there already stays, unless the file of versions has changed.
set -euo pipefail
cd "$(dirname "$0")/.."

versions=(-r tests/interop/requirements.txt)
stamp=build/interop/versions
if [ "${1:-}" = --torch ]; then
  versions+=(torch==2.15.0)
  stamp=build/interop/versions_with_torch
fi
if cmp -s tests/interop/requirements.txt "$stamp"; then exit 0; fi
[ -x build/interop/bin/python ] || python3 -m venv build/interop
build/interop/bin/python -m pip install --quiet --disable-pip-version-check "${versions[@]}"
cp tests/interop/requirements.txt "$stamp"
