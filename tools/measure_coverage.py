"""Branch coverage of the tests, per package: tools/results/coverage.json.

    python -m tools.measure_coverage                 # all tests, about a quarter of an hour
    python -m tools.measure_coverage --name before   # under another name, beside the others

Needs pytest-cov. Functions that Numba compiles count as not covered, since no Python line of them runs; so do
lines that only child processes run. The same holds for every measurement, so that they can be compared.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OUTPUT = Path(__file__).parent / "results" / "coverage.json"
SOURCES = {
    "heatfield": ROOT / "src" / "heatfield",
    "heatfield_bench": ROOT / "bench" / "src" / "heatfield_bench",
}


def by_package(report: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Percent of lines and branches per package, and how many there are; ``total`` at the end."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for file, entry in report["files"].items():
        summary = entry["summary"]
        covered = summary["covered_lines"] + summary["covered_branches"]
        there = summary["num_statements"] + summary["num_branches"]
        for name in (package_of(ROOT / file), "total"):
            counts[name][0] += covered
            counts[name][1] += there
    order = sorted(counts, key=lambda name: (name == "total", name))
    return {
        name: {
            "percent": round(100.0 * counts[name][0] / counts[name][1], 2),
            "lines_and_branches": counts[name][1],
        }
        for name in order
        if counts[name][1]
    }


def package_of(file: Path) -> str:
    """The package that a file belongs to: the folder below the source, or the distribution itself."""
    for name, source in SOURCES.items():
        if source in file.parents:
            first, *rest = file.relative_to(source).parts
            return f"{name}.{first}" if rest else name
    raise ValueError(f"{file} is not part of a distribution")


def main() -> int:
    """Run the tests under coverage and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", default="now", help="under which the figures are kept (default now)")
    parser.add_argument("tests", nargs="*", help="options of pytest")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings, report = Path(folder) / "coveragerc", Path(folder) / "coverage.json"
        settings.write_text("[run]\nbranch = true\n")
        chosen = [f"--cov={source}" for source in SOURCES.values() if source.is_dir()]
        command = [sys.executable, "-m", "pytest", "-n", "logical", "-q", *chosen, f"--cov-config={settings}"]
        ended = subprocess.run([*command, f"--cov-report=json:{report}", *options.tests], cwd=ROOT)
        found = by_package(json.loads(report.read_text()))
    kept = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    kept[options.name] = {
        "date": date,
        "commit": commit,
        "tests_passed": not ended.returncode,
        "packages": found,
    }
    OUTPUT.write_text(json.dumps(kept, indent=1) + "\n")
    for name, row in found.items():
        print(f"{name:32s} {row['percent']:6.2f} % of {row['lines_and_branches']:,}")
    return ended.returncode


if __name__ == "__main__":
    raise SystemExit(main())
