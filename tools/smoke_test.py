"""A little of everything with an installed heatfield: run by ``tools/lowest_versions.sh``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import heatfield as hf
from heatfield.cli import main


def run(folder: Path) -> None:
    """Each part of the library once, on small data; an assertion where a result is not what it must be."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 3))
    dense = hf.signatures(points, method="dense")
    fast = hf.signatures(rng.normal(size=(6000, 3)), method="fast", tol=1e-6)
    assert np.isfinite(dense.per_point()).all()
    assert np.isfinite(fast.per_point()).all()
    field = hf.HeatField(points)
    assert np.isfinite(field.gradient(points[:5], 0.1)).all()
    clouds, labels = hf.datasets.make_orbit5k(n_per_class=6, n_points=80)
    for head in ("lda", "svm", "mlp"):
        model = hf.HFSClassifier("desc", head=head, random_state=0).fit(clouds, labels)
        model.save(folder / head)
        again = hf.HFSClassifier.load(folder / head)
        assert (again.predict(clouds) == model.predict(clouds)).all()
    for k, label in enumerate(labels):
        (folder / "in" / f"class{label}").mkdir(parents=True, exist_ok=True)
        suffix = ("csv", "ply", "parquet", "npy")[k % 4]
        hf.write_points(folder / "in" / f"class{label}" / f"{k}.{suffix}", clouds[k])
    hf.write_points(folder / "tile.laz", points)
    assert np.allclose(hf.read_points(folder / "tile.laz"), points, atol=1e-3)
    data, quiet = str(folder / "in"), ["--quiet", "--n-jobs", "1"]
    assert main(["describe", data, "-o", str(folder / "t.parquet"), *quiet]) == 0
    assert main(["train", data, "-o", str(folder / "m"), "--variant", "desc", "--folds", "2", *quiet]) == 0
    assert (
        main(["report", data, "-o", str(folder / "r.html"), "--folds", "2", "--embedding", "pca", *quiet])
        == 0
    )
    assert main(["view", str(folder / "tile.laz"), "-o", str(folder / "v.html"), *quiet]) == 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        run(Path(place))
    print("heatfield", hf.__version__, "works with these versions")
