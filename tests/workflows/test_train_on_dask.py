"""`train_files` over a cluster: scores and model to the bit as without, whoever is killed meanwhile."""

import os
import signal

import numpy as np
import pytest

import heatfield as hf
from tests.helpers.dask_cluster import command, end_of, wait_for

CLOSED = {"variant": "desc", "folds": 4, "n_scales": 4}
LEARNED = {"variant": "full", "epochs": 1, "n_scales": 3, "folds": 2, "device": "cpu"}


@pytest.fixture(scope="module")
def clouds(tmp_path_factory):
    """Seventy clouds of two classes: more than set the unit of a table of points."""
    folder = tmp_path_factory.mktemp("train") / "clouds"
    rng = np.random.default_rng(0)
    for name, flat in (("flat", 0.2), ("round", 1.0)):
        (folder / name).mkdir(parents=True)
        for k in range(35):
            hf.write_points(folder / name / f"{k:02d}.npy", rng.normal(size=(60, 3)) * [1, 1, flat])
    return folder


def written(place):
    """All that a training leaves."""
    return {str(p.relative_to(place)): p.read_bytes() for p in place.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def here(clouds, tmp_path_factory):
    """What a training without a cluster leaves."""
    place = tmp_path_factory.mktemp("closed")
    hf.train_files(clouds, place / "m", **CLOSED)
    return written(place)


@pytest.mark.parametrize("options", [CLOSED, LEARNED], ids=["closed form", "learned"])
def test_a_cluster_gives_the_same_bits(clouds, shared_cluster, tmp_path, options, here):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    if options is LEARNED:
        pytest.importorskip("torch")
        hf.train_files(clouds, tmp_path / "here" / "m", **options)
        here = written(tmp_path / "here")
    hf.train_files(clouds, tmp_path / "there" / "m", executor=shared_cluster.address, **options)
    assert written(tmp_path / "there") == here


def test_killed_workers_and_a_lost_scheduler_cost_only_time(clouds, cluster, here, tmp_path):
    out, parts = tmp_path / "m", tmp_path / "m.parts"
    words = ["--variant", "desc", "--folds", "4", "--n-scales", "4", "--executor", cluster.address]
    process = command("train", clouds, "-o", out, *words)
    described = 3  # of 32 files each
    assert wait_for(lambda: len(list(parts.glob("*.npz"))) > described, process)
    os.kill(cluster.workers[0].pid, signal.SIGKILL)
    assert wait_for(lambda: len(list(parts.glob("*.npz"))) > described + 1, process)
    os.kill(cluster.scheduler.pid, signal.SIGKILL)
    code, said = end_of(process)
    if code:  # else it was done before it noticed
        assert code == 2, said
        assert "connection to the scheduler" in said
        assert "Traceback" not in said
    hf.train_files(clouds, out, **CLOSED)  # without a cluster
    assert written(tmp_path) == here


def test_a_cluster_that_is_not_there_is_said(clouds, tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(ValueError, match="executor must be 'threads', 'processes', 'local:N'"):
        hf.train_files(clouds, tmp_path / "m", executor="nowhere")
    assert list(tmp_path.iterdir()) == []
