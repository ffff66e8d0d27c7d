#!/usr/bin/env bash
# Installs what the build needs and this machine lacks, with apt-get, through sudo where needed, and says so.
#
#   tools/install_dependencies.sh          what `make mnist` needs
#   tools/install_dependencies.sh test     and what `make test` needs beside it
#   tools/install_dependencies.sh fuzz     and what `make fuzz` needs beside it
#   tools/install_dependencies.sh python   and what `make python` and `pip install .` need beside it
#
# A thing is looked for by its command, header, library or Python module, not by its package, so that other ways of having it count.
set -euo pipefail

# package          command, header, library that is loaded at run time, or Python module
needed="
g++                g++
cmake              cmake
ninja-build        ninja
ccache             ccache
pkg-config         pkg-config
libhwy-dev         hwy/highway.h
libkissfft-dev     kissfft/kissfft.hh
libxbyak-dev       xbyak/xbyak.h
zlib1g-dev         zlib.h
libminizip-dev     minizip/unzip.h
libpng-dev         png.h
libjpeg62-turbo-dev jpeglib.h
libcli11-dev       CLI/CLI.hpp
libgtest-dev       gtest/gtest.h
libbenchmark-dev   benchmark/benchmark.h
nlohmann-json3-dev nlohmann/json.hpp
"
if [ "${1:-}" = test ]; then
  needed+="
git                git
clang-format-14    clang-format-14
clang-tidy-14      clang-tidy-14
libopenblas0-serial libopenblas.so.0
"
fi

if [ "${1:-}" = fuzz ]; then
  needed+="
clang-14           clang++-14
"
fi

if [ "${1:-}" = python ]; then
  needed+="
python3-dev        python3-config
python3-venv       ensurepip.py
"
fi

have() {
  case "$1" in
    *.h | *.hh | *.hpp)
      local folder
      for folder in /usr/include /usr/local/include "/usr/include/$(uname -m)-linux-gnu"; do
        [ -e "$folder/$1" ] && return 0
      done
      return 1
      ;;
    *.so.*)
      local folder
      for folder in /usr/lib /usr/local/lib "/usr/lib/$(uname -m)-linux-gnu"; do
        [ -e "$folder/$1" ] && return 0
      done
      return 1
      ;;
    *.py) python3 -c "import ${1%.py}" 2>/dev/null ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

missing=()
while read -r package thing; do
  [ -z "$package" ] || have "$thing" || missing+=("$package")
done <<<"$needed"
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
  echo "install_dependencies: this machine has no apt-get; please install what stands for these Debian packages: ${missing[*]}" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null 2>&1; then
    echo "install_dependencies: needs root to install ${missing[*]}" >&2
    echo "  help: as root, run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "installing with ${as_root[*]:+${as_root[*]} }apt-get: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
