"""Commands that are killed, and go on: the same bits, nothing left, whatever was measured in between."""

import json
import os
import random
import shutil
import time
from dataclasses import asdict
from pathlib import Path

import matplotlib
import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import _run_shards, _train_kept, main
from heatfield.core import costs
from tests.helpers.fast_path import PRICES
from tools import kill_runs

# Prices of the fast path as a file may hold them: below one second.
NEAR, FAR = costs.Costs(call=0.9), PRICES["transforms"]


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
@pytest.mark.parametrize("case", ["describe, one process", "train, closed form", "report"])
def test_a_killed_command_goes_on_to_the_same_result(case, tmp_path):
    kill_runs.write_clouds(tmp_path / "clouds", per_class=4, large=600)
    for fonts in Path(matplotlib.get_cachedir()).glob("fontlist*.json"):  # finding them takes a second
        (tmp_path / "matplotlib").mkdir(exist_ok=True)
        shutil.copy(fonts, tmp_path / "matplotlib")
    words = kill_runs.CASES[case].replace("--folds 4", "--folds 2").replace("--head mlp", "--head lda")
    expected, _ = kill_runs.undisturbed(words, tmp_path, times=1)
    place = kill_runs.fresh(tmp_path)
    process = kill_runs.start(words, place)
    while not kill_runs.kept(place):
        assert process.poll() is None, (tmp_path / "said.txt").read_text()
        time.sleep(0.005)
    kill_runs.kill(process, group=False)
    assert kill_runs.contents(place) != expected
    kill_runs.set_prices(tmp_path, random.Random(0))
    assert kill_runs.start(words, place).wait() == 0
    assert kill_runs.contents(place) == expected
    assert kill_runs.left_over(tmp_path) == []


@pytest.fixture
def large_clouds(tmp_path):
    """Two classes of clouds in the plane that are large enough for the fast path."""
    rng = np.random.default_rng(0)
    for i in range(8):
        points = rng.normal(size=(3700, 2)) * (1.0, 1.0 if i % 2 else 0.05)
        place = tmp_path / "in" / ("disc" if i % 2 else "strip")
        place.mkdir(parents=True, exist_ok=True)
        hf.write_points(place / f"c{i}.npy", points)
    return tmp_path / "in"


def interrupted_at(call, function):
    """The function, but Ctrl-C at one of its calls."""
    done = []

    def wrapped(*words, **more):
        done.append(1)
        if len(done) == call:
            raise KeyboardInterrupt
        return function(*words, **more)

    return wrapped


def result(place):
    """All files of a folder but their dates."""
    return {str(p.relative_to(place)): p.read_bytes() for p in place.rglob("*") if p.is_file()}


DESCRIBE = ["describe", "--shard", "2", "--jobs", "1", "-o", "t.npz"]
TRAIN = ["train", "--variant", "simple", "--head", "lda", "--folds", "2", "--jobs", "1", "-o", "m"]


@pytest.mark.parametrize(
    ("words", "module", "name"),
    [(DESCRIBE, _run_shards, "run_shard"), (TRAIN, _train_kept, "describe_piece")],
    ids=["describe", "train"],
)
def test_prices_measured_while_a_command_is_stopped_change_nothing(
    words, module, name, large_clouds, tmp_path, monkeypatch
):
    monkeypatch.setattr(_train_kept, "_TOGETHER", 3e7)  # two clouds at a time
    words = [words[0], str(large_clouds), *words[1:], "--quiet"]
    results = {}
    for first, then in (
        (NEAR, NEAR),
        (FAR, FAR),
        (NEAR, FAR),
    ):
        place = tmp_path / str(len(results))
        place.mkdir()
        monkeypatch.chdir(place)
        monkeypatch.setattr(costs, "_known", first)
        if first != then:
            with monkeypatch.context() as patch:
                patch.setattr(module, name, interrupted_at(2, getattr(module, name)))
                assert main(words) == 130
            assert list(place.glob("*.parts/prices.json"))
            monkeypatch.setattr(costs, "_known", then)
        assert main(words) == 0
        results[first, then] = {
            file: kill_runs.without_times(file, data) for file, data in result(place).items()
        }
    assert results[NEAR, NEAR] != results[FAR, FAR]
    assert results[NEAR, FAR] == results[NEAR, NEAR]


def test_what_a_killed_writer_left_is_removed_and_what_it_moved_aside_comes_back(tmp_path, large_clouds):
    model, beside = tmp_path / "m", tmp_path / ".m.report.json.0123abcd.part"
    words = ["train", str(large_clouds), "-o", str(model), *TRAIN[1:-2], "--quiet", "--budget", "50"]
    assert main(words) == 0
    kept = result(model)
    model.rename(tmp_path / ".m.00112233.old")  # as a kill between two renames leaves it
    (tmp_path / ".m.44556677.part").mkdir()
    (tmp_path / ".m.44556677.part" / "model.json").write_text("half")
    beside.write_text("half")
    own = tmp_path / ".m.mine.part"
    own.write_text("of the user")
    assert main(words) == 0
    assert result(model) == kept
    assert {p.name for p in tmp_path.iterdir()} == {
        "in", "m", "m.report.json", "m.confusion.png", own.name,
    }  # fmt: skip


def test_a_folder_moved_aside_comes_back_before_anything_else(tmp_path):
    from heatfield._base.files import clear_unfinished

    old = tmp_path / ".m.00112233.old"
    old.mkdir()
    (old / "model.json").write_text("whole")
    clear_unfinished(tmp_path / "m")
    assert (tmp_path / "m" / "model.json").read_text() == "whole"
    assert not old.exists()
    clear_unfinished(tmp_path / "no such folder" / "m")


def test_prices_of_nothing_computed_are_not_kept(tmp_path, monkeypatch):
    hf.write_points(tmp_path / "a.npy", np.eye(3))

    def stopped(_shard):
        raise KeyboardInterrupt

    monkeypatch.setattr(_run_shards, "run_shard", stopped)
    assert main(["describe", str(tmp_path / "a.npy"), "-o", str(tmp_path / "t.npz"), "--quiet"]) == 130
    assert not Path(tmp_path / "t.npz.parts").exists()


def test_the_prices_of_a_table_are_written_down(tmp_path, monkeypatch):
    monkeypatch.setattr(costs, "_known", NEAR)
    hf.write_points(tmp_path / "a.npy", np.eye(3))
    assert main(["describe", str(tmp_path / "a.npy"), "-o", str(tmp_path / "t.csv"), "--quiet"]) == 0
    found = json.loads((tmp_path / "t.meta.json").read_text())["prices"]
    assert costs.costs_from(found) == NEAR


def test_prices_are_part_of_what_the_name_of_a_shard_depends_on(tmp_path):
    from heatfield.cli._shards import Settings, Shard

    names = {
        Shard(0, (), Settings({}, {}, prices=asdict(prices)), str(tmp_path), ()).path
        for prices in (NEAR, FAR, NEAR)
    }
    assert len(names) == 2
