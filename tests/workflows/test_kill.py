"""Work that is killed, and goes on: the same bits, nothing left."""

import os
import random
import shutil
import time
from pathlib import Path

import matplotlib
import numpy as np
import pytest

import heatfield as hf
from heatfield._base.files import clear_unfinished
from heatfield.workflows import describe
from tests.helpers.process import interrupted_at
from tools import kill_and_resume as kills


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
@pytest.mark.parametrize("case", [case for case in kills.CASES if "thread" not in case])
def test_killed_work_goes_on_to_the_same_bytes(case, tmp_path):
    if "learned" in case:
        pytest.importorskip("torch")
    kills.write_clouds(tmp_path / "clouds", per_class=12, large=600)
    for fonts in Path(matplotlib.get_cachedir()).glob("fontlist*.json"):  # finding them takes a second
        (tmp_path / "matplotlib").mkdir(exist_ok=True)
        shutil.copy(fonts, tmp_path / "matplotlib")
    words = kills.CASES[case].replace("--folds 4", "--folds 2").replace("--head mlp", "--head lda")
    expected, seconds = kills.undisturbed(words, tmp_path, times=1)
    place, rng = kills.fresh(tmp_path), random.Random(time.time_ns())
    for kept in (True, False):  # once when something is kept, once at any time
        process = kills.start(words, place)
        while kept and not kills.kept(place):
            assert process.poll() is None, (tmp_path / "said.txt").read_text()
            time.sleep(0.005)
        if kept or kills.wait(process, rng.uniform(0.1, 0.9) * seconds) is None:
            kills.kill(process, group=False)
    assert kills.start(words, place).wait() == 0
    assert kills.contents(place) == expected
    assert kills.left_over(tmp_path) == []


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


def contents(place):
    return {str(p.relative_to(place)): p.read_bytes() for p in place.rglob("*") if p.is_file()}


def describe_to(clouds, place):
    hf.describe_files(clouds, place / "t.npz", variant="simple", n_jobs=1)


def train_to(clouds, place):
    hf.train_files(clouds, place / "m", variant="simple", head="lda", folds=2, n_jobs=1)


@pytest.mark.parametrize("run", [describe_to, train_to])
def test_interrupted_fast_sums_resume_to_the_same_bytes(run, large_clouds, tmp_path, monkeypatch):
    monkeypatch.setattr(describe, "_TOGETHER", 2)
    found = []
    for interrupted in (False, True):
        place = tmp_path / str(interrupted)
        place.mkdir()
        if interrupted:
            with monkeypatch.context() as patch:
                patch.setattr(describe, "describe_some", interrupted_at(3, describe.describe_some))
                with pytest.raises(KeyboardInterrupt):
                    run(large_clouds, place)
            assert len(list(place.glob("*.parts/*.npz"))) == 2
        run(large_clouds, place)
        found.append(contents(place))
    assert found[0] == found[1]


def test_what_a_killed_writer_left_is_removed(tmp_path, large_clouds):
    """And what it moved aside comes back."""
    model, beside = tmp_path / "m", tmp_path / ".m.report.json.0123abcd.part"
    options = {"variant": "simple", "head": "lda", "folds": 2, "budget": 50}
    hf.train_files(large_clouds, model, **options)
    kept = contents(model)
    model.rename(tmp_path / ".m.00112233.old")  # as a kill between two renames leaves it
    (tmp_path / ".m.44556677.part").mkdir()
    (tmp_path / ".m.44556677.part" / "model.json").write_text("half")
    beside.write_text("half")
    own = tmp_path / ".m.mine.part"
    own.write_text("of the user")
    hf.train_files(large_clouds, model, **options)
    assert contents(model) == kept
    assert {p.name for p in tmp_path.iterdir()} == {
        "in", "m", "m.report.json", "m.confusion.png", own.name,
    }  # fmt: skip


def test_a_folder_moved_aside_comes_back_first(tmp_path):
    old = tmp_path / ".m.00112233.old"
    old.mkdir()
    (old / "model.json").write_text("whole")
    clear_unfinished(tmp_path / "m")
    assert (tmp_path / "m" / "model.json").read_text() == "whole"
    assert not old.exists()
    clear_unfinished(tmp_path / "no such folder" / "m")


def test_large_files_are_kept_one_by_one(monkeypatch):
    monkeypatch.setattr(describe, "_BYTES_TOGETHER", 100)
    sizes = [1] * 40 + [99, 200, 300, 0, 50, 51]
    runs = describe._runs(sizes)
    assert [(run.start, run.stop) for run in runs] == [
        (0, 32), (32, 40), (40, 41), (41, 42), (42, 43), (43, 45), (45, 46),
    ]  # fmt: skip
    assert describe._runs([]) == [slice(0, 0)]
