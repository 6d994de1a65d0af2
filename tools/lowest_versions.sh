#!/bin/sh
# Install the lowest versions that pyproject.toml declares into a fresh environment, and run a smoke test with them.
# Usage: sh tools/lowest_versions.sh [FOLDER]   (PYTHON chooses the interpreter; default python3)
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
place=${1:-$(mktemp -d)}
"${PYTHON:-python3}" -m venv "$place/venv"
"$place/venv/bin/python" - "$root/pyproject.toml" > "$place/lowest.txt" <<'PY'
import sys, tomllib
with open(sys.argv[1], "rb") as file:
    project = tomllib.load(file)["project"]
extras = project["optional-dependencies"]
for line in [*project["dependencies"], *extras["io"], *extras["show"]]:
    print(line.split(",")[0].replace(">=", "=="))  # the first bound is the lower one
PY
cat "$place/lowest.txt"
"$place/venv/bin/python" -m pip install -q -r "$place/lowest.txt"
"$place/venv/bin/python" -m pip install -q --no-deps "$root"
cd "$place"
"$place/venv/bin/python" "$root/tools/smoke_test.py"
