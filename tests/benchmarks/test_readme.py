"""The README of the benchmarks lists every script, with a result file that is there."""

import re

from benchmarks.lib.results import RESULTS


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
