"""Real schedulers and workers: the same bytes with and without them, whoever is killed meanwhile."""

import contextlib
import os
import signal
import socket
import warnings

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main
from heatfield.cluster._work_folder import WORK
from tests.helpers.dask_cluster import command, end_of, free_port, wait_for
from tests.helpers.tiles import cut, landscape, write_tiles

pytest.importorskip("distributed")
pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Sixty clouds, one of them cut, and the table that one process makes of them."""
    folder = tmp_path_factory.mktemp("many")
    (folder / "in").mkdir()
    rng = np.random.default_rng(0)
    for i in range(60):
        hf.write_points(folder / "in" / f"c{i:02d}.npy", rng.normal(size=(700 + i, 3)))
    whole = (folder / "in" / "c07.npy").read_bytes()
    (folder / "in" / "c07.npy").write_bytes(whole[:900])
    assert main(["describe", str(folder / "in"), "-o", str(folder / "one.csv"), "--jobs", "1"]) == 1
    return folder


def same_table(folder, name):
    for ending in (".csv", ".errors.csv", ".meta.json"):
        assert (folder / f"{name}{ending}").read_bytes() == (folder / f"one{ending}").read_bytes()
    assert not (folder / f"{name}.csv.parts").exists()


def shards_of(folder, name):
    return list((folder / f"{name}.csv.parts").glob("*.npz"))


def describe_words(folder, name, address):
    table = str(folder / f"{name}.csv")
    return ["describe", str(folder / "in"), "-o", table, "--shard", "1", "--cluster", address]


def test_describe_by_a_cluster_gives_the_same_bytes(files, shared_cluster):
    assert main(describe_words(files, "by", shared_cluster.address)) == 1
    same_table(files, "by")


def test_a_killed_scheduler_is_an_error_and_the_next_run_goes_on(files, cluster, shared_cluster, capsys):
    process = command(*describe_words(files, "lost", cluster.address))
    assert wait_for(lambda: len(shards_of(files, "lost")) >= 3, process)
    os.kill(cluster.scheduler.pid, signal.SIGKILL)
    code, said = end_of(process)
    assert code == 2
    assert "connection to the scheduler" in said
    assert "run the command again" in said
    assert "Traceback" not in said
    kept = len(shards_of(files, "lost"))
    assert 3 <= kept < 60
    assert main(describe_words(files, "lost", shared_cluster.address)) == 1
    assert f"{kept} were done before" in capsys.readouterr().out
    same_table(files, "lost")


def test_nobody_answers(files, capsys, monkeypatch):
    monkeypatch.setattr("heatfield.cluster._dask_client.CONNECT", 0.5)
    assert main(describe_words(files, "nobody", f"tcp://127.0.0.1:{free_port()}")) == 2
    assert "no scheduler answers at" in capsys.readouterr().err


@pytest.fixture(scope="module")
def tiles(tmp_path_factory):
    """30,000 points in 9 tiles, surveyed in this process."""
    folder = tmp_path_factory.mktemp("tiles")
    points = landscape(30_000, seed=2)
    paths = write_tiles(folder / "in", points, cut(points, 3))
    hf.cluster.survey(paths, folder / "one")
    return folder, paths


def tiles_in(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.parquet")}


def with_prices_of(folder, out, other="one"):
    """The prices are measured per folder: the same choices need the same prices."""
    (out / WORK).mkdir(parents=True)
    (out / WORK / "costs.json").write_bytes((folder / other / WORK / "costs.json").read_bytes())


def test_a_survey_by_a_cluster_with_a_worker_killed_in_pass_3(tiles, cluster):
    folder, _ = tiles
    out = folder / "by"
    with_prices_of(folder, out)
    process = command("survey", folder / "in", "-o", out, "--cluster", cluster.address)
    assert wait_for(lambda: len(tiles_in(out)) >= 1, process)
    os.kill(cluster.workers[0].pid, signal.SIGKILL)
    written = len(tiles_in(out))
    code, said = end_of(process)
    assert code == 0, said
    assert written < 9  # it was killed in the middle
    assert tiles_in(out) == tiles_in(folder / "one")
    assert not list(out.rglob(".*.part"))


def test_workers_name_a_broken_tile_and_do_the_rest(shared_cluster, tmp_path, capsys):
    points = landscape(6_000, seed=3)
    paths = write_tiles(tmp_path / "in", points, cut(points, 3))
    paths[4].write_bytes(paths[4].read_bytes()[:-200])
    words = ["survey", str(tmp_path / "in"), "-o"]
    assert main([*words, str(tmp_path / "by"), "--cluster", shared_cluster.address]) == 1
    said = capsys.readouterr()
    assert "1 of 9 tiles failed" in said.out + said.err
    assert str(paths[4]) in (tmp_path / "by" / "survey.errors.csv").read_text()
    with_prices_of(tmp_path, tmp_path / "here", "by")
    assert main([*words, str(tmp_path / "here"), "--jobs", "1", "--quiet"]) == 1
    assert len(tiles_in(tmp_path / "by")) == 8
    assert tiles_in(tmp_path / "by") == tiles_in(tmp_path / "here")


def count_of(task, threads):
    return task.size, threads


def test_a_large_task_is_sent_without_a_word(shared_cluster):
    from heatfield.cluster._connect import executor_of

    with executor_of(shared_cluster.address) as executor:  # warnings are errors here
        assert list(executor.map(count_of, [np.zeros(2_000_000)])) == [(0, (2_000_000, 1))]


def test_a_task_may_take_what_a_worker_has(shared_cluster):
    from heatfield.cluster._connect import executor_of

    with executor_of(shared_cluster.address) as executor:
        assert executor.memory() == pytest.approx(0.7 * 4 * 2**30)  # of --memory-limit 4GiB, one thread


def test_processes_of_this_machine(files):
    words = ["describe", str(files / "in"), "-o", str(files / "local.csv"), "--cluster", "local:1"]
    assert main([*words, "--quiet"]) == 1
    same_table(files, "local")


def test_a_client_is_taken_as_it_is(files, shared_cluster, capsys):
    from distributed import Client

    with Client(shared_cluster.address) as client:
        assert hf.cluster.describe([files / "in"], files / "client.csv", client, "--shard", "8") == 1
        assert client.status == "running"  # it belongs to the caller
    assert "59 of 60 clouds" in capsys.readouterr().out
    same_table(files, "client")


def test_estimators_work_under_the_dask_backend_of_joblib(shared_cluster):
    import joblib
    from distributed import Client
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(60, 3)) * [1, 1, 0.01 if i % 2 else 1] for i in range(24)]
    labels = np.arange(24) % 2
    model = make_pipeline(hf.HFSDescriptor("simple"), SVC())
    wanted = cross_val_score(model, clouds, labels, cv=3)
    with Client(shared_cluster.address), joblib.parallel_backend("dask"):
        found = cross_val_score(model, clouds, labels, cv=3, n_jobs=3)
    np.testing.assert_array_equal(found, wanted)


def test_a_local_cluster_starts_where_the_usual_port_is_taken():
    """Another cluster has it on many machines, and two test processes start theirs at once."""
    from heatfield.cluster._dask_client import dask_executor

    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):  # then it is taken already
            other.bind(("0.0.0.0", 8787))
            other.listen()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with dask_executor("local:1") as executor:
                port = int(executor.client.dashboard_link.rpartition(":")[2].partition("/")[0])
    assert port != 8787
