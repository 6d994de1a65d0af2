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
# The library from the distribution, all else from the given interpreter: its own heatfield is not seen.
"$PYTHON" -c "import sysconfig; print(sysconfig.get_path('purelib'))" > "$SCRATCH/packages"
"$SCRATCH/build/bin/python" -c "import sysconfig; print(sysconfig.get_path('purelib'))" > "$SCRATCH/place"
cp "$SCRATCH/packages" "$(cat "$SCRATCH/place")/others.pth"
"$SCRATCH/build/bin/python" -m pip --disable-pip-version-check -q install --no-deps -e .
# shellcheck disable=SC2086
"$SCRATCH/build/bin/python" -m pytest -p no:cacheprovider ${PYTEST:-tests/io tests/test_architecture.py tests/benchmarks -x -q}
