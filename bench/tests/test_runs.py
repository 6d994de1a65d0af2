"""Runs: spread over workers, what they print, and data that changed between two of them."""

import json
import os
import signal
from dataclasses import replace

import numpy as np
import pytest

import heatfield as hf
import heatfield_bench as hb
from heatfield.cli import main
from heatfield.options import Run
from heatfield_bench import DATA_SETS, METHODS, _jobs
from heatfield_bench._jobs import Context, Job, evaluation
from heatfield_bench._results import Key, Store
from heatfield_bench._run import _Run, run_jobs, title_of
from test_results import FACTS, QUIET, cells, counted, key
from tests.helpers.workers import command, end_of, wait_for

WORDS = ["bench", "main", "curve", "--sets", "processes"]
WORDS += ["--methods", "HFS-simple", "HFS-desc", "HFS-joint", "LocalCovariance", "PointNet"]
# What two runs need not share; a worker has other threads, which makes it another machine.
OTHERWISE = ("seconds", "date", "load_average", "machine")


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("here")
    assert main([*WORDS, "--results", str(folder), "--quiet"]) == 0
    return folder


def records(folder):
    """All results by name, without machines, times of day and of work."""
    return {
        (record.key.name, split): {name: value for name, value in cell.items() if name not in OTHERWISE}
        for record in Store(folder).records()
        for split, cell in record.cells.items()
    }


def count(folder):
    return len(records(folder))


def test_records_are_those_of_one_process(here, shared_cluster, tmp_path, capsys):
    words = [*WORDS, "--results", str(tmp_path / "by"), "--executor", shared_cluster.address]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert f"{count(here)} cells computed, 0 were there" in said
    assert f"{count(here)} of {count(here)} cells" in said  # progress
    assert records(tmp_path / "by") == records(here)


def test_killed_workers_and_a_lost_scheduler_cost_only_time(here, cluster, tmp_path):
    words = [word for word in WORDS if word != "PointNet"]  # torch would have to be loaded by all
    expected = {name: cell for name, cell in records(here).items() if "PointNet" not in name[0]}
    process = command(*words, "--results", tmp_path, "--executor", cluster.address)
    assert wait_for(lambda: count(tmp_path) >= 1, process)
    os.kill(cluster.workers[0].pid, signal.SIGKILL)
    assert wait_for(lambda: count(tmp_path) >= 3, process)
    os.kill(cluster.scheduler.pid, signal.SIGKILL)
    code, said = end_of(process)
    assert code == 2
    assert "connection to the scheduler" in said
    assert "Traceback" not in said
    assert 3 <= count(tmp_path) < len(expected)
    assert main([*words, "--results", str(tmp_path), "--quiet"]) == 0  # without a cluster
    assert records(tmp_path) == expected


def job(name, fails=()):
    def run(_, splits):
        for k in splits:
            if k in fails:
                raise ValueError(f"split {k} cannot be done")
            yield k, {"scores": {"none": {"oa": 50.0 + k}}, "test": 9}

    return Job(key(name), (0, 1, 2), 1.0, run, lambda _: FACTS, together=name == "a")


def test_what_a_worker_finished_before_an_error_is_kept(tmp_path, capsys):
    context = Context(Store(tmp_path / "new"))
    counts = run_jobs(context, [job("a", fails={1}), job("b", fails={1})], options=Run(executor="threads"))
    assert counts == {"computed": 3, "before": 0, "failed": 3}
    assert sorted(cells(context.store, "a")) == [0]  # together: what comes after the error is lost
    assert sorted(cells(context.store, "b")) == [0, 2]
    assert "some data / b: ValueError: split 1 cannot be done" in capsys.readouterr().err
    counts = run_jobs(context, [job("a"), job("b")], options=QUIET)
    assert counts == {"computed": 3, "before": 3, "failed": 0}


def test_a_result_names_the_machine_of_the_worker(tmp_path, monkeypatch):
    monkeypatch.setattr("heatfield_bench._run.machine", lambda: {"cpu": "of a worker"})
    context = Context(Store(tmp_path))
    run_jobs(context, [job("b")], options=QUIET)
    lines = [json.loads(line) for line in (tmp_path / "main.jsonl").read_text().splitlines()]
    (machine,) = [line for line in lines if line.get("kind") == "machine"]
    assert machine["cpu"] == "of a worker"
    assert {cell["machine"] for cell in cells(context.store, "b").values()} == {machine["id"]}


@pytest.mark.parametrize(("metric", "words"), [("oa", "overall accuracy"), ("macc", "mean class accuracy")])
def test_scores_have_names_and_one_is_singular(tmp_path, metric, words, capsys):
    def run(_, chosen):
        yield from ((k, {"scores": {"none": {metric: 50.0 + k}}, "test": 9}) for k in chosen)

    metadata = FACTS | {"protocol": {"metric": metric, "count": 3}}
    job = replace(counted([], splits=1), run=run, metadata=lambda _: metadata)
    run_jobs(Context(Store(tmp_path)), [job])
    start = f"accuracy / some data / a (paper): {words} 50.00, 1 split; 1 of 1 cell, about "
    assert capsys.readouterr().out.startswith(start)
    run_jobs(Context(Store(tmp_path)), [replace(job, splits=(0, 1, 2))])
    assert f": {words} 51.00 ± 1.00, 3 splits; 2 of 2 cells, about " in capsys.readouterr().out


def test_a_failed_job_is_no_normal_line(tmp_path, capsys):
    context = Context(Store(tmp_path))
    run_jobs(context, [counted([], fails={0}), counted([], name="b")])
    said = capsys.readouterr()
    failed, normal = said.out.splitlines()
    assert failed == "accuracy / some data / a (paper): 3 of 3 splits failed; 0 of 6 cells, 3 failed"
    assert "overall accuracy 51.00 ± 1.00, 3 splits; 3 of 6 cells, 3 failed, about 0 s left" in normal
    assert said.err == "some data / a: ValueError: split 0 cannot be done\n"


def test_records_of_one_table_are_told_apart(tmp_path):
    context = Context(Store(tmp_path))
    titles = [
        title_of(evaluation(context, "accuracy", DATA_SETS["processes"], METHODS["HFS-simple"], **more))
        for more in ({}, {"train_per_class": 2}, {"train_per_class": 5})
    ]
    assert titles == [
        "accuracy / processes / HFS-simple (smoke)",
        "accuracy / processes / HFS-simple (smoke, 2 training clouds per class)",
        "accuracy / processes / HFS-simple (smoke, 5 training clouds per class)",
    ]
    own = Key("dimension", "manifolds", "MLE", {"condition": "noise"}, (None, None), "paper")
    assert title_of(replace(counted([]), key=own)) == "dimension / manifolds / MLE (paper, noise)"


def test_only_what_was_computed_says_how_long_the_rest_takes(capsys):
    run = _Run(Context(Store("none")), False, Run(), total=8, left=8.0)
    run.done = 2
    run.counts["failed"] = 2
    run.say("a")
    run.spent, run.cost, run.left = 7.0, 1.0, 3.0
    run.say("b")
    assert capsys.readouterr().out.splitlines() == [
        "a; 2 of 8 cells, 2 failed", "b; 2 of 8 cells, 2 failed, about 21 s left",
    ]  # fmt: skip


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
