"""Other data under a name that has results: computed too, and never shown beside the old."""

from dataclasses import replace

import numpy as np
import pytest

import heatfield as hf
import heatfield_bench as hb
from heatfield_bench import _jobs
from heatfield_bench._jobs import Context
from heatfield_bench._results import Store
from heatfield_bench._run import run_jobs
from test_results import FACTS, QUIET, counted, key


@pytest.fixture
def clouds(tmp_path):
    """Two folders of the same form with other clouds in them."""
    folders = [tmp_path / "A", tmp_path / "B"]
    for seed, folder in enumerate(folders):
        rng = np.random.default_rng(seed)
        for name, flat in (("flat", 0.05), ("round", 1.0)):
            (folder / name).mkdir(parents=True)
            for k in range(6):
                hf.write_points(folder / name / f"{k}.ply", rng.normal(size=(30, 3)) * [1, 1, flat])
    return folders


def bench(tmp_path, folder, **more):
    asked = {
        "sets": ["mine"],
        "methods": ["HFS-simple"],
        "results": tmp_path / "out",
        "progress": False,
    } | more
    counts = hb.run(["main"], data={"mine": folder}, **asked)
    (record,) = Store(tmp_path / "out").records()
    return counts, record


def test_another_folder_under_the_same_name_is_computed_too(tmp_path, clouds, monkeypatch):
    def at(hour):
        monkeypatch.setattr("heatfield_bench._results.now", lambda: f"2030-01-01 0{hour}:00 UTC")

    at(1)
    counts, old = bench(tmp_path, clouds[0])
    assert (counts["computed"], counts["before"]) == (2, 0)
    assert bench(tmp_path, clouds[0])[0]["before"] == 2
    at(2)
    counts, new = bench(tmp_path, clouds[1])
    assert (counts["computed"], counts["before"]) == (2, 0)
    assert new.metadata["content"] != old.metadata["content"]
    assert sorted(new.cells) == [0, 1]
    at(3)
    counts, shown = bench(tmp_path, clouds[0])  # nothing of it was lost
    assert (counts["computed"], counts["before"]) == (0, 2)
    assert shown.metadata == new.metadata  # what was computed last is shown


def test_what_fails_on_new_data_leaves_the_old(tmp_path, clouds, monkeypatch):
    _, old = bench(tmp_path, clouds[0])

    def broken(*_, **__):
        raise ValueError("cannot be done")

    monkeypatch.setattr(_jobs, "evaluate", broken)
    counts, kept = bench(tmp_path, clouds[1])
    assert (counts["failed"], kept.cells) == (2, old.cells)


def test_data_that_cannot_be_read_are_said_and_their_cells_stay(tmp_path, clouds, capsys):
    _, old = bench(tmp_path, clouds[0])
    (clouds[1] / "flat" / "0.ply").write_text("no points")
    counts, kept = bench(tmp_path, clouds[1])
    assert (counts["before"], counts["failed"], kept.cells) == (0, 2, old.cells)
    assert "mine: ReadError: " in capsys.readouterr().err


def test_other_jobs_go_on_where_the_data_of_one_cannot_be_read(tmp_path):
    def unreadable(_):
        raise OSError("no such folder")

    seen = []
    lost = replace(counted([], name="b"), key=replace(key("b"), data="lost"), metadata=unreadable)
    counts = run_jobs(Context(Store(tmp_path)), [lost, counted(seen)], options=QUIET)
    assert counts == {"computed": 3, "before": 0, "failed": 3}


def test_the_part_of_another_record_is_written_for_the_data_of_now(tmp_path):
    context, other = Context(Store(tmp_path)), FACTS | {"content": "other"}
    run_jobs(context, [counted([], splits=1)], options=QUIET)
    both = replace(
        counted([], splits=1, score=7.0), key=replace(key("turned"), task="robustness", table="robustness"),
        metadata=lambda _: other, also=key(),
    )  # fmt: skip
    run_jobs(context, [both], options=QUIET)
    assert context.store.read(key(), other).cells[0]["scores"] == {"none": {"oa": 7.0}}
    assert context.store.read(key(), FACTS).cells[0]["scores"] == {"none": {"oa": 50.0}}
