"""How well points are labelled: confusion, intersection over union, what each group of features is worth."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array
from .features_at_lengths import Features


def confusion(true: NDArray, found: NDArray, classes: NDArray) -> NDArray[np.int64]:
    """Points of each class (rows) by the label that they got (columns); a ValueError for other labels."""
    k = len(classes)
    for name, labels in (("true", true), ("found", found)):
        others = np.setdiff1d(labels, classes)
        if len(others):
            raise ValueError(f"{name} labels must be among {classes.tolist()}, got {others.tolist()[0]!r}")
    rows, columns = np.searchsorted(classes, true), np.searchsorted(classes, found)
    return np.bincount(rows * k + columns, minlength=k * k).reshape(k, k)


def iou(matrix: NDArray[np.int64]) -> Array:
    """Intersection over union of each class; NaN of one that neither occurs nor is predicted."""
    both = matrix.diagonal().astype(float)
    either = matrix.sum(axis=0) + matrix.sum(axis=1) - both
    return np.divide(both, either, out=np.full(len(both), np.nan), where=either > 0)


def mean_iou(matrix: NDArray[np.int64]) -> float:
    """Mean over the classes that occur.

    Examples
    --------
    >>> mean_iou(np.array([[8, 2], [0, 10]]))
    0.8166666666666667
    """
    values = iou(matrix)
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def scores_of(matrix: NDArray[np.int64], classes: NDArray) -> dict[str, Any]:
    """All scores of a confusion matrix, as JSON values."""
    names = [str(name) for name in classes.tolist()]
    true, found, both = matrix.sum(axis=1), matrix.sum(axis=0), matrix.diagonal()

    def by_class(part: NDArray, whole: NDArray) -> dict[str, float | None]:
        return {n: float(a / b) if b else None for n, a, b in zip(names, part, whole, strict=True)}

    return {
        "classes": names,
        "points": int(matrix.sum()),
        "accuracy": float(both.sum() / matrix.sum()) if matrix.sum() else None,
        "mean_IoU": mean_iou(matrix),
        "IoU": by_class(both, true + found - both),
        "recall": by_class(both, true),
        "precision": by_class(both, found),
        "confusion": matrix.tolist(),
    }


def groups_of(
    blocks: Sequence[tuple[str, list[str]]], lengths: Sequence[float]
) -> dict[tuple[str, str], NDArray[np.int64]]:
    """Columns of each block and of each length; a column of two lengths belongs to both."""
    names = [name for _, own in blocks for name in own]
    groups: dict[tuple[str, str], NDArray[np.int64]] = {}
    place = 0
    for block, own in blocks:
        groups["block", block] = np.arange(place, place + len(own))
        place += len(own)
    for a, length in enumerate(lengths):
        mine = [i for i, name in enumerate(names) if re.search(rf"_s{a}(_|$)", name)]
        groups["length", f"{length:g}"] = np.array(mine, dtype=np.int64)
    finer = [i for i, name in enumerate(names) if name.endswith("_fine")]
    if finer:
        groups["length", "finer"] = np.array(finer, dtype=np.int64)
    return groups


def importance(
    predict: Callable[[Features], NDArray],
    features: Features,
    true: NDArray,
    groups: Mapping[tuple[str, str], NDArray[np.int64]],
    *,
    classes: NDArray,
    seed: int = 0,
) -> dict[tuple[str, str], float]:
    """What mean IoU is lost when the columns of a group are shuffled among the points, group by group."""
    rng = np.random.default_rng(seed)
    whole = mean_iou(confusion(true, predict(features), classes))
    out = {}
    for key, columns in groups.items():
        broken = features.copy()
        broken[:, columns] = features[np.ix_(rng.permutation(len(features)), columns)]
        out[key] = whole - mean_iou(confusion(true, predict(broken), classes))
    return out


def scores_as_text(found: dict[str, Any]) -> str:
    """Confusion matrix, IoU, and the groups of features worth most."""
    names = found["classes"]
    width = max(9, *(len(name) + 1 for name in names))
    lines = [
        f"mean IoU {100 * found['mean_IoU']:.1f} %, accuracy {100 * found['accuracy']:.1f} % "
        f"of {found['points']:,} points of files that were held out",
        "true \\ found".ljust(14) + "".join(name[: width - 1].rjust(width) for name in names) + "     IoU",
    ]
    for name, row in zip(names, found["confusion"], strict=True):
        share = found["IoU"][name]
        lines.append(
            name[:13].ljust(14) + "".join(str(v).rjust(width) for v in row)
            + ("       -" if share is None else f"{100 * share:7.1f}%")
        )  # fmt: skip
    for kind in ("block", "length"):
        best = sorted(found[f"importance_by_{kind}"].items(), key=lambda item: -item[1])[:4]
        worth = ", ".join(f"{name} {100 * v:.1f}" for name, v in best)
        lines.append(f"mean IoU lost where a {kind} is shuffled: {worth}")
    return "\n".join(lines)
