"""Other data under a name that has records: computed again, and never shown beside the old."""

from dataclasses import replace

import numpy as np
import pytest

import heatfield as hf
from heatfield.experiments import _jobs
from heatfield.experiments._jobs import Context, Job
from heatfield.experiments._run import run_jobs
from heatfield.experiments._store import Store
from tests.experiments.test_store import FACTS, counted, key

SAID = "the data of mine have changed: what was computed is computed again\n"


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
    asked = {"sets": ["mine"], "methods": ["HFS-simple"], "results": tmp_path / "out"} | more
    counts = hf.experiments.run(["main"], data={"mine": folder}, **asked)
    ((_, record),) = Store(tmp_path / "out").records()
    return counts, record


def test_another_folder_under_the_same_name_is_computed_again(tmp_path, clouds, capsys):
    counts, old = bench(tmp_path, clouds[0])
    assert (counts["computed"], counts["before"]) == (2, 0)
    assert bench(tmp_path, clouds[0])[0]["before"] == 2
    assert "have changed" not in capsys.readouterr().err
    counts, new = bench(tmp_path, clouds[1])
    assert (counts["computed"], counts["before"]) == (2, 0)
    assert SAID in capsys.readouterr().err
    assert new["facts"]["content"] != old["facts"]["content"]
    assert sorted(new["splits"]) == ["0", "1"]
    counts, kept = bench(tmp_path, clouds[1])
    assert (counts["computed"], counts["before"], kept) == (0, 2, new)
    _, first = bench(tmp_path, clouds[0], splits=1)
    assert first["facts"] == old["facts"]
    assert sorted(first["splits"]) == ["0"]  # none of the other data is left


def test_cells_of_the_old_data_stay_until_one_of_the_new_is_finished(tmp_path, clouds, monkeypatch):
    _, old = bench(tmp_path, clouds[0], quiet=True)

    def broken(*_, **__):
        raise ValueError("cannot be done")

    monkeypatch.setattr(_jobs, "evaluate", broken)
    counts, kept = bench(tmp_path, clouds[1], quiet=True)
    assert (counts["failed"], kept) == (2, old)


def test_data_that_cannot_be_read_are_said_and_their_cells_stay(tmp_path, clouds, capsys):
    _, old = bench(tmp_path, clouds[0], quiet=True)
    (clouds[1] / "flat" / "0.ply").write_text("no points")
    counts, kept = bench(tmp_path, clouds[1], quiet=True)
    assert (counts["before"], counts["failed"], kept) == (2, 0, old)
    assert "mine: cannot be compared with its records: " in capsys.readouterr().err


def test_a_set_that_is_made_is_not_made_where_all_is_done(tmp_path, monkeypatch):
    asked = {"sets": ["four_shapes"], "methods": ["HFS-simple"], "results": tmp_path, "quiet": True}
    hf.experiments.run(["main"], **asked)

    def never(*_):
        raise AssertionError("made")

    monkeypatch.setattr(_jobs, "load", never)
    assert hf.experiments.run(["main"], **asked)["before"] == 2


def of_now(seen, name, data):
    """A job that finds other clouds than the records of `counted` are of."""
    job = counted(seen, name=name)
    return replace(job, key=replace(job.key, data=data), facts=lambda _: FACTS | {"content": "other"})


def test_a_set_that_is_made_anyway_is_compared_with_all_its_records(tmp_path, capsys):
    context, seen = Context(Store(tmp_path)), []
    one, two = (of_now(seen, name, "processes") for name in "ab")
    run_jobs(context, [replace(one, facts=lambda _: FACTS)], quiet=True)
    assert run_jobs(context, [one], quiet=True)["before"] == 3  # all done: not compared
    assert run_jobs(context, [one, two])["computed"] == 6
    assert "the data of processes have changed" in capsys.readouterr().err
    assert {context.store.read(job.key)["facts"]["content"] for job in (one, two)} == {"other"}


def test_what_the_entry_of_a_user_loads_is_compared(tmp_path):
    """It has no folder of its own, but may read one."""
    context, seen = Context(Store(tmp_path)), []
    run_jobs(context, [counted(seen)], quiet=True)
    assert run_jobs(context, [of_now(seen, "a", "some data")], quiet=True)["computed"] == 3


def test_the_part_of_another_record_is_written_for_the_data_of_now(tmp_path):
    """A cell of the same code, but of other data, is no reason to leave it."""
    context = Context(Store(tmp_path))
    run_jobs(context, [counted([], splits=1)], quiet=True)
    other = FACTS | {"content": "other"}
    both = Job(
        key("turned"), (0,), "1", 1.0, lambda *_: [(0, {"scores": {"none": {"oa": 7.0}}})], lambda _: other,
        also=key(),
    )  # fmt: skip
    run_jobs(context, [both], quiet=True)
    assert context.store.cells(key())[0]["scores"] == {"none": {"oa": 7.0}}
    assert context.store.read(key())["facts"] == other
