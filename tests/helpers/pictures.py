"""The pictures that are kept, each with a deliberate change, and how two are compared.

``python -m tools.write_golden pictures`` writes them again.
"""

from pathlib import Path

import numpy as np

import heatfield as hf

GOLDEN = Path(__file__).parents[1] / "golden" / "pictures.npz"
# A picture is compared as blocks of means, so that a letter drawn by another version of matplotlib
# does not matter, and a curve, a colour or a panel does.
BLOCKS = (40, 56)
MEAN_GAP, LARGEST_GAP = 0.4, 16.0  # of 255


def cloud(n, change=False):
    """A fork in the plane, or a mixed shape in space."""
    if n == 3:
        points, _ = hf.datasets.make_mixed_shape(500, random_state=1)
        return points * [1, 1, 3] if change else points
    rng = np.random.default_rng(0)
    arm = rng.uniform(size=(150, 1))
    arms = [arm * [np.cos(a), np.sin(a)] for a in ((0.5, 2.6, 4.7) if not change else (0.5, 4.7))]
    return np.concatenate(arms) + 0.01 * rng.normal(size=(150 * len(arms), 2))


def shares(change):
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.ones(3), size=(12, 8))
    return table[:, ::-1] if change else table


def curves(change):
    table = np.cumsum(np.random.default_rng(0).uniform(size=(12, 8)), axis=1)
    table[::2] += 1.0
    return table[::-1] if change else table


def pattern(change):
    """A test of a clustered pattern; with the change, of a random one."""
    rng = np.random.default_rng(0)
    parents = rng.uniform(0.1, 0.9, size=(12, 2))
    points = (parents[:, None] + 0.03 * rng.normal(size=(12, 8, 2))).reshape(-1, 2)
    if change:
        points = rng.uniform(size=(96, 2))
    return hf.patterns.envelope_test(points, hf.patterns.Box([0, 0], [1, 1]), simulations=99)


# Each takes change=False or True. A change is what a mistake would look like: swapped classes, rows for
# columns, scales the wrong way round, a missing part of the cloud.
PICTURES = {
    "heat_landscape": lambda c: hf.plot.heat_landscape(cloud(2, c), [0.0004, 0.02], resolution=40),
    "local_signatures": lambda c: hf.plot.local_signatures(
        cloud(2), hf.signatures(cloud(2)), [4, 2] if c else [2, 4]
    ),
    "local_signatures_3d": lambda c: hf.plot.local_signatures(
        cloud(3, c), hf.signatures(cloud(3, c)), [2, 4]
    ),
    "dimension_over_scales": lambda c: hf.plot.dimension_over_scales(
        cloud(2), hf.signatures(cloud(2)), scales=[4, 3, 2] if c else [2, 3, 4]
    ),
    "dimension_spectrum": lambda c: hf.plot.dimension_spectrum(hf.signatures(cloud(2 if c else 3))),
    "global_curves": lambda c: hf.plot.global_curves(
        [hf.signatures(cloud(2, k)) for k in ([0, 1], [1, 0])[c]]
    ),
    "spectra_by_class": lambda c: hf.plot.spectra_by_class(shares(c), ["a", "b"] * 6),
    "class_curves": lambda c: hf.plot.class_curves(
        curves(c), ["a", "b"] * 6, ylabel="value", title="classes"
    ),
    "confusion_matrix": lambda c: hf.plot.confusion_matrix(
        np.array([[8, 1, 1], [4, 5, 1], [0, 0, 10]])[:, [1, 0, 2] if c else [0, 1, 2]], ["a", "b", "c"]
    ),
    "accuracy_by_scales": lambda c: hf.plot.accuracy_by_scales(
        [2, 4, 8],
        {"desc": [[0.7, 0.72], [0.8, 0.84], [0.9, 0.9]][:: -1 if c else 1], "simple": [0.6, 0.7, 0.72]},
        chance=0.2,
    ),
    "pattern_envelope": lambda c: hf.plot.pattern_envelope(pattern(c)),
    "pipeline": lambda c: hf.plot.pipeline(cloud(3, c), title="a mixed shape"),
}


def render(axes):
    """The figure as an array (height, width, 3) of bytes."""
    figure = np.atleast_1d(np.asarray(axes, dtype=object)).flat[0].figure
    figure.set_dpi(60)
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[:, :, :3]


def blocks(image):
    """Means over a grid of blocks."""
    rows = np.array_split(np.arange(image.shape[0]), BLOCKS[0])
    columns = np.array_split(np.arange(image.shape[1]), BLOCKS[1])
    lines = np.stack([image[r].mean(axis=0) for r in rows])
    return np.stack([lines[:, c].mean(axis=1) for c in columns], axis=1).round().astype(np.uint8)


def gaps(one, other):
    """Mean and 99.5th percentile of the difference between two pictures in blocks."""
    difference = np.abs(one.astype(float) - other.astype(float))
    return difference.mean(), np.percentile(difference, 99.5)


def alike(one, other):
    mean, largest = gaps(one, other)
    return mean < MEAN_GAP and largest < LARGEST_GAP
