"""Cells of the tables by a real cluster: the same records as here, whoever is killed meanwhile."""

import json
import os
import signal

import pytest

from heatfield.cli import main
from heatfield.options import Run
from heatfield_bench._jobs import Context, Job
from heatfield_bench._results import Store
from heatfield_bench._run import run_jobs
from test_results import FACTS, QUIET, cells, key
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
