"""The job engine: every executor gives the same bytes, whatever is stopped, killed or damaged meanwhile."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from heatfield.jobs import Job, Task, is_kept, key_of, machine_memory, workers_of
from heatfield.options import Run
from tests.helpers.process import environment
from tests.helpers.workers import (
    KeepError,
    counted,
    dies,
    fails,
    folder_of,
    free_port,
    kept_by,
    size_of,
    tasks_of,
    told_threads,
)


@pytest.fixture
def work(tmp_path):
    """A folder in which tasks say when they begin and end."""
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What one thread computes and keeps."""
    folder = tmp_path_factory.mktemp("expected")
    return kept_by(folder / "out", folder, n_jobs=1)


def times(work, kind="done"):
    """How often each number was computed."""
    numbers = [int(path.name.split("-")[1]) for path in work.glob(f"{kind}-*")]
    return {number: numbers.count(number) for number in sorted(numbers)}


def same(found, expected):
    assert found[1] == expected[1]
    for one, other in zip(found[0], expected[0], strict=True):
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[name], other[name]) for name in one)


# --- executors -----------------------------------------------------------------------


@pytest.mark.parametrize("executor", [None, "threads", "processes"])
def test_order_and_bytes_on_this_machine(tmp_path, work, expected, executor):
    same(kept_by(tmp_path / "out", work, executor=executor, n_jobs=3), expected)


def test_order_and_bytes_on_a_given_executor(tmp_path, work, expected):
    with ThreadPoolExecutor(3) as pool:
        same(kept_by(tmp_path / "out", work, executor=pool), expected)
        assert pool.submit(int, "3").result() == 3  # it belongs to the caller


def test_order_and_bytes_on_a_scheduler(tmp_path, work, expected, shared_cluster):
    same(kept_by(tmp_path / "out", work, executor=shared_cluster.address), expected)
    from distributed import Client

    with Client(shared_cluster.address) as client:
        same(kept_by(tmp_path / "other", work, executor=client), expected)
        assert client.status == "running"  # it belongs to the caller


def test_order_and_bytes_on_a_local_cluster(tmp_path, work, expected, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    with socket.socket() as other:  # the usual port is taken by another cluster on many machines
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("0.0.0.0", 8787))
            other.listen()
        except OSError:
            pass
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            same(kept_by(tmp_path / "out", work, executor="local:2"), expected)


def test_a_killed_worker_costs_its_task_only(tmp_path, work, expected, cluster):
    def kill():
        while not times(work, "done"):
            time.sleep(0.02)
        os.kill(cluster.workers[0].pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    found = kept_by(tmp_path / "out", work, seconds=0.5, executor=cluster.address)
    killer.join()
    same(found, expected)
    assert 8 <= sum(times(work).values()) <= 12


def test_a_lost_scheduler_is_an_error_and_resumed(tmp_path, work, expected, cluster, capfd):
    def kill():
        while len(times(work, "done")) < 3:
            time.sleep(0.02)
        os.kill(cluster.scheduler.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(OSError, match=r"connection to the scheduler at tcp://.* was lost; what is finished"):
        kept_by(tmp_path / "out", work, seconds=0.5, executor=cluster.address)
    killer.join()
    assert "Traceback" not in capfd.readouterr().err
    kept = len(list((tmp_path / "out.parts").glob("*.npz")))
    assert 1 <= kept < 8
    done = sum(times(work).values())
    same(kept_by(tmp_path / "out", work), expected)
    assert sum(times(work).values()) == done + 8 - kept


@pytest.mark.parametrize(
    ("executor", "said"),
    [
        ("somewhere", "executor must be 'threads', 'processes', 'local:N', an address"),
        ("local:0", "executor must be 'local:N' with a number of processes N, got 'local:0'"),
    ],
)
def test_an_unknown_executor_is_refused(tmp_path, work, executor, said):
    pytest.importorskip("distributed")
    with pytest.raises(ValueError, match=said):
        kept_by(tmp_path / "out", work, executor=executor)


def test_nobody_answers_at_an_address(tmp_path, work, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("heatfield.jobs._CONNECT", 0.5)
    with pytest.raises(OSError, match=r"no scheduler answers at 'tcp://127\.0\.0\.1:\d+'; start one"):
        kept_by(tmp_path / "out", work, executor=f"tcp://127.0.0.1:{free_port()}")


def test_without_dask_the_extra_is_named(tmp_path, work, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"A cluster needs distributed: pip install 'heatfield\[cluster\]'"):
        kept_by(tmp_path / "out", work, executor="local:2")


def test_a_worker_has_a_core_and_memory(shared_cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with workers_of(shared_cluster.address, 1) as workers:  # warnings are errors here
        large = list(workers.map(size_of, [np.zeros(2_000_000)]))
        assert [(k, r["size"], r["threads"]) for k, r in large] == [(0, 2_000_000, 1)]
        assert workers.memory == pytest.approx(0.7 * 4 * 2**30)  # of --memory-limit 4GiB, one thread
        assert {str(r["folder"]) for _, r in workers.map(folder_of, [1, 2])} == {str(tmp_path)}


@pytest.mark.parametrize(
    ("jobs", "tasks", "at_once", "threads"), [(4, 8, None, 1), (4, 2, None, 2), (4, 8, 1, 4), (4, 8, 9, 1)]
)
def test_cores_are_divided_among_tasks(jobs, tasks, at_once, threads):
    with workers_of(None, jobs) as workers:
        found = {r["threads"] for _, r in workers.map(told_threads, range(tasks), at_once)}
        assert found == {threads}
        assert workers.memory == 0.5 * machine_memory()


def test_no_more_tasks_at_once_than_asked():
    running, most = [], []

    def tracked(load, _threads):
        running.append(load)
        most.append(len(running))
        time.sleep(0.03)
        running.remove(load)
        return {}

    with workers_of("threads", 4) as workers:
        assert len(list(workers.map(tracked, range(8), 2))) == 8
    assert max(most) == 2


# --- what goes wrong -----------------------------------------------------------------


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_an_error_ends_the_others(tmp_path, work, executor):
    with (
        pytest.raises(ValueError, match="number 2 cannot be done"),
        Job(tmp_path / "out", run=Run(executor=executor, n_jobs=2, progress=False)) as job,
    ):
        job.run(fails, tasks_of(work, 40, 0.3), unit="tasks")
    assert len(times(work, "begun")) < 8
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("heatfield-task")]


def test_a_process_that_dies_is_an_error(tmp_path):
    with (
        pytest.raises(OSError, match="a worker process died, possibly out of memory"),
        Job(tmp_path / "out", run=Run(executor="processes", n_jobs=2, progress=False)) as job,
    ):
        job.run(dies, [Task(key_of(k), k) for k in range(2)], unit="tasks")


STOPPED = """
import sys
from tests.helpers.workers import kept_by
if __name__ == "__main__":
    try:
        kept_by(sys.argv[1], sys.argv[2], 40, 600.0, executor=sys.argv[3], n_jobs=2)
    except KeyboardInterrupt:
        print("stopped")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of Unix")
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_interrupts_end_it_inside_a_task(tmp_path, work, executor):
    script = tmp_path / "script.py"
    script.write_text(STOPPED)
    process = subprocess.Popen(
        [sys.executable, script, tmp_path / "out", work, executor],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while len(times(work, "begun")) < 2 and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    said, problem = process.communicate(timeout=120)
    assert said == "stopped\n", problem  # a task takes ten minutes
    assert not times(work)


# --- what is kept --------------------------------------------------------------------


def test_what_is_kept_is_not_computed_again(tmp_path, work, expected):
    kept_by(tmp_path / "out", work, 5)
    same(kept_by(tmp_path / "out", work, keep=False), expected)
    assert times(work) == dict.fromkeys(range(1, 9), 1)
    assert not (tmp_path / "out.parts").exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-40]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(os.urandom(500)),
        lambda path: path.write_bytes(path.read_bytes().replace(b"descr", b"descX")),
        lambda path: path.write_bytes(path.read_bytes()[:300] + b"\xff" * 40 + path.read_bytes()[340:]),
        lambda path: path.write_bytes(path.read_bytes().replace(b"'<i8'", b"'|O8'")),
    ],
    ids=["cut", "empty", "other", "header", "values", "objects"],
)
def test_damaged_results_are_computed_again(tmp_path, work, expected, damage):
    _, kept = kept_by(tmp_path / "out", work)
    for name in sorted(kept)[:3]:
        damage(tmp_path / "out.parts" / name)
    same(kept_by(tmp_path / "out", work), expected)
    assert sum(times(work).values()) == 11


def test_results_that_no_longer_hold_are_computed_again(tmp_path, work):
    kept_by(tmp_path / "out", work)
    with Job(tmp_path / "out", run=Run(n_jobs=1, progress=False)) as job:
        job.run(counted, tasks_of(work), unit="tasks", valid=lambda _, kept: int(kept["count"]) != 3)
        assert job.resumed == 7
    assert times(work)[3] == 2


KILLED = """
import sys
from tests.helpers.workers import kept_by
kept_by(sys.argv[1], sys.argv[2], int(sys.argv[4]), 0.25, executor=sys.argv[3], n_jobs=2)
"""


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_killed_at_random_moments_it_goes_on(tmp_path, work, expected, executor):
    rng, kept, kills = np.random.default_rng(3), 0, 0
    while kills < 3 or (kept == 0 and kills < 20):  # a busy machine finishes nothing in so short a time
        kills += 1
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, tmp_path / "out", work, executor, "8"], env=environment()
        )
        before = len(times(work, "begun"))
        while len(times(work, "begun")) == before and process.poll() is None:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.6))
        process.kill()
        process.wait()
        kept = len(list((tmp_path / "out.parts").glob("*.npz")))
    same(kept_by(tmp_path / "out", work, keep=False), expected)
    assert kept > 0
    assert max(times(work).values()) <= kills + 1
    assert not list(tmp_path.rglob(".*.part"))


def test_workers_of_a_killed_process_end(tmp_path, work):
    words = [sys.executable, "-c", KILLED, tmp_path / "out", work, "processes", "200"]
    process = subprocess.Popen(words, env=environment())
    while not times(work, "begun"):
        time.sleep(0.02)
    process.kill()
    process.wait()
    before, now = None, times(work, "begun")
    for _ in range(20):  # they notice within a second, later on a busy machine
        time.sleep(1.0)
        before, now = now, times(work, "begun")
        if now == before:
            break
    assert now == before
    assert len(now) < 200


# --- one process at a time -----------------------------------------------------------


def test_a_second_job_is_refused(tmp_path):
    with Job(tmp_path / "out"):
        with (
            pytest.raises(ValueError, match="out' is being written by another process"),
            Job(tmp_path / "out"),
        ):
            pass
        with Job(tmp_path / "other"), Job(None):
            pass
    with Job(tmp_path / "out"):
        assert (tmp_path / "out.parts").is_dir()
    assert not list(tmp_path.iterdir())


def test_strange_files_beside_the_kept_ones_stay(tmp_path, work):
    (tmp_path / "out.parts").mkdir()
    (tmp_path / "out.parts" / "letter.txt").write_text("dear")
    (tmp_path / f".out.{'0' * 8}.part").write_text("half")  # as a killed process leaves it
    kept_by(tmp_path / "out", work, keep=False)
    assert [path.name for path in (tmp_path / "out.parts").iterdir()] == ["letter.txt"]
    assert not list(tmp_path.glob(".out*"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_pipe_is_no_result(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    assert Job(tmp_path / "x")._read(tmp_path / "pipe.npz") is None


def test_names_of_kept_files():
    assert is_kept(Path("a.parts") / f"{key_of(1)}.points.npy")
    assert is_kept("a.parts/.heatfield-lock")
    assert not is_kept(Path("a") / f"{key_of(1)}.npz")
    assert not is_kept("a.parts/cloud.npz")
    assert key_of(np.arange(3)) != key_of(np.arange(3.0))


def test_nothing_is_kept_without_a_result(work):
    with Job(None, run=Run(n_jobs=2, progress=False)) as job:
        assert len(job.run(counted, tasks_of(work), unit="tasks")) == 8
        assert job.folder is None
        assert job.file("a", "b") is None
    with pytest.raises(KeepError), Job(None) as job:
        raise KeepError
