"""Synthetic data at small sizes, by the generators of `heatfield.datasets`, and a hash of each.

``python -m tools.write_golden`` keeps the hashes. Kept results belong to these data: a generator whose hash
changes makes other data under an old name.

Functions such as the sine and products of matrices are those of the machine, which may round their last bit
otherwise on another processor. `machine` gives hashes of some of their values. Where one that a generator
needs is another than in the golden file, counts and sums are compared, and no bits.
"""

import hashlib
import json
import math
from pathlib import Path

import numpy as np

from heatfield import datasets

GOLDEN = Path(__file__).parents[1] / "golden" / "data_hashes.json"
_ALL = ("libm", "numpy", "blas")
# What a generator needs of the machine, beyond sums, products, remainders and roots.
NEEDS = {
    "make_orbit5k": (),
    "make_folds": (),
    "make_splits": (),
    "make_processes": ("libm",),
    "make_disks_annuli": ("libm",),
    "sample_manifold": ("libm", "numpy"),
    "make_mixed_shape": ("libm", "numpy"),
    "make_four_shapes": _ALL,
    "make_branching_tree": _ALL,
    "make_forest": _ALL,
}
TWO = {"n_per_class": 2}
# Generator and options. Cloud i of a class is the same whatever their number: a few stand for all.
CASES = [
    # The orbits are chaotic: a rounding that differs in the last bit is another cloud after sixty steps.
    ("make_orbit5k", {}),
    ("make_orbit5k", {"n_per_class": 3, "n_points": 1000, "random_state": 1}),
    ("make_orbit5k", {"n_per_class": 5, "n_points": 70, "random_state": 2}),
    ("make_orbit5k", {"n_per_class": 4, "n_points": 300, "parameters": (2.0, 3.9, 4.7), "random_state": 3}),
    *[
        ("make_disks_annuli", {**TWO, "form": form, "random_state": seed})
        for form in ("pairs", "annuli", "balanced")
        for seed in (0, 1)
    ],
    ("make_disks_annuli", {**TWO, "radius": (0.05, 0.2), "inner": (0.2, 0.9), "random_state": 2}),
    ("make_disks_annuli", {**TWO, "background": (90, 99), "density": (6, 9), "gap": 0.1, "random_state": 3}),
    ("make_disks_annuli", {**TWO, "density": (1, 1), "random_state": 4}),
    ("make_processes", {**TWO, "random_state": 0}),
    ("make_processes", {**TWO, "random_state": 1}),
    ("make_processes", {**TWO, "intensity": 700.0, "strauss_steps": 3000, "cells": 5, "random_state": 2}),
    (
        "make_processes",
        {**TWO, "parents": 15.0, "children": 20.0, "cluster_radius": 0.2, "strauss_steps": 100},
    ),
    (
        "make_processes",
        {**TWO, "strauss_intensity": 500.0, "strauss_interaction": 0.0, "strauss_radius": 0.04,
         "strauss_steps": 6000},
    ),
    ("make_processes", {**TWO, "strauss_interaction": 1.0, "strauss_steps": 4000, "random_state": 3}),
    ("make_four_shapes", {}),
    *[
        ("make_four_shapes", {"n_per_class": 3, "rotation": rotation, "noise": noise, "random_state": 1})
        for rotation in ("z", "so3", None)
        for noise in (0.0, 0.02)
    ],
    ("make_four_shapes", {"n_per_class": 2, "n_points": 1000, "random_state": 2}),
    ("make_mixed_shape", {}),
    ("make_mixed_shape", {"n_points": 500, "noise": 0.0, "random_state": 1}),
    ("make_mixed_shape", {"n_points": 21, "noise": 0.1, "random_state": 2}),
    ("make_branching_tree", {}),
    ("make_branching_tree", {"n_points": 600, "random_state": 0}),
    ("make_branching_tree", {"n_points": 500, "n_forks": 0, "noise": 0.0, "random_state": 1}),
    ("make_branching_tree", {"n_points": 3000, "n_forks": 15, "noise": 0.05, "random_state": 2}),
    ("make_forest", {"n_plots": 1, "n_points": 20_000}),
    ("make_forest", {"n_plots": 2, "n_points": 1000, "random_state": 1}),
    ("make_forest", {"n_plots": 1, "n_points": 1500, "n_trees": 2, "size": 30.0, "n_scans": 1}),
    *[
        ("sample_manifold", {"name": name, "m": m, "random_state": seed})
        for name in ("circle", "sphere", "torus", "swiss_roll")
        for m, seed in ((1, 0), (1000, 1))
    ],
    *[("make_folds", {"n_folds": n}) for n in (2, 5)],
    *[("make_splits", {"n_splits": n, "test_share": share}) for n, share in ((20, 0.2), (3, 0.3))],
]  # fmt: skip


def name_of(case):
    """``make_orbit5k(n_points=70)``."""
    generator, options = case
    return f"{generator}({', '.join(f'{key}={value!r}' for key, value in options.items())})"


def generated(case):
    """Clouds and labels: all that the generator gives."""
    generator, options = case
    make = getattr(datasets, generator)
    if generator in ("make_folds", "make_splits"):
        clouds, labels = datasets.make_orbit5k(n_per_class=20, n_points=1)
        return [np.atleast_2d(make(clouds, labels, **options))], labels
    found = make(**options)
    if generator == "sample_manifold":
        known = [found.dimension, found.reach, found.area]
        return [found.points], [*known, *found.interior.tolist()]
    data, labels = found
    if generator == "make_forest":
        return data, np.concatenate(labels)
    if generator == "make_branching_tree":  # points, and the places of forks
        return [data, labels], ["points", "forks"]
    return [data] if isinstance(data, np.ndarray) else data, labels


def facts_of(case):
    """The hash, and for machines that round otherwise how much there is and what it sums up to."""
    clouds, labels = generated(case)
    every = np.concatenate([np.ravel(cloud) for cloud in clouds]).astype(float)
    sums = [float(f"{value:.12g}") for value in (every.sum(), every @ every)]
    return {"hash": datasets.content_hash(clouds, labels), "numbers": every.size, "sums": sums}


def machine():
    """Hashes of what may be rounded otherwise elsewhere: functions of C, of NumPy, products of matrices."""
    values = np.random.default_rng(0).uniform(0.001, 6.3, (2000, 3))
    share = values / 6.3
    found = {
        "libm": [np.vectorize(f)(values) for f in (math.sin, math.cos, math.log, math.exp, math.log1p)],
        "numpy": [
            *(f(values) for f in (np.sin, np.cos, np.log)),
            *(np.arcsin(share), np.arctan2(values, share), share ** (1 / 3)),
        ],
        "blas": [values @ share[:3], values[:50] @ share[:3].T, values[:, :2] @ share[0, :2]]
        + [a @ b for a, b in zip(values[:50], share, strict=False)],
    }
    return {
        name: hashlib.sha256(b"".join(np.ascontiguousarray(one).tobytes() for one in arrays)).hexdigest()[:24]
        for name, arrays in found.items()
    }


def kept():
    """The golden file: ``machine``, and facts by the name of each case in ``cases``."""
    return json.loads(GOLDEN.read_text())
