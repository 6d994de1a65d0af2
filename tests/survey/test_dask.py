"""A survey by a real scheduler and real workers: the same bytes, whoever is killed meanwhile."""

import os
import signal

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main
from tests.helpers.files import cut, landscape, write_tiles
from tests.helpers.workers import command, end_of, wait_for

pytest.importorskip("distributed")
pytest.importorskip("pyarrow")


def tiles_in(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.parquet")}


def test_a_worker_killed_in_the_last_pass(tmp_path, cluster):
    points = landscape(30_000, seed=2)
    paths = write_tiles(tmp_path / "in", points, cut(points, 3))
    hf.survey(paths, tmp_path / "one")
    out = tmp_path / "by"
    process = command("survey", tmp_path / "in", "-o", out, "--executor", cluster.address)
    assert wait_for(lambda: len(tiles_in(out)) >= 1, process)
    os.kill(cluster.workers[0].pid, signal.SIGKILL)
    written = len(tiles_in(out))
    code, said = end_of(process)
    assert code == 0, said
    assert written < 9  # it was killed in the middle
    assert tiles_in(out) == tiles_in(tmp_path / "one")
    assert not list(tmp_path.rglob(".*.part"))
    assert not (tmp_path / "by.parts").exists()


def test_workers_name_a_broken_tile(shared_cluster, tmp_path, capsys):
    points = landscape(6_000, seed=3)
    paths = write_tiles(tmp_path / "in", points, cut(points, 3))
    paths[4].write_bytes(paths[4].read_bytes()[:-200])
    words = ["survey", str(tmp_path / "in"), "-o"]
    assert main([*words, str(tmp_path / "by"), "--executor", shared_cluster.address]) == 1
    said = capsys.readouterr()
    assert "1 of 9 files failed" in said.out + said.err
    assert str(paths[4]) in (tmp_path / "by" / "survey.errors.csv").read_text()
    assert main([*words, str(tmp_path / "here"), "--n-jobs", "1", "--quiet"]) == 1
    assert len(tiles_in(tmp_path / "by")) == 8
    assert tiles_in(tmp_path / "by") == tiles_in(tmp_path / "here")


def test_memory_of_a_worker_decides_what_fits(shared_cluster, tmp_path):
    points = landscape(6_000, seed=3)
    paths = write_tiles(tmp_path / "in", points, cut(points, 2))
    with pytest.raises(ValueError, match=r"does not fit into 0\.0001 GiB"):
        hf.survey(paths, tmp_path / "out", executor=shared_cluster.address, memory=1e-4)


def test_estimators_work_under_joblib_and_dask(shared_cluster):
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
