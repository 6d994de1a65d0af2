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


def test_large_files_are_kept_one_by_one(monkeypatch):
    monkeypatch.setattr(describe, "_BYTES_TOGETHER", 100)
    sizes = [1] * 40 + [99, 200, 300, 0, 50, 51]
    runs = describe._runs(sizes)
    assert [(run.start, run.stop) for run in runs] == [
        (0, 32), (32, 40), (40, 41), (41, 42), (42, 43), (43, 45), (45, 46),
    ]  # fmt: skip
    assert describe._runs([]) == [slice(0, 0)]


def test_interrupted_fast_sums_resume_to_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(describe, "_TOGETHER", 2)
    rng = np.random.default_rng(0)
    (tmp_path / "in").mkdir()
    for i in range(8):  # large enough for the fast path
        hf.write_points(tmp_path / "in" / f"c{i}.npy", rng.normal(size=(3700, 2)))
    options = {"variant": "simple", "n_jobs": 1}
    hf.describe_files(tmp_path / "in", tmp_path / "whole.npz", **options)
    with monkeypatch.context() as patch:
        patch.setattr(describe, "describe_some", interrupted_at(3, describe.describe_some))
        with pytest.raises(KeyboardInterrupt):
            hf.describe_files(tmp_path / "in", tmp_path / "t.npz", **options)
    assert len(list(tmp_path.glob("t.npz.parts/*.npz"))) == 2
    hf.describe_files(tmp_path / "in", tmp_path / "t.npz", **options)
    assert (tmp_path / "t.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()
