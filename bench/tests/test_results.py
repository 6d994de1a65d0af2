"""Results on disk: written as they are finished, gone on with, of one run at a time, safe from damage."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future
from dataclasses import replace

import pytest

import heatfield_bench as hb
from heatfield.options import Run
from heatfield_bench._jobs import Context, Job
from heatfield_bench._results import FORMER, Key, Store
from heatfield_bench._run import Task, run_jobs
from tests.helpers.process import environment

FACTS = {"content": "c", "splits": "s", "protocol": {"metric": "oa", "count": 3}}
CELL = {"scores": {"none": {"oa": 50.0}}, "test": 9}
QUIET = Run(progress=False)


def key(method="a", **recipe):
    return Key("accuracy", "some data", method, recipe, (None, None), "paper")


def counted(seen, *, fails=(), name="a", splits=3, together=True, metadata=FACTS, score=50.0):
    """A job that notes which splits it was asked for."""

    def run(_, chosen):
        for k in chosen:
            if k in fails:
                raise ValueError(f"split {k} cannot be done")
            seen.append(k)
            yield k, {"scores": {"none": {"oa": score + k}}, "test": 9}

    return Job(key(name), tuple(range(splits)), 1.0, run, lambda _: metadata, together)


def cells(store, method="a"):
    record = store.read(key(method))
    return {} if record is None else record.cells


def scores(store, method="a"):
    return [cell["scores"]["none"]["oa"] for cell in cells(store, method).values()]


def test_finished_cells_are_written_and_not_computed_again(tmp_path, capsys):
    context, seen = Context(Store(tmp_path)), []
    counts = run_jobs(context, [counted(seen, fails={2})])
    assert counts == {"computed": 2, "before": 0, "failed": 1}
    assert "split 2 cannot be done" in capsys.readouterr().err
    assert sorted(cells(Store(tmp_path))) == [0, 1]
    counts = run_jobs(context, [counted(seen)])
    assert counts == {"computed": 1, "before": 2, "failed": 0}
    assert seen == [0, 1, 2]


def test_a_network_for_two_records_is_trained_once(tmp_path):
    def run(_, chosen):
        for k in chosen:
            both = {"none": {"oa": 60.0 + k}, "turned": {"oa": 1.0}}
            yield k, {"scores": both, "changed": {"turned": 9}, "test": 9, "seed": k}

    seen, context = [], Context(Store(tmp_path))
    turned = replace(key(), task="rotation", table="rotation")
    both = Job(turned, (0,), 1.0, run, lambda _: FACTS, False, also=key())
    counts = run_jobs(context, [counted(seen), both], options=QUIET)
    assert counts == {"computed": 3, "before": 1, "failed": 0}
    assert seen == [1, 2]
    first = cells(context.store)[0]
    assert (first["scores"], first["seed"]) == ({"none": {"oa": 60.0}}, 0)
    assert "changed" not in first
    assert context.store.read(turned).cells[0]["changed"] == {"turned": 9}
    assert sorted(p.name for p in tmp_path.glob("*.jsonl")) == ["main.jsonl", "rotation.jsonl"]
    run_jobs(context, [counted(seen), both], again=True, options=QUIET)
    assert seen == [1, 2, 0, 1, 2]


def test_a_line_says_where_when_and_by_which_version(tmp_path):
    run_jobs(Context(Store(tmp_path)), [counted([])], options=QUIET)
    head, machine, data, *lines = map(json.loads, (tmp_path / "main.jsonl").read_text().splitlines())
    assert head == {"heatfield_bench": 1, "table": "main"}
    assert "numpy" in machine["versions"]
    assert data["protocol"] == FACTS["protocol"]
    assert [line["split"] for line in lines] == [0, 1, 2]
    assert {line["machine"] for line in lines} == {machine["id"]}
    assert all(line["version"] == hb.__version__ and "UTC" in line["date"] for line in lines)
    assert all((line["content"], line["recipe"]) == ("c", {}) for line in lines)


def test_other_recipes_sizes_and_data_are_other_records(tmp_path):
    store = Store(tmp_path)
    store.add(key(), 0, CELL, FACTS)
    store.add(key(epochs=2), 0, CELL, FACTS)
    store.add(replace(key(), size=(10, None)), 0, CELL, FACTS)
    store.add(key(), 1, CELL, FACTS | {"content": "other"})
    assert len({record.key.name for record in store.records()}) == 3
    assert store.done(key(), FACTS) == {0}
    assert store.done(key(), FACTS | {"content": "other"}) == {1}
    assert store.done(key(), FACTS | {"splits": "others"}) == set()


def test_what_is_shown_is_of_the_data_used_last(tmp_path, monkeypatch):
    store = Store(tmp_path)
    for hour, content in ((1, "old"), (3, "new"), (2, "older")):
        monkeypatch.setattr("heatfield_bench._results.now", lambda hour=hour: f"2030-01-01 0{hour}:00 UTC")
        store.add(key(), hour, CELL, FACTS | {"content": content})
    assert store.read(key()).metadata["content"] == "new"
    assert [record.metadata["content"] for record in store.records()] == ["new"]


def test_rows_on_a_former_generator_never_stand_beside_new_ones(tmp_path):
    store, former = Store(tmp_path), FORMER["processes"][1]
    made = [replace(key(name), data="processes") for name in ("a", "b")]
    made.append(replace(made[0], size=(100, None)))  # a part of the data set
    for one in made:
        store.add(one, 0, CELL, FACTS | {"content": former})
    assert [record.former for record in store.records()] == [True, True, True]
    store.add(replace(made[1], budget="smoke"), 0, CELL, FACTS | {"content": "smoke"})
    own = replace(made[1], task="descriptors", table="descriptors")
    store.add(own, 0, CELL | {"seconds": {"train": 1.0}, "columns": 2}, FACTS | {"content": "own"})
    assert store.read(made[0]) is not None
    store.add(made[1], 0, CELL, FACTS | {"content": "new"})
    assert {record.metadata["content"] for record in store.records()} == {"smoke", "own", "new"}
    assert store.read(made[0]) is None


def test_again_replaces_each_cell_when_the_new_one_is_finished(tmp_path):
    context, seen = Context(Store(tmp_path)), []
    run_jobs(context, [counted(seen)], options=QUIET)
    run_jobs(context, [counted(seen, score=70.0)], options=QUIET)
    assert scores(context.store) == [50.0, 51.0, 52.0]
    run_jobs(context, [counted(seen, score=70.0)], again=True, options=QUIET)
    assert scores(context.store) == [70.0, 71.0, 72.0]
    assert scores(Store(tmp_path)) == [70.0, 71.0, 72.0]
    assert run_jobs(context, [counted(seen)], options=QUIET)["before"] == 3


@pytest.mark.parametrize("end", [KeyboardInterrupt, ValueError])
def test_a_run_that_ends_early_keeps_the_cells_it_did_not_replace(tmp_path, end, capsys):
    context = Context(Store(tmp_path))
    run_jobs(context, [counted([]), counted([], name="b")], options=QUIET)

    def broken(_, chosen):
        yield chosen[0], {"scores": {"none": {"oa": 1.0}}, "test": 9}
        raise end("in the middle")

    first = replace(counted([]), run=broken)
    if end is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            run_jobs(context, [first], again=True)
        assert scores(context.store) == [50.0, 51.0, 52.0]  # of splits that are computed together, none
    else:
        counts = run_jobs(context, [first], again=True)
        assert counts == {"computed": 1, "before": 0, "failed": 2}
        assert "2 of 3 splits failed; 1 of 3 cells, 2 failed" in capsys.readouterr().out
        assert scores(context.store) == [1.0, 51.0, 52.0]
    assert scores(context.store, "b") == [50.0, 51.0, 52.0]
    assert run_jobs(context, [counted([])], options=QUIET)["before"] == 3


class Here(Executor):
    """Work that is done at once; ``dies`` after so many tasks, or reads other data."""

    def __init__(self, dies=None, metadata=None):
        self.dies, self.metadata, self.count = dies, metadata, 0

    def submit(self, work, *given):
        future, self.count = Future(), self.count + 1
        if self.metadata is not None:
            other = {"metadata": lambda _: self.metadata}
            given = [replace(g, job=replace(g.job, **other)) if isinstance(g, Task) else g for g in given]
        if self.count == self.dies:
            future.set_exception(ConnectionError("the scheduler is gone"))
        else:
            future.set_result(work(*given))
        return future


def test_a_cluster_that_dies_keeps_the_old_cells(tmp_path):
    context = Context(Store(tmp_path))
    run_jobs(context, [counted([], together=False)], options=QUIET)
    newer = counted([], together=False, score=70.0)
    options = Run(n_jobs=1, executor=Here(dies=3), progress=False)
    with pytest.raises(ConnectionError):
        run_jobs(context, [newer], again=True, options=options)
    assert scores(context.store)[2] == 52.0


def test_a_worker_with_other_data_is_an_error(tmp_path, capsys):
    options = Run(executor=Here(metadata=FACTS | {"content": "other"}), progress=False)
    counts = run_jobs(Context(Store(tmp_path)), [counted([])], options=options)
    assert (counts["computed"], counts["failed"]) == (0, 3)
    assert "the data that the worker reads are not those of the caller" in capsys.readouterr().err


_HOLD = """
import sys
from pathlib import Path
from heatfield.jobs import lock
with lock(Path(sys.argv[1]), Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_run_at_a_time_has_the_folder(tmp_path):
    pytest.importorskip("fcntl")
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(),
    ) as holder:  # fmt: skip
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ValueError, match="is being written by another process"):
            run_jobs(Context(Store(tmp_path)), [counted([])])
        os.kill(holder.pid, signal.SIGKILL)
    assert run_jobs(Context(Store(tmp_path)), [counted([])], options=QUIET)["computed"] == 3


def test_what_another_run_wrote_meanwhile_is_not_computed_again(tmp_path):
    context = Context(Store(tmp_path))
    assert context.store.records() == []  # read before the other run
    run_jobs(Context(Store(tmp_path)), [counted([])], options=QUIET)
    assert run_jobs(context, [counted([])], options=QUIET)["before"] == 3


_WRITER = """
import sys
from heatfield_bench._results import FORMER, Key, Store
store = Store(sys.argv[1])
metadata = {"content": "c", "splits": "s", "protocol": {"metric": "oa", "count": 10**9}}
print("ready", flush=True)
for split in range(10**9):
    key = Key("accuracy", "some data", "a", {}, (None, None), "paper")
    store.add(key, split, {"scores": {"none": {"oa": 1.0}}, "test": 1}, metadata)
"""


def test_a_run_killed_at_any_time_loses_at_most_its_last_line(tmp_path):
    for round_ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        ) as writer:
            assert writer.stdout.readline() == "ready\n"
            time.sleep(0.2 + 0.05 * round_)
            writer.kill()
    found = sorted(cells(Store(tmp_path)))
    assert found
    assert found == list(range(len(found)))


def test_a_torn_line_is_reported_and_the_next_one_whole(tmp_path):
    store = Store(tmp_path)
    store.add(key(), 0, CELL, FACTS)
    place = tmp_path / "main.jsonl"
    place.write_bytes(place.read_bytes() + b'{"kind":"cell","task":"acc')
    store.add(key(), 1, CELL, FACTS)
    again = Store(tmp_path)
    assert sorted(cells(again)) == [0, 1]
    assert again.problems() == [f"{place}, line 5: not JSON; passed over"]
    again.add(key(), 0, CELL, FACTS)
    assert sorted(cells(Store(tmp_path))) == [0, 1]


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[" * 100_000,
        "17",
        '{"kind": "else"}',
        '{"kind": "machine"}',
        '{"kind": "data", "data": "d"}',
        {"task": "unheard of"},
        {"task": ["accuracy"]},
        {"split": -1},
        {"split": "0"},
        {"size": [1]},
        {"size": ["a", None]},
        {"scores": {}},
        {"scores": {"none": {"oa": "much"}}},
        {"scores": {"none": {"oa": float("nan")}}},
        {"recipe": "none"},
        {"test": None},
        {"date": None},
        {"content": ["c"]},
        {"splits": {"a": 1}},
        {"epochs": None},
        {"train_accuracy": "high"},
        {"deviation": "small"},
        {"task": "dimension", "estimates": {"a": [1.0]}},
        {"task": "dimension", "estimates": {"a": [1.0, 2]}, "recipe": {"manifolds": ["a", "b"]}},
        {"task": "summary", "classes": 2, "clouds": 4, "points": [1, 2], "alignment": 0.5},
    ],
    ids=str,
)
def test_a_damaged_line_is_passed_over_and_named(tmp_path, line):
    store, place = Store(tmp_path), tmp_path / "main.jsonl"
    store.add(key(), 0, CELL, FACTS)
    if isinstance(line, dict):
        line = json.dumps(json.loads(place.read_text().splitlines()[-1]) | {"split": 1} | line)
    with place.open("a") as file:
        file.write(line + "\n")
    again = Store(tmp_path)
    assert list(cells(again)) == [0]
    (said,) = again.problems()
    assert said.startswith(f"{place}, line 5: ")
    assert said.endswith("; passed over")


def test_a_cell_without_the_score_is_passed_over_and_named(tmp_path):
    store = Store(tmp_path)
    store.add(key(), 0, CELL, FACTS)
    store.add(key(), 1, CELL | {"scores": {"none": {"f1": 50.0}}}, FACTS)
    assert list(cells(store)) == [0]
    (said,) = store.problems()
    assert said.endswith("main.jsonl: no line with the score 'oa', of 'some data' / 'a'; passed over")


def test_results_without_a_line_on_their_data_are_passed_over(tmp_path):
    Store(tmp_path).add(key(), 0, CELL, FACTS)
    place = tmp_path / "main.jsonl"
    place.write_text("".join(t for t in place.read_text().splitlines(True) if '"kind":"data"' not in t))
    store = Store(tmp_path)
    assert store.records() == []
    assert store.problems() == [
        f"{place}: no line describes the data 'some data' of some results; passed over"
    ]
    store.add(key(), 1, CELL, FACTS)  # which tells what the data are
    assert sorted(cells(store)) == [0, 1]
    assert store.problems() == []


@pytest.mark.parametrize("text", ['{"my": "notes"}\n', "\x00\x01", '{"heatfield_bench": 2}\n'])
def test_a_file_of_the_user_is_left_alone(tmp_path, text):
    place = tmp_path / "main.jsonl"
    place.write_text(text)
    store = Store(tmp_path)
    assert store.records() == []
    assert store.problems() == [f"{place} was not written by heatfield bench and is left alone"]
    with pytest.raises(
        ValueError, match=r"main\.jsonl was not written by heatfield bench: give another folder"
    ):
        store.add(key(), 0, CELL, FACTS)
    assert place.read_text() == text


def test_an_empty_file_is_begun(tmp_path):
    (tmp_path / "main.jsonl").touch()  # as a run that was killed before its first line leaves it
    store = Store(tmp_path)
    assert store.problems() == []
    store.add(key(), 0, CELL, FACTS)
    assert sorted(cells(Store(tmp_path))) == [0]


def test_a_pipe_in_the_place_of_results_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "main.jsonl")
    (said,) = Store(tmp_path).problems()
    assert said.startswith(f"{tmp_path / 'main.jsonl'} cannot be read: ")


def test_only_the_first_splits_are_computed_where_that_is_asked(tmp_path):
    asked = {"sets": ["four_shapes"], "methods": ["HFS-simple"], "results": tmp_path, "progress": False}
    assert hb.run(["main"], splits=1, **asked)["computed"] == 1
    counts = hb.run(["main"], **asked)
    assert (counts["before"], counts["computed"]) == (1, 1)
    with pytest.raises(ValueError, match="splits must be an integer of at least 1, got 0"):
        hb.run(["main"], splits=0, **asked)
