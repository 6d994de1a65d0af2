"""What a report is about: described clouds, where they lie on a map, and how well classes are told apart."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.metrics import balanced_accuracy_score, confusion_matrix
from sklearn.neighbors import NearestNeighbors

from .._base.check import Array
from .._base.optional import need
from .._base.progress import progress_bar
from ..features.descriptor import HFSDescriptor
from ..models.classifier import HFSClassifier
from ..models.read_out import new_scaler, split_folds
from ..options import Features, Head, Report, takes, values_of

# Neighbours are sought among the principal components that hold 95 % of the variance.
_VARIANCE = 0.95
_OUTLYING = 3.5  # deviations from the median, in units of the median deviation times 1.4826
_SHUFFLES = 5  # of each block and each scale, in each fold


@dataclass(frozen=True)
class Collection:
    """Described clouds."""

    name: str
    files: list[str]  # names of the N clouds
    points: NDArray[np.int64]  # (N,): by how many points each was described
    features: Array  # (N, columns)
    descriptor: HFSDescriptor  # what computed the features
    dims: int
    labels: list[str] | None
    sketches: list[Array]  # (k, 2) each: a few points in the plane, for thumbnails
    broken: list[tuple[str, str, str]] = field(default_factory=list)  # file, place, problem
    lengths: Array | None = None  # (N, T): sqrt(t) of the scales
    unit: str = ""
    groups: list[str] | None = None  # clouds of one are never on both sides of a cross-validation

    @property
    def classes(self) -> list[str]:
        """Class names in order; one nameless class without labels."""
        return sorted(set(self.labels)) if self.labels else []

    @property
    def steps(self) -> int:
        """The number of scales."""
        lengths = self.descriptor.lengths
        return self.descriptor.n_scales if lengths is None else len(lengths)

    def scale_name(self, a: int) -> str:
        """``s3, √t = 0.2 m``: index and length, the median where clouds have their own."""
        table = self.length_table()
        if table is None:
            return f"s{a}"
        shown = float(np.nanmedian(table[:, a]))
        return f"s{a}, √t = {shown:.3g}" + (f" {self.unit}" if self.unit else "")

    def length_table(self) -> Array | None:
        """Lengths (N, T), or (1, T) where all clouds have the same; None where they are not known."""
        if self.descriptor.lengths is not None:
            return np.atleast_2d(np.asarray(self.descriptor.lengths, dtype=float))
        if self.lengths is None or not np.isfinite(self.lengths).all(axis=1).any():
            return None
        return self.lengths

    def length_words(self) -> str:
        """The lengths of all scales in a line; "" where they are not known."""
        table = self.length_table()
        if table is None:
            return ""
        own = np.nanmax(np.ptp(table, axis=0)) > 0.0
        ends = [float(np.nanmedian(table[:, a])) for a in (0, -1)]
        unit = f" {self.unit}" if self.unit else ""
        words = f"√t from {ends[0]:.3g} to {ends[1]:.3g}{unit}"
        return words + (" (medians; each cloud has its own)" if own else ", the same for all clouds")

    def composition(self) -> Array:
        """Shares of each dimension (N, T, K), read from the block "hds"."""
        block = self.features[:, self.descriptor.layout().columns["hds"]]
        shares = block[:, : block.shape[1] // 2]
        return shares.reshape(len(block), -1, self.steps).transpose(0, 2, 1)


@dataclass(frozen=True)
class Map:
    """An embedding and what follows from distances."""

    places: Array  # (N, 2)
    method: str
    words: str
    neighbours: NDArray[np.int64]  # (N, k), nearest first
    outliers: list[tuple[int, float]]  # cloud, deviations; farthest first


def make_map(features: Array, descriptor: HFSDescriptor, embedding: str, seed: int | None) -> Map:
    """Standardise, project, and look at distances to the nearest five."""
    scaler = new_scaler(descriptor.layout(), descriptor.dtype, None, dense=True)
    table = scaler.fit_transform(features)
    count = len(table)
    if count < 3 or not table.any():
        return Map(
            np.zeros((count, 2)), "none", "There are too few clouds for a map.", np.zeros((count, 0), int), []
        )
    pca = PCA(random_state=seed).fit(table)
    held = np.cumsum(pca.explained_variance_ratio_)
    parts = pca.transform(table)[:, : max(2, int(np.searchsorted(held, _VARIANCE)) + 1)]
    k = min(5, count - 1)
    distance, index = NearestNeighbors(n_neighbors=k + 1).fit(parts).kneighbors(parts)
    own = index == np.arange(count)[:, None]  # a copy of a cloud may come before the cloud itself
    own[~own.any(axis=1), -1] = True
    neighbours = index[~own].reshape(count, k)
    far = np.log(np.maximum(distance[~own].reshape(count, k).mean(axis=1), 1e-12))
    middle = float(np.median(far))
    unit = 1.4826 * float(np.median(np.abs(far - middle))) or 1.0
    deviations = (far - middle) / unit
    order = np.argsort(-deviations)
    outliers = [(int(i), round(float(deviations[i]), 1)) for i in order[:20] if deviations[i] > _OUTLYING]
    places, method, words = _embed(table, parts, held, embedding, seed)
    return Map(places, method, words, neighbours, outliers)


def _embed(
    table: Array, parts: Array, held: Array, embedding: str, seed: int | None
) -> tuple[Array, str, str]:
    installed = importlib.util.find_spec("umap") is not None
    if embedding == "umap":
        need("umap", "embedding='umap'", verb="needs", command="pip install umap-learn")
    if embedding != "pca" and installed and len(table) > 10:
        umap = importlib.import_module("umap")
        near = min(15, len(table) - 1)
        with progress_bar(total=1, unit="map", keep=True) as bar:
            places = umap.UMAP(n_neighbors=near, random_state=seed, n_jobs=1).fit_transform(parts)
            bar.update(1)
        words = "UMAP of the standardised descriptors: near is alike, far says little."
        return np.asarray(places, dtype=float), "UMAP", words
    share = 100 * held[min(1, len(held) - 1)]
    words = (
        f"The first two principal components of the standardised descriptors, {share:.0f} % of the variance."
    )
    return parts[:, :2], "PCA", words


@dataclass(frozen=True)
class Separation:
    """How well the classes of a collection are told apart, by cross-validation.

    Guide: ``heatfield docs guide/report``.

    Attributes
    ----------
    reason : str
        Why there are no scores; "" where there are some.
    classes : names of the C classes that took part
    rows : positions of the clouds that took part
    predicted : the class that each of them was given
    matrix : (C, C) counts, rows are true classes
    folds : mean accuracy over classes, fold by fold
    accuracy : float
        Share of all clouds.
    blocks, scales : tuples of (name, loss, deviation)
        Accuracy that is lost when a block of columns, or those of a scale, are shuffled.
    head, heads : the read-out that was asked for, and that of each fold
    grouped : bool
        Whether groups of clouds were kept together.

    Examples
    --------
    >>> import heatfield as hf
    >>> hf.Separation("The files carry no labels.").classes
    ()
    """

    reason: str = ""
    classes: tuple[str, ...] = ()
    rows: NDArray[np.int64] | None = None
    predicted: list[str] | None = None
    matrix: NDArray[np.int64] | None = None
    folds: tuple[float, ...] = ()
    accuracy: float = float("nan")
    blocks: tuple[tuple[str, float, float], ...] = ()
    scales: tuple[tuple[str, float, float], ...] = ()
    head: str = ""
    heads: tuple[str, ...] = ()
    grouped: bool = False


@takes(Head)
def separate(
    collection: Collection,
    *,
    folds: int = Report.folds,
    tick: Callable[[int, int], object] | None = None,
    head: Head,
) -> Separation:
    """Cross-validate, and shuffle each block and each scale among the clouds that were held out.

    Shuffling a group of columns among held-out clouds breaks its link to the labels; what accuracy that
    costs is how much the classifier depends on the group beyond what the others also contain. There are
    fewer folds where a class has fewer clouds, or groups. ``tick`` is called after every fold, with the
    number of folds that are done and of all.
    """
    if not collection.labels:
        return Separation("The files carry no labels: put each class into a folder of its own.")
    labels, seed = np.array(collection.labels), head.random_state
    together = None if collection.groups is None else np.array(collection.groups)
    names, counts = np.unique(labels, return_counts=True)
    # Each training fold needs two clouds per class, or the head could not be chosen.
    kept = names[counts >= 3]
    if together is not None:
        kept = np.array([name for name in kept if len(np.unique(together[labels == name])) > 1])
    if len(kept) < 2:
        whole = "" if together is None else ", each in at least two groups"
        return Separation(f"Cross-validation needs at least two classes of three clouds each{whole}.")
    rows = np.flatnonzero(np.isin(labels, kept))
    y = labels[rows]
    groups = None if together is None else together[rows]
    splits = split_folds(y, folds, groups, seed)
    for train, _ in splits if groups is not None else ():
        few = [name for name in kept if (y[train] == name).sum() < 2]
        if few:
            return Separation(
                f"Cross-validation by groups needs {few[0]!r} in more groups: where some are held out, fewer "
                "than two of its clouds are left."
            )
    columns = _groups(collection)
    rng = np.random.default_rng(seed)
    predicted = np.empty_like(y)
    scores: list[float] = []
    heads: list[str] = []
    losses: dict[tuple[str, str], list[float]] = {key: [] for key in columns}
    model = HFSClassifier(**values_of(collection.descriptor, Features), **vars(head))
    table = collection.features[rows]
    for number, (train, test) in enumerate(splits):
        inner = None if groups is None else groups[train]
        fitted = clone(model).fit_features(table[train], y[train], n_dims=collection.dims, groups=inner)
        true, X = y[test], table[test]
        heads.append(fitted.head_)
        predicted[test] = fitted.predict_features(X)
        whole = balanced_accuracy_score(true, predicted[test])
        scores.append(float(whole))
        for key, chosen in columns.items():
            for _ in range(_SHUFFLES):
                broken = X.copy()
                broken[:, chosen] = broken[np.ix_(rng.permutation(len(X)), chosen)]
                shuffled = balanced_accuracy_score(true, fitted.predict_features(broken))
                losses[key].append(whole - shuffled)
        if tick is not None:
            tick(number + 1, len(splits))

    def losses_of(kind: str) -> tuple[tuple[str, float, float], ...]:
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
        blocks=losses_of("block"),
        scales=losses_of("scale"),
        head=head.head,
        heads=tuple(heads),
        grouped=groups is not None,
    )


def _groups(collection: Collection) -> dict[tuple[str, str], NDArray[np.int64]]:
    """Columns of each block and of each scale; a column of two scales belongs to both."""
    layout = collection.descriptor.layout()
    groups = {("block", block): np.arange(layout.width)[own] for block, own in layout.columns.items()}
    for a in range(collection.steps):
        own = [i for i, name in enumerate(layout.names) if re.search(rf"_s{a}(_|$)", name)]
        groups["scale", collection.scale_name(a)] = np.array(own)
    return groups
