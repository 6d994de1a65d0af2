"""Heat dimension beside the estimators of intrinsic dimension that people use, on known manifolds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.random import Generator

from heatfield import scale_schedule
from heatfield._base.check import Array

from .._grid import Cell, Grid, mean_of, noted
from .._jobs import Context, Job
from .._results import Key
from .._tools import need
from .accuracy import Table

# Of the benchmark of scikit-dimension: up to ten dimensions, so that a thousand points can show them.
MANIFOLDS = (
    "M1_Sphere", "M2_Affine_3to5", "M3_Nonlinear_4to6", "M4_Nonlinear", "M5a_Helix1d", "M5b_Helix2d",
    "M6_Nonlinear", "M7_Roll", "M10a_Cubic", "M11_Moebius", "M13a_Scurve", "M13b_Spiral", "Mbeta",
    "Mp1_Paraboloid", "Mp2_Paraboloid", "Mp3_Paraboloid",
)  # fmt: skip
CONDITIONS = ("clean", "noise", "density")
NOISE = 0.02  # of the root mean square radius
SCALES = 24
ENOUGH = 8.0  # heat that the other points bring to half of the points, in units of a point's own
ESTIMATORS = ("heat dimension", "TwoNN", "local PCA", "correlation", "MLE")
REPEATS = 5
NOTES = (
    "The dimension of each manifold in brackets. Estimators and manifolds by scikit-dimension with its "
    "defaults; local PCA is the median over points with 50 neighbours. Heat dimension: the peak over "
    "scales of the median over points.",
)
DATA = "manifolds"  # the folder of the records


def _recipe(budget: str, condition: str) -> dict[str, Any]:
    names = MANIFOLDS[4:8] if budget == "smoke" else MANIFOLDS
    return {"points": 150 if budget == "smoke" else 1000, "condition": condition, "manifolds": list(names)}


def _key(budget: str, name: str, condition: str) -> Key:
    label = "smoke" if budget == "smoke" else "paper"
    return Key("dimension", DATA, name, _recipe(budget, condition), (None, None), label, "dimension")


def _run(key: Key, _: Context, splits: list[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    recipe = key.recipe
    for split in splits:
        found = {}
        for name in recipe["manifolds"]:
            points, truth = manifold(name, recipe["points"], recipe["condition"], split)
            found[name] = [round(estimate(key.method, points), 4), truth]
        yield split, {"estimates": found, "seed": split}


def _metadata(_: Context) -> dict[str, Any]:
    return {"protocol": {"kind": "repeats", "count": REPEATS}}


class Dimension(Table):
    """Every estimator under every condition."""

    name, title = "dimension", "Intrinsic dimension"

    def jobs(self, context: Context) -> list[Job]:
        """Nothing without scikit-dimension."""
        if find_spec("skdim") is None:
            return []
        repeats = tuple(range(2 if context.budget == "smoke" else REPEATS))
        keys = [
            _key(context.budget, name, condition)
            for condition in CONDITIONS
            for name in ESTIMATORS
            if context.methods is None or name in context.methods
        ]
        return [Job(key, repeats, 10.0, partial(_run, key), _metadata) for key in keys]

    def grids(self, context: Context) -> list[Grid]:
        """Per condition the estimates, and in the last column the mean relative error over the manifolds."""
        return noted([self.grid(context, condition) for condition in CONDITIONS], NOTES)

    def grid(self, context: Context, condition: str) -> Grid:
        """Of a condition."""
        names = _recipe(context.budget, condition)["manifolds"]
        rows: list[tuple[str, list[Cell]]] = []
        truths: dict[str, int] = {}
        for estimator in ESTIMATORS:
            record = context.store.read(_key(context.budget, estimator, condition))
            if record is None:
                continue
            found = {k: cell["estimates"] for k, cell in record.cells.items()}
            truths = {name: truth for name, (_, truth) in next(iter(found.values())).items()}
            row = [Cell(mean_of({k: own[n][0] for k, own in found.items()}), digits=2) for n in names]
            errors = {
                k: float(np.mean([abs(value / truth - 1.0) for value, truth in own.values()]))
                for k, own in found.items()
            }
            rows.append((estimator, [*row, Cell(mean_of(errors), digits=2)]))
        columns = (*(f"{name} ({truths.get(name, '?')})" for name in names), "mean relative error")
        title = f"{self.title}: {condition}"
        return Grid(f"dimension_{condition}", title, columns, rows, source="dimension.jsonl")


def skdim() -> Any:
    """The library of estimators and manifolds."""
    what = "The comparison of intrinsic dimensions"
    return need("skdim", what, "dimension", name="scikit-dimension")


def manifold(name: str, count: int, condition: str, seed: int) -> tuple[Array, int]:
    """Points of a benchmark manifold and its dimension.

    With ``noise`` every coordinate gets a Gaussian; with ``density`` points are kept with a probability that
    falls by e**-3 from one end of the longest axis to the other.
    """
    benchmark = skdim().datasets.BenchmarkManifolds(random_state=seed)
    rng = np.random.default_rng([seed, len(name)])
    truth, dims = (int(benchmark.truth.loc[name, c]) for c in ("Intrinsic Dimension", "Number of variables"))
    more = 6 if condition == "density" else 1
    drawn = np.asarray(benchmark.generate(name=name, n=more * count, dim=dims, d=truth))
    if condition == "noise":
        size = np.sqrt(((drawn - drawn.mean(axis=0)) ** 2).sum(axis=1).mean())
        drawn = drawn + NOISE * size / np.sqrt(drawn.shape[1]) * rng.normal(size=drawn.shape)
    if condition == "density":
        drawn = _thinned(drawn, count, rng)
    return drawn, truth


def _thinned(points: Array, count: int, rng: Generator) -> Array:
    centred = points - points.mean(axis=0)
    along = centred @ np.linalg.svd(centred, full_matrices=False)[2][0]
    place = (along - along.min()) / np.ptp(along)
    # The largest keys are a draw by weight e**(-3 place) without replacement (Efraimidis and Spirakis).
    keys = rng.uniform(size=len(points)) ** np.exp(3.0 * place)
    return points[np.sort(np.argsort(keys)[-count:])]


def heat_dimension(points: Array) -> float:
    """The peak over scales of the median heat dimension, where its change with scale vanishes.

    Only scales count at which half of the points have a neighbourhood: the others bring at least
    `ENOUGH` times a point's own heat to it. The point's own term, which lowers the value, is taken out.

    Examples
    --------
    >>> import heatfield as hf
    >>> sphere = hf.datasets.sample_manifold("sphere", 800, random_state=0)
    >>> abs(heat_dimension(sphere.points) - 2) < 0.1
    True
    """
    squares = _squares(points)
    best = float("nan")
    for t in scale_schedule(points, SCALES):
        weights = np.exp(-squares / (4.0 * t))
        others = weights.sum(axis=1) - 1.0
        if np.median(others) < ENOUGH:
            continue
        known = others > 1e-9  # a point far from all others has no dimension at this scale
        value = float(np.median((squares * weights).sum(axis=1)[known] / (2.0 * t * others[known])))
        best = value if np.isnan(best) else max(best, value)
    return best


def _squares(points: Array) -> Array:
    """Squared distances, by differences."""
    out = np.zeros((len(points), len(points)))
    for axis in points.T:
        out += np.subtract.outer(axis, axis) ** 2
    return out


def estimate(name: str, points: Array) -> float:
    """The dimension by an estimator of `ESTIMATORS`, with the defaults of scikit-dimension."""
    if name == "heat dimension":
        return heat_dimension(points)
    library = skdim().id
    if name == "local PCA":
        with np.errstate(divide="ignore", invalid="ignore"):  # where a direction has no variance at all
            found = library.lPCA().fit_pw(points, n_neighbors=min(50, len(points) - 1), n_jobs=1)
        return float(np.median(found.dimension_pw_))
    kind = {"TwoNN": library.TwoNN, "correlation": library.CorrInt, "MLE": library.MLE}[name]
    return float(kind().fit(points).dimension_)
