"""``heatfield train --cluster``: scores and model to the bit as without, whoever is killed meanwhile."""

import json
import os
import signal

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main
from tests.helpers.dask_cluster import command, end_of, wait_for


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


def words(clouds, out, *more):
    return ["train", str(clouds), "-o", str(out), "--folds", "4", *more]


def written(out):
    """All that a training leaves, by name, but for the seconds of epochs and the checksum of them."""
    files = [*out.rglob("*"), out.with_name(out.name + ".report.json")]
    found = {file.name: file.read_bytes() for file in files if file.is_file()}
    model = json.loads(found["model.json"])
    del model["checksum"]
    for epoch in model.get("history", ()):
        del epoch["seconds"]
    return found | {"model.json": model}


CLOSED = ("--variant", "desc", "--head", "auto")
LEARNED = ("--variant", "full", "--epochs", "1", "--scales", "3", "--folds", "2", "--device", "cpu")


@pytest.fixture(scope="module")
def closed_form(clouds, tmp_path_factory):
    """What a training without a cluster leaves."""
    out = tmp_path_factory.mktemp("closed") / "here"
    assert main(words(clouds, out, *CLOSED)) == 0
    return written(out)


@pytest.mark.parametrize("options", [CLOSED, LEARNED], ids=["closed form", "learned"])
def test_scores_and_model_have_the_same_bits(clouds, shared_cluster, tmp_path, options, request, capsys):
    folds = 4
    if options is LEARNED:
        pytest.importorskip("torch")
        assert main(words(clouds, tmp_path / "here", *options)) == 0
        here, folds = written(tmp_path / "here"), 2
    else:
        here = request.getfixturevalue("closed_form")
    capsys.readouterr()
    assert main(words(clouds, tmp_path / "by", *options, "--cluster", shared_cluster.address)) == 0
    assert f"of {folds} finished" in capsys.readouterr().err
    by = written(tmp_path / "by")
    by["here.report.json"] = by.pop("by.report.json")
    assert json.loads(here["here.report.json"])["cross_validation"]["folds"] == folds
    assert by == here
    assert not (tmp_path / "by.parts").exists()


def folds_of(out):
    return sorted(out.with_name(out.name + ".parts").glob("*.fold*"))


def test_killed_workers_and_a_lost_scheduler_cost_only_time(clouds, cluster, closed_form, tmp_path, capsys):
    out = tmp_path / "killed"
    process = command(*words(clouds, out, *CLOSED, "--cluster", cluster.address))
    assert wait_for(lambda: folds_of(out), process)
    os.kill(cluster.workers[0].pid, signal.SIGKILL)
    assert wait_for(lambda: len(folds_of(out)) >= 2, process)
    os.kill(cluster.scheduler.pid, signal.SIGKILL)
    code, said = end_of(process)
    assert code == 2, said
    assert "connection to the scheduler" in said
    assert "Traceback" not in said
    assert 2 <= len(folds_of(out)) < 4
    assert main(words(clouds, out, *CLOSED)) == 0  # without a cluster
    assert "folds were finished before" in capsys.readouterr().err
    found = written(out)
    found["here.report.json"] = found.pop("killed.report.json")
    assert found == closed_form


def test_a_cluster_that_is_not_there_is_said_before_the_work(clouds, tmp_path, capsys):
    pytest.importorskip("distributed")
    assert main(words(clouds, tmp_path / "model", "--cluster", "nowhere")) == 2
    assert "cluster must be 'local'" in capsys.readouterr().err
    assert not (tmp_path / "model").exists()
