"""The speed benchmark and its runner on made-up figures: nothing is timed and no rival is needed."""

import argparse
import copy
import json
import subprocess
import sys

import numpy as np
import pytest

from benchmarks import __main__ as runner
from benchmarks import speed
from benchmarks.lib import timed
from benchmarks.lib.clouds import make_cloud
from benchmarks.lib.race import best_of, race
from benchmarks.lib.results import RESULTS
from benchmarks.lib.speed_report import all_clouds_table, is_busy, judge, report, rivals_table


def entry(ms):
    return {"best_ms": ms, "median_ms": ms, "cpu_ms": ms, "clouds_a_shot": 1}


def made_up_case(kind, m, n, desc64, desc32, joint64, notes=None):
    times = {
        "reference simple": entry(60.0),
        "reference desc": entry(120.0),
        "heatfield simple float64": entry(6.0),
        "heatfield desc float64": entry(desc64),
        "heatfield joint float64": entry(joint64),
        "heatfield desc float32": entry(desc32),
        "HKS, scipy": entry(48.0),
    }
    by_wall, by_cpu = speed.ratios(times, "best_ms"), speed.ratios(times, "cpu_ms")
    return {
        "cloud": kind,
        "m": m,
        "n": n,
        "times": times,
        "ratios": by_wall,
        "cpu_ratios": by_cpu,
        "errors": {},
        "notes": notes or {},
    }


@pytest.fixture
def result():
    missing = {"jakteristics": "not installed", "FPFH, filled radii": "failed: ValueError: no normals"}
    made_up = {
        "date": "2000-01-01 00:00 UTC",
        "quick": False,
        "rounds": 7,
        "machine": {
            "cpu": "Abacus 3000",
            "cores": 2,
            "flags": ["avx2"],
            "python": "3.11",
            "versions": {"numpy": "2.0"},
            "load_average": [0.1, 0.1, 0.1],
        },
        "cases": [
            made_up_case("sphere", 128, 3, 10.0, 8.0, 20.0),
            made_up_case("sphere", 1024, 3, 10.0, 10.0, 40.0, missing),
            made_up_case("orbit", 1000, 2, 9.0, 9.0, 9.0),
        ],
        "threads": [
            {
                "m": 1024,
                "clouds": 64,
                "times": {"n_jobs=1": entry(19.0), "n_jobs=2": entry(10.0)},
                "speedup": 1.9,
            }
        ],
        "imports": {"numpy_scipy_s": 0.2, "heatfield_s": 0.02, "descriptor_s": 0.9, "ratio": 0.1},
        "memory": {"m": 20000, "before_mb": 200.0, "peak_mb": 510.0},
        "load_average_after": [0.2, 0.1, 0.1],
        "busy": False,
    }
    made_up["goals"] = judge(made_up)
    return made_up


def test_simple_is_held_against_the_simple_reference(result):
    ratios = result["cases"][1]["ratios"]
    assert ratios["heatfield simple float64"] == 10.0
    assert ratios["heatfield desc float64"] == 12.0
    assert ratios["HKS, scipy"] == 2.5
    assert "reference desc" not in ratios


def test_goals_are_judged_by_their_own_bounds(result):
    found = [(goal["measured"], goal["met"]) for goal in result["goals"]]
    assert found == [
        (12.0, True),  # float64 at 1024, 8 asked
        (12.0, False),  # float32 at 1024, 15 asked
        (12.0, True),  # float64 at 128, 8 asked
        (1.9, True),  # two threads, 1.8 asked
        (4.0, False),  # joint, at most 3.5
        (0.02, True),  # import, at most 0.3 s
        (510.0, False),  # memory, at most 500 MB
    ]


def test_what_was_not_measured_is_neither_met_nor_missed(result):
    bare = copy.deepcopy(result) | {"cases": [], "threads": [], "imports": None, "memory": None}
    bare["goals"] = judge(bare)
    assert [goal["met"] for goal in bare["goals"]] == [None] * 7
    text = report(bare)
    assert text.count("\n  not measured ") == 7
    assert "not measured: fewer than two cores" in text


def lines_of(text, start):
    return [line.split() for line in text.splitlines() if line.strip().startswith(start)]


def test_the_report_shows_every_contender_and_every_goal(result):
    text = report(result)
    assert "sphere, m=1024, n=3: one cloud, one thread" in text
    assert lines_of(text, "heatfield desc float64") == [
        ["heatfield", "desc", "float64", "10.00", "10.00", "10.00", "12.0"]
    ]
    assert lines_of(text, "HKS, scipy")[0][-1] == "2.5"
    assert ["jakteristics", "not", "installed"] in lines_of(text, "jakteristics")
    assert "failed: ValueError: no normals" in text
    assert len(lines_of(text, "met")) == 4
    assert len(lines_of(text, "NOT MET")) == 3
    assert "64 clouds of 1024 points: 19.00 ms per cloud with one thread, 10.00 with two, 1.90 times" in text
    assert "Abacus 3000, 2 cores, avx2" in text


def test_rivals_are_compared_with_both_precisions(result):
    lines = rivals_table(result["cases"][0])
    assert len(lines) == 2  # the references and we ourselves are no rivals
    assert lines[1].split() == ["HKS,", "scipy", "4.80", "6.00"]


def test_the_table_of_all_clouds_has_a_row_for_each_and_a_dash_where_nothing_ran(result):
    lines = all_clouds_table(result["cases"])
    numbered = [line.split(maxsplit=1)[1] for line in lines[1:] if line.split()[0].isdigit()]
    assert {"reference desc", "heatfield joint float32", "HKS, scipy", "jakteristics"} <= set(numbered)
    rows = [line for line in lines if "m=" in line]
    assert [row.split()[:3] for row in rows] == [
        ["sphere", "m=128", "n=3"],
        ["sphere", "m=1024", "n=3"],
        ["orbit", "m=1000", "n=2"],
    ]
    assert "10.00 (12.0x)" in rows[1]
    missing = ["heatfield simple float32", "heatfield joint float32", "jakteristics", "FPFH, filled radii"]
    assert [row.split().count("-") for row in rows] == [len(missing)] * 3


def test_a_busy_machine_is_reported(result):
    assert not is_busy(result["cases"], [])
    slow = copy.deepcopy(result["cases"])
    for case in slow:
        for times in case["times"].values():
            times["median_ms"] *= 1.5
    assert is_busy(slow, [])
    assert "WARNING" not in report(result)
    assert "WARNING" in report(result | {"busy": True})


def test_contenders_take_turns():
    calls = []
    shots = {name: (lambda count, name=name: calls.append((name, count))) for name in "ab"}
    times = race(shots, rounds=3, seconds=0.0, clouds=5)
    assert [name for name, _ in calls[2:]] == ["a", "b", "b", "a", "a", "b"]
    assert {count for _, count in calls[2:]} == {5}
    assert set(times) == {"a", "b"}


def test_best_of_stops_at_each_of_its_limits():
    calls = []
    best_of(lambda: calls.append(0), least=2, most=4)
    assert len(calls) == 4
    best_of(lambda: calls.append(0), least=2, most=4, total=0.0)
    assert len(calls) == 6
    seconds, result = best_of(lambda: calls.append(0) or len(calls), least=1, most=4, single=0.0)
    assert result == len(calls) == 7
    assert seconds >= 0.0


@pytest.mark.parametrize(("kind", "n"), [("sphere", 3), ("ball", 3), ("curve", 3), ("orbit", 2)])
def test_clouds_are_the_same_in_every_run(kind, n):
    points = make_cloud(kind, 50)
    assert points.shape == (50, n)
    assert len(np.unique(points, axis=0)) == 50
    np.testing.assert_array_equal(points, make_cloud(kind, 50))


def test_an_unknown_cloud_is_refused():
    with pytest.raises(ValueError, match=r"kind must be .* got 'cube'"):
        make_cloud("cube", 10)


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
