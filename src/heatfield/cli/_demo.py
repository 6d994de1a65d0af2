"""``heatfield demo``: the whole library in a minute, on data made on the spot."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from .._base.files import write_atomically
from ._ours import is_demo, is_picture, may_replace
from ._pages import save_picture

_RESULTS, _PICTURES = "results.json", ("dimension_over_scales.png", "spectra_by_class.png")
R_OF_CLASS = (2.5, 3.5, 4.0, 4.1, 4.3)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "-o", "--out", type=Path, default=Path("heatfield-demo"), help="folder for pictures and results"
    )
    parser.add_argument("--clouds", type=int, default=60, help="Orbit5k clouds per class (default 60)")
    parser.add_argument("--jobs", type=int, default=-1, help="threads (default: all cores)")


def run(options: argparse.Namespace) -> int:
    """Describe, classify, draw, and say where everything is."""
    if options.clouds < 10:
        raise ValueError(f"--clouds must be at least 10, got {options.clouds}")
    import matplotlib

    matplotlib.use("Agg")  # files only, also where there is no screen
    import heatfield as hf

    may_replace(options.out / _RESULTS, is_demo, "the results of a demo")
    for name in _PICTURES:
        may_replace(options.out / name, is_picture, "a picture of this library")
    options.out.mkdir(parents=True, exist_ok=True)
    result: dict[str, Any] = {"orbit5k": _classify(hf, options), "mixed_shape": _mixed_shape(hf, options)}
    write_atomically(options.out / _RESULTS, (json.dumps(result, indent=1) + "\n").encode())
    print("\nResults and pictures:")
    for name in (_RESULTS, *_PICTURES):
        print(f"  {options.out / name}")
    return 0


def _classify(hf: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Train and test on Orbit5k, draw the spectra."""
    import numpy as np

    clouds, labels = hf.datasets.make_orbit5k(n_per_class=options.clouds)
    print(f"\nOrbit5k: {len(clouds)} clouds of {len(clouds[0])} points in 5 classes")
    descriptor = hf.HFSDescriptor("desc", n_jobs=options.jobs)
    started = time.perf_counter()
    features = descriptor.fit_transform(clouds)
    seconds = time.perf_counter() - started
    rate = len(clouds) / seconds
    print(f"  described in {seconds:.1f} s: {rate:.0f} clouds per second, {features.shape[1]} numbers each")
    test = np.arange(len(clouds)) % 10 < 3
    model = hf.HFSClassifier("desc", random_state=0).fit_features(features[~test], labels[~test], n_dims=2)
    accuracy = float((model.predict_features(features[test]) == labels[test]).mean())
    print(
        f"  trained on {int((~test).sum())}, tested on {int(test.sum())}: accuracy {100 * accuracy:.1f} %"
        "  (chance: 20 %; with all 5,000 clouds the paper reports 93.2 %)"
    )
    block = features[:, descriptor.layout().columns["hds"]]
    composition = block[:, : block.shape[1] // 2].reshape(len(clouds), 3, -1).transpose(0, 2, 1)
    names = {c: f"r = {r}" for c, r in enumerate(R_OF_CLASS)}
    axes = hf.plot.spectra_by_class(
        composition, labels.tolist(), names=names, title="Orbit5k: heat dimension spectra by class"
    )
    save_picture(axes.flat[0].figure, options.out / "spectra_by_class.png", dpi=110)
    return {
        "clouds": len(clouds),
        "columns": features.shape[1],
        "clouds_per_second": round(rate, 1),
        "accuracy": round(accuracy, 4),
    }


def _mixed_shape(hf: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Look at one shape with parts of every dimension."""
    points, parts = hf.datasets.make_mixed_shape()
    print(f"\nMixed shape: {len(points)} points on a sheet, a forked filament and in a ball")
    started = time.perf_counter()
    s = hf.signatures(points, n_jobs=options.jobs)
    seconds = time.perf_counter() - started
    print(f"  signatures at {len(s.scales)} scales in {seconds:.2f} s")
    middle = 3
    print(f"  median heat dimension at scale {middle}:")
    medians = {}
    for part in hf.datasets.MIXED_SHAPE_PARTS:
        medians[part] = round(
            float(sorted(s.dimension[parts == part, middle])[int((parts == part).sum()) // 2]), 2
        )
        print(f"    {part:9s} {medians[part]:.2f}")
    axes = hf.plot.dimension_over_scales(
        points, s, title="A sheet, a forked filament and a ball, coloured by heat dimension"
    )
    save_picture(axes.flat[0].figure, options.out / "dimension_over_scales.png", dpi=110)
    return {"points": len(points), "seconds": round(seconds, 3), "median_dimension_at_scale_3": medians}
