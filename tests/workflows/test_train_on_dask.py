"""`train_files` over a cluster: scores and model to the bit as without."""

import numpy as np
import pytest

import heatfield as hf

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
