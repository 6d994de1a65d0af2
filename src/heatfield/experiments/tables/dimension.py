"""Heat dimension beside the estimators of intrinsic dimension that people use, on known manifolds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from .._code import code_digest
from .._dimension import CONDITIONS, ESTIMATORS, MANIFOLDS, estimate, manifold
from .._grid import Cell, Grid
from .._jobs import Context, Job
from .._statistics import mean_of
from .._store import Key

REPEATS = 5
DATA = "manifolds"  # the folder of the records
MODULES = ["experiments._dimension"]


def _recipe(budget: str, condition: str) -> dict[str, Any]:
    names = MANIFOLDS[4:8] if budget == "smoke" else MANIFOLDS
    return {"points": 150 if budget == "smoke" else 1000, "condition": condition, "manifolds": list(names)}


def _key(budget: str, name: str, condition: str) -> Key:
    label = "smoke" if budget == "smoke" else "paper"
    return Key("dimension", DATA, name, _recipe(budget, condition), (None, None), label)


def _run(key: Key, _: Context, splits: list[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    recipe = key.recipe
    for split in splits:
        found = {}
        for name in recipe["manifolds"]:
            points, truth = manifold(name, recipe["points"], recipe["condition"], split)
            found[name] = [round(estimate(key.method, points), 4), truth]
        yield split, {"estimates": found, "seed": split}


def jobs(context: Context) -> list[Job]:
    """Every estimator under every condition; nothing without scikit-dimension."""
    if find_spec("skdim") is None:
        return []
    code = code_digest(MODULES)
    return [
        Job(
            key, tuple(range(2 if context.budget == "smoke" else REPEATS)), code, 10.0, partial(_run, key),
            lambda _: {"protocol": {"kind": "repeats", "count": REPEATS}},
        )
        for condition in CONDITIONS
        for name in ESTIMATORS
        if context.methods is None or name in context.methods
        for key in [_key(context.budget, name, condition)]
    ]  # fmt: skip


def grids(context: Context) -> list[Grid]:
    """Per condition the estimates, and in the last column the mean relative error over the manifolds."""
    return [_grid(context, condition) for condition in CONDITIONS]


def _grid(context: Context, condition: str) -> Grid:
    names = _recipe(context.budget, condition)["manifolds"]
    rows: list[tuple[str, list[Cell]]] = []
    truths: dict[str, int] = {}
    for estimator in ESTIMATORS:
        key = _key(context.budget, estimator, condition)
        cells = context.store.cells(key)
        if not cells:
            continue
        stale = any(cell["code"] != code_digest(MODULES) for cell in cells.values())
        about: dict[str, Any] = {"budget": key.budget, "record": key.name, "stale": stale, "digits": 2}
        row = []
        for name in names:
            row.append(Cell(mean_of({k: c["estimates"][name][0] for k, c in cells.items()}), **about))
            truths[name] = next(iter(cells.values()))["estimates"][name][1]
        errors = {
            k: float(np.mean([abs(value / truth - 1.0) for value, truth in c["estimates"].values()]))
            for k, c in cells.items()
        }
        rows.append((estimator, [*row, Cell(mean_of(errors), **about)]))
    columns = (*(f"{name} ({truths.get(name, '?')})" for name in names), "mean relative error")
    notes = [
        "The dimension of each manifold in brackets. Estimators and manifolds by scikit-dimension with its "
        "defaults; local PCA is the median over points with 50 neighbours. Heat dimension: the peak over "
        "scales of the median over points."
    ]
    title = f"Intrinsic dimension: {condition}"
    return Grid(f"dimension_{condition}", title, columns, rows, notes if rows else [])
