#!/usr/bin/env bash
# Builds the Python module from the objects of the release build, in a virtual environment of its own, and runs its tests.
#
#   tests/python/run.sh [--or-skip] [--release FOLDER] [options of pytest]
#
#   --or-skip          if the packages cannot be had from PyPI, say so and succeed
#   --release FOLDER   the build with the objects (build/release)
set -euo pipefail
cd "$(dirname "$0")/../.."

or_skip=
release=$PWD/build/release
while [ $# -gt 0 ]; do
  case "$1" in
    --or-skip) or_skip=1; shift ;;
    --release) release=$(realpath "$2"); shift 2 ;;
    *) break ;;
  esac
done

build=build/python_tests
environment=$build/venv
tools/install_dependencies.sh python
[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
if ! "$environment/bin/python" -m pip install --quiet --disable-pip-version-check nanobind numpy pytest mypy; then
  if [ -n "$or_skip" ]; then
    echo "the tests of the Python module are skipped: PyPI cannot be reached"
    exit 0
  fi
  exit 1
fi
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCAPSTAN_PYTHON=ON -DCAPSTAN_OBJECTS="$release" \
  -DCAPSTAN_TESTING=OFF -DCAPSTAN_EXAMPLES=OFF -DCAPSTAN_BENCHMARKS=OFF -DCAPSTAN_CLI=OFF -DCAPSTAN_INSTALL=OFF \
  -DPython_EXECUTABLE="$PWD/$environment/bin/python"
cmake --build "$build" --parallel
PYTHONPATH=$build/python "$environment/bin/python" -m pytest -q tests/python "$@"
