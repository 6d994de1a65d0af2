"""Every script can be started and has its row in the README; the benchmark of the first call on one case."""

import importlib
import re
from pathlib import Path

import pytest

from benchmarks import first_call
from benchmarks.lib.results import RESULTS

ROOT = Path(__file__).parents[2]
SCRIPTS = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for folder in ("benchmarks", "tools")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path.name != "__main__.py"
]


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_can_be_imported(name):
    try:
        found = importlib.import_module(name)
    except ModuleNotFoundError as error:
        library, _, part = (error.name or "").partition(".")
        ours = library in ("heatfield", "benchmarks", "tools", "tests")
        if ours or (library == "heatfield_bench" and part):
            raise
        pytest.skip(f"{error.name} is not installed")
    assert found.__doc__


def test_every_script_and_result_file_has_a_row():
    folder = RESULTS.parent
    table = (folder / "README.md").read_text().split("| `lib/` |")[0]
    scripts = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert set(re.findall(r"^\| `(\w+)", table, re.M)) == scripts
    assert {f"results/{path.name}" for path in RESULTS.glob("*.json")} == set(
        re.findall(r"results/\w+\.json", table)
    )


def test_every_module_of_lib_has_a_row():
    folder = RESULTS.parent
    table = (folder / "README.md").read_text().split("| `lib/` |")[1]
    modules = {path.stem for path in (folder / "lib").glob("*.py")} - {"__init__"}
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == modules


def test_one_case(monkeypatch):
    monkeypatch.setitem(first_call.CASES, "tiny", "assert hf.__version__")
    assert 0.0 < first_call.measure("tiny", rounds=1)["seconds"] < 60.0


@pytest.mark.parametrize("statement", ["1 / 0", "import sys; print('compiling', file=sys.stderr)"])
def test_a_case_that_fails_or_says_something(statement, monkeypatch):
    monkeypatch.setitem(first_call.CASES, "broken", statement)
    with pytest.raises(SystemExit, match="failed: "):
        first_call.measure("broken", rounds=1)
