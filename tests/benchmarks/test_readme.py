"""The README of the benchmarks lists every script, with a result file that is there."""

import json
import re

from benchmarks.lib.results import DOCS, RESULTS


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


def test_the_page_of_the_baselines_has_the_figures_of_the_result_files():
    page = (DOCS / "guide" / "baselines.md").read_text()
    learn = json.loads((RESULTS / "baselines_learn.json").read_text())["results"]
    for name, found in learn.items():
        assert f"| {name} | {100 * found['accuracy']:.2f} % | {found['cpu_seconds']:.0f} |" in page, name
    proteins = json.loads((RESULTS / "baselines_cath15.json").read_text())["results"]
    for name, found in proteins.items():
        ours = f"{found['mean_class_accuracy']:.1f} | {found['train_accuracy']:.1f}"
        assert f"| {name} | {ours} |" in page, name
