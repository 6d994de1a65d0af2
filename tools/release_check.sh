#!/bin/sh
# Build sdist and wheel, check their metadata and content, and try the wheel in empty environments:
# import, demo and smoke test with io and show, then each extra alone with an import of what it brings.
# Usage: sh tools/release_check.sh [FOLDER]   (PYTHON: an interpreter with build and twine; EXTRAS: which, default below)
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python=$(command -v "${PYTHON:-python3}")
case $python in /*) ;; *) python=$(pwd)/$python ;; esac
place=${1:-$(mktemp -d)}
mkdir -p "$place"

echo "== build"
"$python" -m build -q --outdir "$place/dist" "$root"
ls -l "$place/dist"

echo "== metadata"
"$python" -m twine check --strict "$place"/dist/*

echo "== content"
"$python" "$root/tools/release_content.py" "$place"/dist/*

wheel=$(ls "$place"/dist/*.whl)
cd "$place" # away from the source, so that only the wheel can be imported

try() { # an environment, the extras, an interpreter, then what to run in it
    venv=$place/$1; extras=$2; with=$3; shift 3
    "$with" -m venv "$venv"
    "$venv/bin/python" -m pip install -q --disable-pip-version-check -c "$root/constraints.txt" "heatfield$extras @ file://$wheel"
    "$venv/bin/python" -c "import heatfield, pathlib; assert pathlib.Path(heatfield.__file__).is_relative_to('$venv'), heatfield.__file__"
    "$venv/bin/python" "$@"
}

echo "== wheel with io and show: import, demo, smoke test"
try base "[io,show]" "$python" "$root/tools/smoke_test.py"
"$place/base/bin/heatfield" demo -o "$place/demo" --clouds 10 --jobs 1
"$place/base/bin/heatfield" --version

for extra in ${EXTRAS:-none io show torch search cluster dimension baselines persistence}; do
    echo "== extra alone: $extra"
    case $extra in none) extras="" ;; *) extras="[$extra]" ;; esac
    try "$extra" "$extras" "$python" "$root/tools/release_content.py" --extra "$extra"
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
        try "py$version" "[io,show]" "$other" "$root/tools/smoke_test.py"
    else
        echo "== Python $version is not on this machine: not tried"
    fi
done
echo "release check passed: $place/dist"
