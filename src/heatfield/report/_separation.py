"""How well the classes are told apart, and by what: cross-validation and permutation importance."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score, confusion_matrix

from .._classifier.classifier import HFSClassifier
from .._classifier.cross_validation import cross_validate
from ._collection import Collection

_SHUFFLES = 5


@dataclass(frozen=True)
class Separation:
    """The results of cross-validation; ``reason`` where it could not be done."""

    reason: str = ""
    classes: tuple[str, ...] = ()
    rows: NDArray[np.int64] | None = None  # clouds that took part
    predicted: list[str] | None = None  # for each of them
    matrix: NDArray[np.int64] | None = None
    folds: tuple[float, ...] = ()  # mean accuracy over classes, fold by fold
    accuracy: float = float("nan")
    blocks: tuple[tuple[str, float, float], ...] = ()  # name, loss of accuracy when shuffled, its deviation
    scales: tuple[tuple[str, float, float], ...] = ()
    heads: tuple[str, ...] = ()


def separate(
    collection: Collection, folds: int, head: str, seed: int, tick: Callable[[int, int], object] | None = None
) -> Separation:
    """Cross-validate, and shuffle each block and each scale among the clouds that were held out.

    Shuffling a group of columns among held-out clouds breaks its link to the labels; what accuracy that
    costs is how much the classifier depends on the group beyond what the others also contain.
    """
    if not collection.labels:
        return Separation("The files carry no labels: put each class into a folder of its own.")
    labels = np.array(collection.labels)
    names, counts = np.unique(labels, return_counts=True)
    # Each training fold needs two clouds per class, or the head could not be chosen.
    kept = names[counts >= 3]
    if len(kept) < 2:
        return Separation("Cross-validation needs at least two classes of three clouds each.")
    rows = np.flatnonzero(np.isin(labels, kept))
    y = labels[rows]
    columns = _groups(collection)
    rng = np.random.default_rng(seed)
    predicted = np.empty_like(y)
    scores: list[float] = []
    heads: list[str] = []
    losses: dict[tuple[str, str], list[float]] = {key: [] for key in columns}
    model = HFSClassifier(
        collection.descriptor.variant,
        head=head,
        random_state=seed,
        n_scales=collection.descriptor.n_scales,
        lengths=collection.descriptor.lengths,
    )
    for fold in cross_validate(
        model, collection.features[rows], y, n_dims=collection.dims, n_splits=folds, random_state=seed
    ):
        true, X = y[fold.test], fold.features
        heads.append(fold.model.head_)
        predicted[fold.test] = fold.predicted
        whole = balanced_accuracy_score(true, fold.predicted)
        scores.append(float(whole))
        for key, chosen in columns.items():
            for _ in range(_SHUFFLES):
                broken = X.copy()
                broken[:, chosen] = broken[np.ix_(rng.permutation(len(X)), chosen)]
                shuffled = balanced_accuracy_score(true, fold.model.predict_features(broken))
                losses[key].append(whole - shuffled)
        if tick is not None:
            tick(fold.number + 1, fold.count)

    def table(kind: str) -> tuple[tuple[str, float, float], ...]:
        return tuple(
            (name, float(np.mean(losses[kind, name])), float(np.std(losses[kind, name])))
            for group, name in columns
            if group == kind
        )

    return Separation(
        classes=tuple(kept.tolist()),
        rows=rows,
        predicted=predicted.tolist(),
        matrix=confusion_matrix(y, predicted, labels=kept),
        folds=tuple(scores),
        accuracy=float((predicted == y).mean()),
        blocks=table("block"),
        scales=table("scale"),
        heads=tuple(heads),
    )


def _groups(collection: Collection) -> dict[tuple[str, str], NDArray[np.int64]]:
    """Columns of each block and of each scale; a column of two scales belongs to both."""
    layout = collection.descriptor.layout()
    groups = {("block", block): np.arange(layout.width)[place] for block, place in layout.columns.items()}
    for a in range(collection.steps):
        own = [i for i, name in enumerate(layout.names) if re.search(rf"_s{a}(_|$)", name)]
        groups["scale", collection.scale_name(a)] = np.array(own)
    return groups
