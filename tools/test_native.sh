#!/bin/sh
# Build the native part with address and undefined-behaviour sanitizers and run its tests, then random clouds.
# Usage: sh tools/test_native.sh   (PYTHON: an interpreter with the tests' packages; CXX: a compiler; CLOUDS: how many)
set -eu
cd "$(dirname "$0")/.."
python=$(command -v "${PYTHON:-.venv/bin/python}")
case $python in /*) ;; *) python=$PWD/$python ;; esac
place=$PWD/build/sanitized
cxx=${CXX:-g++}
"$python" -m pip --disable-pip-version-check -q install nanobind cmake ninja
tools=$(dirname "$python")
PATH=$tools:$PATH cmake -G Ninja -S . -B "$place" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER="$cxx" \
    -DPython_EXECUTABLE="$python" -Dnanobind_DIR="$("$python" -m nanobind --cmake_dir)" \
    -DCMAKE_CXX_FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer" > /dev/null
PATH=$tools:$PATH cmake --build "$place" > /dev/null
case $("$cxx" --version) in
    *clang*) runtime=$("$cxx" -print-file-name=libclang_rt.asan-x86_64.so) ;;
    *) runtime=$("$cxx" -print-file-name=libasan.so) ;;
esac
# Leaks are those of the interpreter. The kernels alone are loaded: torch and numba do not run under a sanitizer.
for isa in $("$python" -c "from heatfield import _core; print(*_core.isas())"); do
    echo "== $isa"
    HEATFIELD_ISA=$isa LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
        "$python" -P tools/random_clouds.py "$place" "${CLOUDS:-10000}"
done
