"""`HFSPointClassifier`: a label for every point of a cloud."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from .._base.check import Array, as_points, thread_count
from .._base.progress import progress_bar
from ..core.clouds import ArrangedCloud
from ..features.descriptor import CloudEstimator, check_same_dims
from ..io import Cloud, columns_of, with_files_read
from ..options import PointTraining, Threads, check_options, options
from .features_at_lengths import SCHEMA, Features, PointFeatureSettings, features_at_lengths
from .heads import Tensors, Trees
from .read_out import checked_labels
from .saving import load_estimator, save_estimator

Columns = Mapping[str, Any]

_BINS = 256  # of a feature, one of them for gaps
_LARGEST = float(np.finfo(np.float32).max)
_LONG = 3e8  # numbers that all iterations of a fit look at, in about ten seconds
_PARTS = 5  # of a long fit; each takes some seconds more
_STEPS = 6  # lengths that are proposed
_FINEST, _WIDEST, _SHARE = 1.5, 40.0, 1 / 8  # over the spacing, over the finest, of the diameter


@options
class HFSPointClassifier(PointTraining, Threads, ClassifierMixin, CloudEstimator):
    """Label every point of a cloud by its heat field signatures at lengths that all clouds share.

    Guide: ``heatfield docs guide/points``.

    Parameters
    ----------
    lengths : sequence of float, optional
        Lengths sqrt(t) in the unit of the points, at least two. By default six: the finest is 1.5 times the
        mean distance to the nearest point, the coarsest 40 times that, or an eighth of the diameter where
        that is less (medians over the training clouds).
    {options}

    Attributes
    ----------
    classes_ : the labels
    settings_ : which features, at which lengths
    trees_ : what histogram gradient boosting has grown, as plain arrays
    notes_ : dict of what is saved with the model

    Notes
    -----
    Files are read with ``nodes=True``: labels belong to the nodes of skeletons and the vertices of meshes.

    Examples
    --------
    >>> import heatfield as hf
    >>> clouds, labels = hf.datasets.make_forest(2, n_points=3000, random_state=0)
    >>> model = hf.HFSPointClassifier(lengths=[0.2, 0.5, 1.0], iterations=20).fit(clouds[:1], labels[:1])
    >>> found = model.predict(clouds[1:])[0]
    >>> found.shape, bool((found == labels[1]).mean() > 0.6)
    ((3000,), True)
    >>> model.predict_proba(clouds[1:])[0].shape, model.score(clouds[1:], labels[1:]) > 0.3
    ((3000, 5), True)
    >>> rows = model.features(clouds[1], model.settings_)
    >>> bool((model.predict_proba_features(rows) == model.predict_proba(clouds[1:])[0]).all())
    True
    >>> again = hf.HFSPointClassifier(iterations=5).fit_features(rows, labels[1], model.settings_for(clouds))
    >>> [block for block, _ in again.feature_groups(model.settings_)][:2]
    ['density', 'dimension']
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     model.save(f"{place}/forest")
    ...     hf.HFSPointClassifier.load(f"{place}/forest").classes_.tolist()
    [0, 1, 2, 3, 4]
    """

    @property
    def validation_(self) -> dict[str, Any] | None:
        """Scores on files that were held out, of a model by `train_points`; else None."""
        return getattr(self, "notes_", {}).get("validation")

    @property
    def errors(self) -> list[Any]:
        """Files that `train_points` could not use: ``file``, ``place`` and ``problem``."""
        return getattr(self, "errors_", [])

    def fit(
        self,
        clouds: Sequence[Any],
        labels: Sequence[Any],
        *,
        columns: Sequence[Columns] | None = None,
        ignore: Sequence[Any] = (),
    ) -> Self:
        """Learn from clouds and the labels of their points.

        Parameters
        ----------
        clouds : sequence of (m_i, n) arrays, of paths, of tables with x, y, z, or of `Cloud`
            All but arrays bring their columns.
        labels : sequence of (m_i,) arrays
        columns : sequence of mappings, optional
            Columns of each cloud, as the option ``columns`` names them.
        ignore : sequence of labels
            Points without a label that counts, such as LAS classes 0 and 1.

        Returns
        -------
        self : HFSPointClassifier
        """
        checked = check_options(self)
        points, found = unpacked(clouds, columns)
        own = labels_of_points(labels, points, ignore)
        settings = self.settings_for(points)
        classes = np.unique(np.concatenate([one[known(one, ignore)] for one in own]))
        rows = balanced_rows(own, classes, checked["points_per_class"], checked["random_state"])
        tables = [
            self.features(points[i], settings, found[i], rows[i])
            for i in progress_bar(range(len(points)), unit="clouds")
        ]
        y = np.concatenate([one[chosen] for one, chosen in zip(own, rows, strict=True)])
        return self.fit_features(np.concatenate(tables), y, settings)

    def settings_for(self, points: Sequence[Array]) -> PointFeatureSettings:
        """Which features: the options, with lengths from the clouds where none were given.

        Parameters
        ----------
        points : list of (m_i, n) arrays
            The training clouds.

        Returns
        -------
        settings : PointFeatureSettings
        """
        lengths = self.lengths
        if lengths is None:
            lengths = propose_lengths([extent_of(cloud, thread_count(self.n_jobs)) for cloud in points])
        others: dict[str, Any] = {name: getattr(self, name) for name in ("blocks", "columns", "cell", "tol")}
        return PointFeatureSettings(points[0].shape[1], tuple(lengths), **others)

    def features(
        self,
        points: Array,
        settings: PointFeatureSettings,
        columns: Columns | None = None,
        rows: NDArray[np.int64] | None = None,
    ) -> Features:
        """Features (q, F) at the chosen points of one cloud, None for all.

        Parameters
        ----------
        points : (m, n)
        settings : PointFeatureSettings
            By `settings_for`, or ``settings_`` of a fitted classifier.
        columns : mapping of str to (m,) array, optional
            Where the settings name columns.
        rows : (q,) int, optional

        Returns
        -------
        features : (q, F) float32
        """
        return features_at_lengths(points, settings, columns, rows, thread_count(self.n_jobs))

    def feature_groups(self, settings: PointFeatureSettings) -> list[tuple[str, list[str]]]:
        """Each block with the names of its columns.

        Parameters
        ----------
        settings : PointFeatureSettings

        Returns
        -------
        groups : list of (block, names)
        """
        return settings.columns_of_blocks()

    def fit_features(self, features: Features, labels: Any, settings: PointFeatureSettings) -> Self:
        """Learn from features that were computed before.

        Parameters
        ----------
        features : (N, F)
        labels : (N,)
        settings : PointFeatureSettings
            What the features were computed with.

        Returns
        -------
        self : HFSPointClassifier
        """
        checked = check_options(self)
        self._forget()
        y = np.asarray(labels)
        if len(np.unique(y)) < 2:
            raise ValueError(f"labels must hold at least two classes, got only {np.unique(y).tolist()}")
        # OpenMP takes all cores unasked, and threads that wait for each other on a busy machine waste hours.
        with threadpool_limits(thread_count(self.n_jobs), user_api="openmp"):
            self.trees_, self.classes_ = _boosted(features, y, checked)
        self.settings_ = settings
        self.notes_: dict[str, Any] = {}
        return self

    def predict_proba_features(self, features: Features) -> Array:
        """The probability of each class (N, classes) from features.

        Parameters
        ----------
        features : (N, F)

        Returns
        -------
        probabilities : (N, classes)
        """
        check_is_fitted(self, "classes_")
        return self.trees_.probabilities(features, thread_count(self.n_jobs))

    def predict_proba(
        self, clouds: Sequence[Any], *, columns: Sequence[Columns] | None = None
    ) -> list[Array]:
        """The probability of each class for every point.

        Parameters
        ----------
        clouds : sequence of (m_i, n) arrays, of paths, of tables with x, y, z, or of `Cloud`
        columns : sequence of mappings, optional
            As of `fit`.

        Returns
        -------
        probabilities : list of (m_i, classes) arrays
            Columns as in ``classes_``.
        """
        check_is_fitted(self, "classes_")
        points, found = unpacked(clouds, columns)
        check_same_dims(points, self.settings_.n_dims, "the classifier")
        return [
            self.predict_proba_features(self.features(cloud, self.settings_, own))
            if len(cloud)
            else np.empty((0, len(self.classes_)))
            for cloud, own in zip(points, found, strict=True)
        ]

    def predict(self, clouds: Sequence[Any], *, columns: Sequence[Columns] | None = None) -> list[NDArray]:
        """The label of every point.

        Parameters
        ----------
        clouds, columns : as of `predict_proba`

        Returns
        -------
        labels : list of (m_i,) arrays
        """
        return [
            self.classes_[shares.argmax(axis=1)] for shares in self.predict_proba(clouds, columns=columns)
        ]

    def score(self, clouds: Sequence[Any], labels: Sequence[Any], sample_weight: Any = None) -> float:  # noqa: ARG002
        """Mean intersection over union of the classes, over the points of all clouds.

        A class that was not learnt is never found: its share is 0.

        Parameters
        ----------
        clouds : sequence of (m_i, n) arrays, or of `Cloud`
        labels : sequence of (m_i,) arrays
        sample_weight : ignored

        Returns
        -------
        iou : float
        """
        found = np.concatenate(self.predict(clouds))
        true = np.concatenate([np.asarray(own) for own in labels])
        return mean_iou(confusion(true, found, np.union1d(self.classes_, true)))

    def save(self, folder: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the model to a folder: numbers as safetensors, the rest as JSON.

        Parameters
        ----------
        folder : path-like
        notes : mapping, optional
            Kept with the model, as JSON; by default ``notes_``.
        """
        check_is_fitted(self, "classes_")
        kept = self.notes_ if notes is None else notes
        metadata = {"features": self.settings_.metadata()}
        save_estimator(self, folder, kept, metadata, self.trees_.tensors(), schema=SCHEMA)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """A model that `save` wrote. No code is run; a changed or mismatched file is a `ReadError`.

        Parameters
        ----------
        folder : path-like

        Returns
        -------
        model : HFSPointClassifier
        """
        return load_estimator(cls, folder, cls._unpack, schema=SCHEMA)

    def _unpack(self, metadata: dict[str, Any], tensors: Tensors) -> None:
        self.settings_ = PointFeatureSettings(**metadata["features"])
        self.trees_ = Trees.loaded(tensors, len(self.settings_.names), len(self.classes_))


def _boosted(features: Features, y: NDArray, checked: Mapping[str, Any]) -> tuple[Trees, NDArray]:
    """Grow trees; the classes too. Those of a long fit grow in parts, so that a bar moves: the same bits.

    Features are binned here: with weights scikit-learn takes far longer to find bins than to grow trees.
    """
    weights = compute_sample_weight(checked["class_weight"], y)
    codes = np.zeros_like(features)
    edges = np.full((features.shape[1], _BINS), np.inf)
    for column in range(features.shape[1]):
        own = features[:, column]
        known = ~np.isnan(own)
        if known.any():  # a feature without any number stays a constant, which is never asked for
            found = _bin_edges(own[known], weights[known])
            edges[column, : len(found)] = found
            codes[:, column] = np.where(known, np.searchsorted(found, own), np.nan)
    count = checked["iterations"]
    step = math.ceil(count / _PARTS) if features.size * count > _LONG else count
    model = HistGradientBoostingClassifier(
        early_stopping=False, random_state=checked["random_state"], warm_start=True
    )
    with progress_bar(total=count, unit="iterations") as bar:
        for first in range(0, count, step):
            last = min(first + step, count)
            model.set_params(max_iter=last).fit(codes, y, sample_weight=weights)
            bar.update(last - first)
    trees = Trees.of(model, codes)
    # A code is at most k + 1/2 where the feature is at most its edge k; infinite: only gaps go elsewhere.
    at = np.where((trees.left >= 0) & np.isfinite(trees.threshold), trees.threshold, _BINS - 1)
    return replace(trees, threshold=edges[trees.feature, at.astype(np.int64)]), model.classes_


def _bin_edges(values: Features, weights: Array) -> Array:
    """What divides numbers into at most 255 bins of equal weight, or one for each of them."""
    order = np.argsort(values, kind="stable")
    ordered: Array = np.clip(values[order], -_LARGEST, _LARGEST).astype(np.float64)
    distinct: Array = np.unique(ordered)
    if len(distinct) < _BINS:
        return 0.5 * (distinct[1:] + distinct[:-1])
    share = np.cumsum(weights[order])
    return np.unique(ordered[np.searchsorted(share, share[-1] * np.arange(1, _BINS - 1) / (_BINS - 1))])


# --- what is learnt from -------------------------------------------------------------


def unpacked(clouds: Any, columns: Sequence[Columns] | None = None) -> tuple[list[Array], list[Columns]]:
    """Points and columns of each cloud; files, tables and what `read_cloud` returned bring their columns."""
    clouds, _ = with_files_read(clouds, nodes=True)
    if hasattr(clouds, "points") or getattr(clouds, "ndim", 0) == 2 or not hasattr(clouds, "__len__"):
        raise ValueError(f"clouds must be a list of clouds, got one {type(clouds).__name__}; pass [cloud]")
    points = [
        as_points(cloud.points if isinstance(cloud, Cloud) else cloud, f"clouds[{i}]")
        for i, cloud in enumerate(clouds)
    ]
    found: list[Columns] = [columns_of(cloud) for cloud in clouds]
    if columns is not None:
        if len(columns) != len(points):
            raise ValueError(f"columns must hold one mapping per cloud, got {len(columns)} for {len(points)}")
        found = [{**own, **given} for own, given in zip(found, columns, strict=True)]
    if not points:
        raise ValueError("clouds is empty: at least one cloud is needed")
    for i, own in enumerate(points):
        if own.shape[1] != points[0].shape[1]:
            raise ValueError(
                f"clouds[{i}] has {own.shape[1]} coordinates per point, clouds[0] has {points[0].shape[1]}"
            )
    return points, found


def labels_of_points(labels: Any, points: Sequence[Array], ignore: Sequence[Any]) -> list[NDArray]:
    """One array of labels per cloud, all words or all numbers, of two classes or more besides the ignored."""
    labels = labels if hasattr(labels, "__len__") else list(labels)
    if len(labels) != len(points):
        raise ValueError(f"labels must hold one array per cloud, got {len(labels)} for {len(points)} clouds")
    found = [np.asarray(own) for own in labels]
    for i, (own, cloud) in enumerate(zip(found, points, strict=True)):
        if own.shape != (len(cloud),):
            raise ValueError(f"labels[{i}] must hold {len(cloud)} labels, got shape {own.shape}")
        if own.dtype.kind == "f" and not np.isfinite(own).all():
            row = int(np.argmin(np.isfinite(own)))
            raise ValueError(f"labels[{i}] has {own[row]} in row {row}; name labels to ignore instead")
    every = np.concatenate([own.astype(object) if own.dtype.kind == "O" else own for own in found])
    kept = every[known(every, ignore)]
    if len(kept) == 0:
        raise ValueError(f"every label is ignored: {list(ignore)!r}")
    dtype = checked_labels(kept).dtype
    return [own if own.dtype.kind != "O" else np.array(own.tolist(), dtype=dtype) for own in found]


def known(labels: NDArray, ignore: Sequence[Any]) -> NDArray[np.bool_]:
    """Which labels count."""
    out = np.ones(len(labels), bool)
    for value in ignore:
        if (labels.dtype.kind == "U") == isinstance(value, str):
            out &= labels != value
    return out


def balanced_rows(
    labels: Sequence[NDArray], classes: NDArray, per_class: int, seed: int | None
) -> list[NDArray[np.int64]]:
    """At most ``per_class`` points of every class over all clouds, drawn evenly from them, sorted.

    A cloud that has fewer of a class than its share leaves the rest to the others.
    """
    rng = np.random.default_rng(seed)
    chosen: list[list[NDArray[np.int64]]] = [[] for _ in labels]
    for label in classes:
        found = [np.flatnonzero(np.asarray(own) == label) for own in labels]
        left = per_class
        # The smallest first, so that what they leave is known.
        order = sorted(range(len(labels)), key=lambda i: (len(found[i]), i))
        for done, i in enumerate(order):
            take = min(len(found[i]), left // (len(labels) - done))
            chosen[i].append(rng.choice(found[i], take, replace=False) if take < len(found[i]) else found[i])
            left -= take
    return [np.sort(np.concatenate(parts)).astype(np.int64) for parts in chosen]


def extent_of(points: Array, n_threads: int = 1) -> tuple[float, float]:
    """Mean distance to the nearest other point, and diameter, both without isolated points.

    NaN of a cloud without two distinct points.
    """
    if len(points) < 2:
        return np.nan, np.nan
    arranged = ArrangedCloud.of(points, n_threads, drop=True)
    return (arranged.spacing, arranged.diameter) if arranged.spacing > 0.0 else (np.nan, np.nan)


def propose_lengths(extents: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    """Six lengths for clouds of one kind, of two digits each, with equal ratios, by their `extent_of`.

    The finest is 1.5 times the middle of the clouds' mean distances to the nearest neighbour, the coarsest 40
    times that, or an eighth of the middle diameter where that is less.

    Examples
    --------
    >>> grid = np.stack(np.meshgrid(np.arange(30.0), np.arange(30.0)), axis=-1).reshape(-1, 2)
    >>> propose_lengths([extent_of(grid)])
    (1.5, 1.9, 2.5, 3.1, 4.0, 5.1)
    """
    found = np.array(extents, dtype=float).reshape(-1, 2)
    found = found[np.isfinite(found).all(axis=1)]
    if not len(found):
        raise ValueError("no cloud has two distinct points: there are no lengths to propose; give lengths")
    spacing, diameter = np.median(found, axis=0).tolist()
    low = _FINEST * spacing
    high = max(min(_WIDEST * low, _SHARE * diameter), 1.5 * low)
    lengths = np.geomspace(low, high, _STEPS)
    short = tuple(float(f"{v:.2g}") for v in lengths)
    return short if (np.diff(short) > 0).all() else tuple(lengths.tolist())


# --- how well points are labelled ------------------------------------------------------


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
