"""The library in a minute, on data made on the spot."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import heatfield as hf

from .._base.check import check_count
from .._base.files import write_atomically
from ..options import Threads, takes
from ..plot._style import as_image
from .files import PathLike, check_overwrite

FILES = ("results.json", "dimension_over_scales.png", "spectra_by_class.png")
_R_OF_CLASS = (2.5, 3.5, 4.0, 4.1, 4.3)


@takes(Threads)
def demo(out: PathLike, *, clouds: int = 60, threads: Threads) -> dict[str, Any]:
    """Describe and classify Orbit5k, look at one shape, and write two pictures and the results to a folder.

    Parameters
    ----------
    out : path-like
    clouds : int
        Of each class.
    {options}

    Returns
    -------
    results : dict
    """
    check_count(clouds, "clouds", 10)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        check_overwrite(folder / name)
    found = {
        "heatfield": hf.__version__,
        "orbit5k": _orbit5k(folder / FILES[2], clouds, threads.n_jobs),
        "mixed_shape": _mixed_shape(folder / FILES[1], threads.n_jobs),
    }
    write_atomically(folder / FILES[0], (json.dumps(found, indent=1) + "\n").encode())
    return found


def _orbit5k(picture: Path, count: int, n_jobs: int | None) -> dict[str, Any]:
    """Train and test, and draw the spectra of the classes."""
    clouds, labels = hf.datasets.make_orbit5k(n_per_class=count)
    descriptor = hf.HFSDescriptor("desc", n_jobs=n_jobs)
    started = time.perf_counter()
    features = descriptor.fit_transform(clouds)
    rate = len(clouds) / (time.perf_counter() - started)
    test = np.arange(len(clouds)) % 10 < 3
    model = hf.HFSClassifier("desc", head="mlp", random_state=0)
    model.fit_features(features[~test], labels[~test], n_dims=2)
    accuracy = float((model.predict_features(features[test]) == labels[test]).mean())
    block = features[:, descriptor.layout().columns["hds"]]
    composition = block[:, : block.shape[1] // 2].reshape(len(clouds), 3, -1).transpose(0, 2, 1)
    names = {c: f"r = {r}" for c, r in enumerate(_R_OF_CLASS)}
    title = "Orbit5k: heat dimension spectra by class"
    axes = hf.plot.spectra_by_class(composition, labels.tolist(), names=names, title=title)
    write_atomically(picture, as_image(axes, "png"))
    return {
        "clouds": len(clouds),
        "columns": features.shape[1],
        "clouds_per_second": round(rate, 1),
        "accuracy": round(accuracy, 4),
    }


def _mixed_shape(picture: Path, n_jobs: int | None) -> dict[str, Any]:
    """One shape with parts of every dimension."""
    points, parts = hf.datasets.make_mixed_shape()
    started = time.perf_counter()
    s = hf.signatures(points, n_jobs=n_jobs)
    seconds = time.perf_counter() - started
    title = "A sheet, a forked filament and a ball, coloured by heat dimension"
    write_atomically(picture, as_image(hf.plot.dimension_over_scales(points, s, title=title), "png"))
    medians = {
        part: round(float(np.median(s.dimension[parts == part, 3])), 2)
        for part in hf.datasets.MIXED_SHAPE_PARTS
    }
    return {"points": len(points), "seconds": round(seconds, 3), "median_dimension_at_scale_3": medians}
