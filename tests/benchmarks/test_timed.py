"""Runs compared figure by figure, on made-up result files, and the runner of all benchmarks."""

import argparse
import json
import subprocess
import sys

import pytest

from benchmarks import __main__ as runner
from benchmarks.lib import timed
from benchmarks.lib.results import RESULTS


def small_clouds(ms, rate):
    cloud = {"m": 128, "variant": "desc", "dtype": "float64", "threads": 1, "ms": ms, "times_one_by_one": 1.5}
    files = {"folder": "cath15", "jobs": 2, "files": 1455, "files_a_second": rate, "seconds": 1.0}
    return {"machine": {"cores": 2}, "clouds": [cloud], "describe": [files], "busy": False}


@pytest.mark.parametrize(
    ("ms", "rate", "slower"),
    [
        (1.0, 100.0, []),
        (1.04, 96.0, []),
        (1.06, 100.0, ["clouds/128, desc, float64, 1/ms"]),
        (0.5, 94.0, ["describe/cath15, 2/files_a_second"]),
        (0.5, 300.0, []),
    ],
)
def test_a_longer_time_and_a_lower_rate_are_slower(ms, rate, slower):
    changes = timed.compare("small_clouds", small_clouds(1.0, 100.0), small_clouds(ms, rate))
    assert [change.figure for change in changes] == [
        "clouds/128, desc, float64, 1/ms",
        "describe/cath15, 2/files_a_second",
    ]
    assert [change.figure for change in changes if change.slower] == slower
    assert changes[0].times_slower == pytest.approx(ms)
    assert changes[1].times_slower == pytest.approx(100.0 / rate)
    lines = timed.table(changes).splitlines()
    assert [line.endswith("SLOWER") for line in lines[1:]] == [change.slower for change in changes]


def test_figures_are_found_by_name_and_new_ones_are_said_to_be_new():
    before, after = small_clouds(1.0, 100.0), small_clouds(3.0, 100.0)
    after["clouds"].insert(0, {**after["clouds"][0], "m": 64, "ms": 0.5})
    changes = timed.compare("small_clouds", before, after)
    assert [(change.figure.split(",")[0], change.times_slower) for change in changes[:2]] == [
        ("clouds/64", None),
        ("clouds/128", 3.0),
    ]
    assert "new" in timed.table(changes).splitlines()[1]
    assert timed.compare("small_clouds", {}, {}) == []


def test_what_is_no_positive_number_is_no_figure():
    runs = {
        "ball/auto/100": {"seconds": None},
        "ball/auto/1000": {"seconds": 0.0},
        "ball/dense/100": {"seconds": 1.0},
    }
    assert timed.figures("scaling", {"runs": runs}) == {}
    runs["tree/auto/100"] = {"seconds": 2, "peak_bytes": 5}
    assert timed.figures("scaling", {"runs": runs}) == {"runs/tree/auto/100/seconds": (2.0, timed.LOWER)}


@pytest.mark.parametrize("name", timed.LEAVES)
def test_every_rule_takes_a_figure_of_the_kept_file_and_every_list_has_names(name):
    path = RESULTS / f"{name}.json"
    if not path.exists():
        pytest.skip(f"{path.name} is not kept")
    taken = timed.figures(name, json.loads(path.read_text()))
    for pattern, better in timed.LEAVES[name]:
        mine = {leaf for leaf, (_, direction) in taken.items() if timed.fnmatchcase(leaf, pattern)}
        assert mine, pattern
        # A rate says so in its name, and a time is no rate.
        assert all(("a_second" in leaf.split("/")[-1]) == (better == timed.HIGHER) for leaf in mine)


def test_the_runner_knows_the_scripts_of_all_rules():
    assert list(runner.FULL) == list(timed.LEAVES)
    assert set(runner.QUICK) <= set(runner.FULL)
    for name in runner.FULL:
        assert (RESULTS.parent / f"{name}.py").is_file()


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """The runner with kept results and scripts that are made up."""
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    monkeypatch.setattr(
        runner, "kept", lambda name: small_clouds(1.0, 100.0) if name == "small_clouds" else {}
    )
    ran = []

    def start(command, **_):
        name = command[2].split(".")[1]
        ran.append(name)
        assert command[:2] == [sys.executable, "-m"]
        if name == "epochs" and ran.count(name) == 1:
            return subprocess.CompletedProcess(command, 1)
        if name == "small_clouds":
            (tmp_path / "small_clouds.json").write_text(json.dumps(small_clouds(2.0, 100.0)))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(runner.subprocess, "run", start)
    options = argparse.Namespace(quick=False, data=None, again=False)
    return lambda names, **more: runner.run(
        names, argparse.Namespace(**{**vars(options), **more}), tmp_path / "state"
    ), ran


def test_a_run_that_was_stopped_goes_on_and_failures_do_not_stop_the_others(made_up):
    run, ran = made_up
    changes, failed = run(["epochs", "small_clouds"])
    assert failed == ["epochs"]
    assert [change.slower for change in changes] == [True, False]
    changes, failed = run(["epochs", "small_clouds"])
    assert failed == []
    assert ran == ["epochs", "small_clouds", "epochs"]
    assert [change.slower for change in changes] == [True, False]  # still beside what was kept before the run
    run(["small_clouds"], again=True)
    assert ran[-1] == "small_clouds"


def test_a_quick_run_does_not_go_on_with_a_full_one(made_up):
    run, _ = made_up
    run(["small_clouds"])
    with pytest.raises(SystemExit, match="a full run was stopped"):
        run(["small_clouds"], quick=True)
