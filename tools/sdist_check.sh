#!/bin/sh
# Build the source distribution, unpack it in a scratch folder, and run a part of its tests from there.
#
#   sh tools/sdist_check.sh                  (make sdist-check)
#   PYTEST="tests -q" sh tools/sdist_check.sh     all of them
#
# PYTHON is an interpreter with the packages of the tests; the source comes from the distribution alone.
set -eu
cd "$(dirname "$0")/.."
PYTHON=$(command -v "${PYTHON:-.venv/bin/python}")
case "$PYTHON" in /*) ;; *) PYTHON="$PWD/$PYTHON" ;; esac
SCRATCH=$(mktemp -d)
trap 'rm -rf "$SCRATCH"' EXIT
"$PYTHON" -m venv "$SCRATCH/build"
"$SCRATCH/build/bin/python" -m pip --disable-pip-version-check -q install build
"$SCRATCH/build/bin/python" -m build --sdist --outdir "$SCRATCH/dist" . > "$SCRATCH/build.log" 2>&1 \
    || { cat "$SCRATCH/build.log"; exit 1; }
tar -xzf "$SCRATCH"/dist/*.tar.gz -C "$SCRATCH"
cd "$SCRATCH"/heatfield-*/
echo "unpacked: $(find . -type f | wc -l) files"
# shellcheck disable=SC2086
PYTHONPATH="$PWD/src" "$PYTHON" -m pytest -p no:cacheprovider ${PYTEST:-tests/io tests/test_architecture.py tests/benchmarks -x -q}
