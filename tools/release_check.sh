#!/bin/sh
# Build sdists and wheels of the library and of the bench, check their metadata and content, and try the wheels in
# empty environments: import, demo and smoke test with io and show, then each extra alone with an import of what it brings.
# Usage: sh tools/release_check.sh [FOLDER]   (PYTHON: an interpreter with build and twine; EXTRAS and BENCH_EXTRAS: which,
# default below)
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python=$(command -v "${PYTHON:-python3}")
case $python in /*) ;; *) python=$(pwd)/$python ;; esac
place=${1:-$(mktemp -d)}
mkdir -p "$place"

echo "== build"
"$python" -m build -q --outdir "$place/dist" "$root"
"$python" -m build -q --outdir "$place/dist" "$root/bench"
ls -l "$place/dist"

echo "== metadata"
"$python" -m twine check --strict "$place"/dist/*

echo "== content"
"$python" "$root/tools/release_content.py" "$place"/dist/*

wheel=$(ls "$place"/dist/heatfield-*.whl)
bench=$(ls "$place"/dist/heatfield_bench-*.whl)
cd "$place" # away from the source, so that only the wheels can be imported

try() { # an environment, the extras of the library, those of the bench or "" for none of it, an interpreter, then what to run in it
    venv=$place/$1; extras=$2; more=$3; with=$4; shift 4
    "$with" -m venv "$venv"
    echo "heatfield$extras @ file://$wheel" > "$place/wanted.txt"
    if [ -n "$more" ]; then echo "heatfield-bench$more @ file://$bench" >> "$place/wanted.txt"; fi
    "$venv/bin/python" -m pip install -q --disable-pip-version-check -c "$root/constraints.txt" -r "$place/wanted.txt"
    "$venv/bin/python" -c "import heatfield, pathlib; assert pathlib.Path(heatfield.__file__).is_relative_to('$venv'), heatfield.__file__"
    "$venv/bin/python" "$@"
}

echo "== wheel with io and show: import, demo, smoke test"
try base "[io,show]" "" "$python" "$root/tools/smoke_test.py"
"$place/base/bin/heatfield" demo -o "$place/demo" --clouds 10 --n-jobs 1
"$place/base/bin/heatfield" --version

for extra in ${EXTRAS:-none io formats show torch cluster}; do
    echo "== extra alone: $extra"
    case $extra in none) extras="" ;; *) extras="[$extra]" ;; esac
    try "$extra" "$extras" "" "$python" "$root/tools/release_content.py" --extra "$extra"
    rm -rf "${place:?}/$extra"
done

for extra in ${BENCH_EXTRAS:-bench bench-torch bench-dimension bench-open3d bench-persistence}; do
    echo "== the bench with one extra: $extra"
    case $extra in bench) extras="[]" ;; *) extras="[${extra#bench-}]" ;; esac
    try "$extra" "" "$extras" "$python" "$root/tools/release_content.py" --extra "$extra"
    rm -rf "${place:?}/$extra"
done

of_version() { # an interpreter that runs: in the path, or of pyenv, whose command in the path may only say that it is not chosen
    for found in "$(command -v "python$1" || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/"python$1"; do
        if [ -n "$found" ] && "$found" -c "" 2>/dev/null; then echo "$found"; return; fi
    done
}

for version in 3.12 3.13; do
    other=$(of_version "$version")
    if [ -n "$other" ]; then
        echo "== Python $version"
        try "py$version" "[io,show]" "" "$other" "$root/tools/smoke_test.py"
    else
        echo "== Python $version is not on this machine: not tried"
    fi
done
echo "release check passed: $place/dist"
