"""From descriptors to classes or numbers: labels, folds, scaling, and heads, fitted and chosen."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve
from scipy.optimize import brentq
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from .._base.check import Array, as_clouds, check_dtype, check_tol, quiet
from ..core.clouds import Batch
from ..features.blocks import registry
from ..features.layout import ROUND_OFF, Layout
from ..options import Head as HeadOptions
from .heads import (
    CLASSIFIERS,
    NORMAL_SCORES,
    Head,
    Linear,
    Network,
    Readout,
    Scaling,
    SupportVectors,
    softmax,
)

# --- labels ---------------------------------------------------------------------------

Labels = Sequence[Any] | NDArray[Any]
_SHUFFLES = 20  # of the groups


def checked_labels(y: Labels) -> np.ndarray:
    """Labels of at least two classes as an array of words or of numbers."""
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind not in "biufU":  # for instance from pandas: words or numbers in an array of objects
        plain = np.array(labels.tolist())
        if plain.dtype.kind not in "biufU" or len({isinstance(v, str) for v in labels.tolist()}) > 1:
            some = list(dict.fromkeys(map(repr, labels.tolist())))[:5]
            raise ValueError(f"y must be all words or all numbers, got {', '.join(some)}")
        labels = plain
    check_classification_targets(labels)
    if len(np.unique(labels)) < 2:
        raise ValueError(f"y must hold at least two classes, got only {np.unique(labels).tolist()}")
    return labels


def labels_for(y: Any, count: int) -> np.ndarray:
    """Labels of so many clouds, checked."""
    if not hasattr(y, "__len__"):
        raise ValueError(f"y must be a label for each cloud, got {y!r}")
    if len(y) != count:
        raise ValueError(f"y has {len(y)} labels for {count} clouds")
    return checked_labels(y)


def checked_training(clouds: Any, y: Any) -> tuple[list[Array], np.ndarray]:
    """Clouds and as many labels, or a ValueError."""
    checked = as_clouds(clouds)
    return checked, labels_for(y, len(checked))


def checked_groups(groups: Any, count: int) -> NDArray[Any] | None:
    """The groups of so many clouds, or None where there are none."""
    if groups is None:
        return None
    own = np.asarray(groups)
    if own.shape != (count,):
        raise ValueError(f"groups has {len(own) if own.ndim else 1} entries for {count} clouds")
    return own


def rarest_class(labels: np.ndarray) -> tuple[Any, int]:
    """The label of the fewest clouds, and how many they are."""
    values, counts = np.unique(labels, return_counts=True)
    return values.tolist()[counts.argmin()], int(counts.min())


def groups_by_class(labels: NDArray[Any], groups: NDArray[Any]) -> dict[Any, int]:
    """In how many groups each class lies; a ValueError where it is one."""
    found = {name: len({*groups[labels == name].tolist()}) for name in np.unique(labels).tolist()}
    for name, count in found.items():
        if count < 2:
            raise ValueError(f"class {name!r} lies in one group: it cannot be learnt from other groups")
    return found


def split_folds(
    labels: NDArray[Any], folds: int, groups: NDArray[Any] | None = None, random_state: int | None = 0
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows to learn from and rows held out, fold by fold, with the classes in even shares.

    There are fewer folds where a class has fewer clouds, or fewer groups. Rows of one group stay together,
    and every class is among those to learn from: where no shuffle of the groups makes it so, each group is a
    fold.
    """
    if groups is None:
        count = min(folds, rarest_class(labels)[1])
        return list(StratifiedKFold(count, shuffle=True, random_state=random_state).split(labels, labels))
    count, classes = min(folds, *groups_by_class(labels, groups).values()), len(np.unique(labels))
    for shuffle in range(_SHUFFLES):
        seed = None if random_state is None else random_state + shuffle
        splitter = StratifiedGroupKFold(count, shuffle=True, random_state=seed)
        found = list(splitter.split(labels, labels, groups))
        if all(len(test) and len(np.unique(labels[train])) == classes for train, test in found):
            return found
    own = [groups == name for name in np.unique(groups)]
    return [(np.flatnonzero(~rows), np.flatnonzero(rows)) for rows in own]


# --- the range of the training clouds ------------------------------------------------

# What is said of clouds this many times smaller or larger than any of the training set.
_UNUSUAL = (
    ("diameter", 4.0, "is it in another unit?"),
    ("diameter", 2.0, "is it one object, and whole?"),
    ("points", 4.0, "signatures depend on the sampling"),
)


@dataclass(frozen=True)
class InputRange:
    """Smallest and largest diameter and number of points of the training clouds."""

    diameter: tuple[float, float]
    points: tuple[float, float]

    @classmethod
    def of(cls, diameters: Array, sizes: Sequence[int] | NDArray[np.int64]) -> InputRange:
        """The range of some clouds; those without extent do not count."""
        known = diameters[diameters > 0.0] if (diameters > 0.0).any() else np.array([0.0])
        return cls((float(known.min()), float(known.max())), (float(min(sizes)), float(max(sizes))))

    @classmethod
    def loaded(cls, saved: Any) -> InputRange | None:
        """What `dataclasses.asdict` made of a range, or None where it was not known, checked."""
        if saved is None:
            return None
        ranges = {name: (float(low), float(high)) for name, (low, high) in saved.items()}
        if not all(0.0 <= low <= high < np.inf for low, high in ranges.values()):
            raise ValueError(f"its input range is not a range: {ranges}")
        return cls(**ranges)

    def unlike(self, diameters: Array, sizes: Sequence[int]) -> dict[int, str]:
        """Clouds far outside, by index, and what is unusual about each."""
        found: dict[int, str] = {}
        values = {"diameter": diameters.tolist(), "points": sizes}
        for name, margin, hint in _UNUSUAL:
            low, high = getattr(self, name)
            what, least = ("number of points", 1) if name == "points" else (name, 0.0)
            for i, value in enumerate(values[name]):
                if value > least and high > 0.0 and not low / margin <= value <= high * margin:
                    trained = f"training had {low:.4g} to {high:.4g}"
                    found.setdefault(i, f"has a {what} of {value:.4g}, {trained}; {hint}")
        return dict(sorted(found.items()))


def diameters_of(clouds: Sequence[Array], *, drop: bool) -> Array:
    """The largest distance of two points of each cloud; NaN for fewer than two distinct points.

    ``drop`` leaves isolated points out.
    """
    return np.concatenate([Batch.of([cloud], drop=drop).extents[:, 1] for cloud in clouds])


# --- gaps and scaling -----------------------------------------------------------------


def magnitudes(columns: Layout) -> Array:
    """The least magnitude to which a feature's round-off is relative: 1, or 0 where it is its own size."""
    out = np.zeros(columns.width)
    for block, place in columns.columns.items():
        known = registry().get(block)  # a descriptor of the bench has blocks of its own
        out[place] = float(known is not None and known.order_one)
    return out


class RoundOffScaler(TransformerMixin, BaseEstimator):
    """Fill gaps and normalise, but set to zero what varies only by round-off.

    What could not be computed becomes the median of the training set; a feature without any training value
    becomes 0. Plain standardisation divides a nearly constant feature by its tiny standard deviation and so
    turns the last digits, which a rotation of the cloud changes, into a signal.

    Ranks are normal scores by 51 quantiles of the training set, linear between them, from -3 to 3. Quantiles
    that differ by round-off only count as one value and share the mean of their scores: else the last digits
    of a value that many clouds have would be spread over normal scores.

    Parameters
    ----------
    tolerance : float
        Standard deviation, relative to the feature's magnitude, that counts as round-off.
    magnitude : array_like, optional
        Least magnitude of each feature (see `magnitudes`); its largest training value otherwise.
    normalise : "standard" or "rank"
    """

    def __init__(self, tolerance: float = 1e-9, magnitude: Any = None, normalise: str = "standard") -> None:
        self.tolerance = tolerance
        self.magnitude = magnitude
        self.normalise = normalise

    def fit(self, X: Array, y: Any = None) -> RoundOffScaler:  # noqa: ARG002
        """Learn the medians, the scale of each feature, and which are constant."""
        X = validate_data(self, X, ensure_all_finite=False, dtype=np.float64)
        finite = np.isfinite(X)
        known = finite.any(axis=0)
        fill = np.zeros(X.shape[1])
        fill[known] = np.nanmedian(np.where(finite, X, np.nan)[:, known], axis=0)
        X = np.where(finite, X, fill)
        largest = np.abs(X).max(axis=0)
        if self.magnitude is not None:
            largest = np.maximum(largest, np.asarray(self.magnitude))
        deviation, noise = X.std(axis=0), self.tolerance * largest
        constant = deviation <= noise
        scaling = Scaling(fill, X.mean(axis=0), np.where(constant, 1.0, deviation), constant)
        self.scaling_ = scaling if self.normalise == "standard" else _with_ranks(scaling, X, noise)
        return self

    def transform(self, X: Array) -> Array:
        """Features without gaps, normalised; heads read them clipped, see `Scaling.rows`."""
        check_is_fitted(self)
        X = validate_data(self, X, ensure_all_finite=False, dtype=np.float64, reset=False)
        return self.scaling_.normalised(X)


def _with_ranks(scaling: Scaling, rows: Array, noise: Array) -> Scaling:
    """The quantiles of each feature and their scores."""
    quantiles = np.quantile(rows, np.linspace(0.0, 1.0, len(NORMAL_SCORES)), axis=0)
    scores = np.empty_like(quantiles)
    for column, own in enumerate(quantiles.T):
        value = np.cumsum(np.diff(own, prepend=own[0]) > noise[column])
        scores[:, column] = (np.bincount(value, NORMAL_SCORES) / np.bincount(value))[value]
    return replace(scaling, quantiles=quantiles, scores=scores)


def new_scaler(columns: Layout, dtype: str, tol: float | None, dense: bool) -> RoundOffScaler:
    """The scaling of descriptors; the error of the fast path is no signal either."""
    precision = check_dtype(dtype)
    noise = ROUND_OFF[precision] if dense else 100.0 * check_tol(tol, precision)
    return RoundOffScaler(noise, magnitudes(columns))


@dataclass(frozen=True)
class Prepared:
    """A training set that is normalised once for all heads that read it."""

    scaling: Scaling
    rows: Array
    target: NDArray[Any]

    @classmethod
    def of(cls, features: Array, target: NDArray[Any], scaler: RoundOffScaler, normalise: str) -> Prepared:
        """``scaler`` says what is round-off."""
        scaling = RoundOffScaler(scaler.tolerance, scaler.magnitude, normalise).fit(features).scaling_
        return cls(scaling, scaling.rows(features), target)

    @cached_property
    def kernel(self) -> tuple[float, Array]:
        """Gamma, one over the variance of all features together as scikit-learn has it, and the kernel."""
        spread = float(self.rows.shape[1] * np.var(self.rows))
        gamma = 1.0 / spread if spread > 0.0 else 1.0
        return gamma, rbf_kernel(self.rows, gamma=gamma)

    @cached_property
    def svd(self) -> tuple[Array, Array, Array]:
        """Singular vectors and values of the centred rows."""
        left, values, right = np.linalg.svd(self.rows - self.rows.mean(axis=0), full_matrices=False)
        return left, values, right


# --- heads ----------------------------------------------------------------------------

# Of 1 over all rows, the least standard deviation within classes that discriminants believe, and the least of
# one class: less may be round-off.
_LEAST_WITHIN, _LEAST_BY_CLASS = 1e-3, 1e-6


def discriminants(rows: Array, labels: NDArray[Any]) -> Linear:
    """Linear discriminants; the covariance of each class is shrunk as by Ledoit and Wolf.

    As scikit-learn's LinearDiscriminantAnalysis("lsqr", shrinkage="auto"), without its table of columns by
    columns: shrunk to the diagonal, the covariance is one of low rank and a diagonal.
    """
    classes, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    means = np.stack([rows[inverse == k].mean(axis=0) for k in range(len(classes))])
    factor, diagonal = rows - means[inverse], np.zeros(rows.shape[1])
    for k, count in enumerate(counts):
        own = inverse == k
        deviation = factor[own].std(axis=0)
        deviation[deviation < _LEAST_BY_CLASS] = 1.0
        share, level = _shrinkage(factor[own] / deviation)
        factor[own] *= np.sqrt((1.0 - share) / len(rows))
        diagonal += count / len(rows) * share * level * deviation**2
    diagonal = np.maximum(diagonal, _LEAST_WITHIN**2)
    # The covariance is factor' factor + diagonal. Its inverse, in whichever space is smaller:
    if len(rows) < rows.shape[1]:
        narrow = factor / diagonal
        inner = np.eye(len(rows)) + narrow @ factor.T
        away = means / diagonal
        coef = away - solve(inner, factor @ away.T, assume_a="pos").T @ narrow
    else:
        whole = factor.T @ factor
        whole[np.diag_indices_from(whole)] += diagonal
        coef = solve(whole, means.T, assume_a="pos").T
    return Linear(coef, np.log(counts / len(rows)) - 0.5 * np.einsum("ij,ij->i", means, coef))


def _shrinkage(rows: Array) -> tuple[float, float]:
    """Share of the mean variance in the covariance of centred rows by Ledoit and Wolf, and this mean."""
    count, width = rows.shape
    gram = rows @ rows.T if count < width else rows.T @ rows
    level = float(np.trace(gram)) / (count * width)
    squared = float((gram**2).sum()) / count**2
    fourth = float((np.einsum("ij,ij->i", rows, rows) ** 2).sum()) / count
    noise, whole = (fourth - squared) / (count * width), (squared - width * level**2) / width
    return (min(noise, whole) / whole if min(noise, whole) > 0.0 else 0.0), level


class AnnealedMLP(MLPClassifier):
    """scikit-learn's network, trained to the end twice: at its learning rate, then at a tenth of it.

    The second pass lets the weights converge where the first, with its larger steps,
    oscillates around the minimum. Ctrl-C ends the training with a KeyboardInterrupt.
    """

    def fit(self, X: Array, y: Any) -> AnnealedMLP:
        """Train, then train again at a tenth of the learning rate."""
        asked = {name: getattr(self, name) for name in ("learning_rate_init", "warm_start")}
        try:
            with _interruptible():
                super().fit(X, y)
                self.set_params(learning_rate_init=asked["learning_rate_init"] / 10.0, warm_start=True)
                super().fit(X, y)
        finally:
            self.set_params(**asked)
        return self


# How scikit-learn's warning of an interruption begins.
_INTERRUPTED = "Training interrupted by user"


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C through: scikit-learn's network catches it, warns, and returns half trained.

    The warning is turned into an error, and that into the KeyboardInterrupt that it was. Filters of warnings
    belong to the whole process, so other threads, which Ctrl-C never reaches, leave them alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=_INTERRUPTED, category=UserWarning)
        try:
            yield
        except UserWarning as word:
            if not str(word).startswith(_INTERRUPTED):
                raise
            raise KeyboardInterrupt from None


# --- which head -----------------------------------------------------------------------

HEADS = tuple(CLASSIFIERS)
NORMALISATIONS = ("standard", "rank")
COSTS, USUAL_COST = (1.0, 10.0, 100.0), 10.0
MOST_FOR_GRID = 5_000  # clouds; beyond, one cost is tried and not a grid
# Beyond, the time of support vectors, which grows with the square, is hours.
MOST_FOR_VECTORS = 20_000
# Clouds from which on the network is tried: below, it is no better than the fast heads and takes longest.
LEAST_FOR_NETWORK = 1000
# Passes of a cloud through the network while it is tried, and the fewest epochs that tell anything.
NETWORK_PASSES = 1_000_000
LEAST_EPOCHS = 50
# Folds in which the temperature of discriminant analysis is found.
_CALIBRATION = 5
_TEMPERATURES = (0.05, 1000.0)  # between these

# The descriptors that are compared, by variant: features, and what is round-off in them.
Tables = Mapping[str, tuple[Array, RoundOffScaler]]
Rows = NDArray[np.int64]
Folds = Sequence[tuple[Rows, Rows]]


@dataclass(frozen=True)
class Candidate:
    """One way to read clouds out."""

    variant: str  # of the descriptor
    head: str
    normalise: str = "standard"
    strength: float = USUAL_COST  # cost of support vectors, or penalty of ridge regression

    def name(self, several: bool) -> str:
        """Such as "lda rank", "svm C=10", and with the variant where there are several."""
        words = [self.variant] if several else []
        words += [self.head] + (["rank"] if self.normalise == "rank" else [])
        return " ".join([*words, f"C={self.strength:g}"] if self.head == "svm" else words)


# Of which the names of candidates are made, beside variants.
WORDS = frozenset({*HEADS, "rank", *(f"C={cost:g}" for cost in COSTS)})


def fit_classifier(chosen: Candidate, training: Prepared, asked: HeadOptions, epochs: int | None) -> Head:
    """A head by its candidate; ``epochs`` are the most of the network."""
    if chosen.head == "lda":
        return discriminants(training.rows, training.target)
    if chosen.head == "svm":
        gamma, kernel = training.kernel
        fitted = SVC(C=chosen.strength, kernel="precomputed").fit(kernel, training.target)
        return SupportVectors.of(fitted, training.rows, gamma)
    most = min(count for count in (asked.epochs or 3000, epochs) if count is not None)
    network = AnnealedMLP((128, 64), alpha=1.0, max_iter=most, random_state=asked.random_state)
    return Network.of(network.fit(training.rows, training.target))


def held_out_margins(
    candidates: Sequence[Candidate],
    tables: Tables,
    target: NDArray[Any],
    folds: Folds,
    fit: Callable[[Candidate, Prepared], Head],
) -> dict[Candidate, Array]:
    """What each candidate says of all rows that are held out; 0 of others."""
    out: dict[Candidate, Array] = {}
    for train, test in folds:
        for variant, normalise in dict.fromkeys((c.variant, c.normalise) for c in candidates):
            features, scaler = tables[variant]
            training = Prepared.of(features[train], target[train], scaler, normalise)
            rows = training.scaling.rows(features[test])
            for candidate in candidates:
                if (candidate.variant, candidate.normalise) == (variant, normalise):
                    found = fit(candidate, training).margins(rows)
                    out.setdefault(candidate, np.zeros((len(target), found.shape[1])))[test] = found
    return out


def choose_classifier(
    asked: HeadOptions, tables: Tables, labels: NDArray[Any], groups: NDArray[Any] | None
) -> tuple[Candidate, dict[str, float], Readout]:
    """The candidate that is asked for or chosen, the score of each that was compared, and the read-out."""
    chosen, scores, margins = _compare(asked, tables, labels, groups)
    features, scaler = tables[chosen.variant]
    training = Prepared.of(features, labels, scaler, chosen.normalise)
    head: Any = fit_classifier(chosen, training, asked, None)
    if chosen.head == "lda" and rarest_class(labels)[1] > 2:  # two to learn from, one to look at
        if margins is None:
            margins = _calibration_margins(asked, chosen, tables, labels, groups)
        head = replace(head, temperature=None if margins is None else temperature(margins, labels))
    named = {candidate.name(len(tables) > 1): score for candidate, score in scores.items()}
    return chosen, named, Readout(training.scaling, head)


def why_not_compared(labels: NDArray[Any], groups: NDArray[Any] | None) -> str:
    """Why there are no inner folds; "" where there are some."""
    rare, count = rarest_class(labels)
    if count < 2:
        return f"at least 2 clouds per class are needed, but class {rare!r} has 1"
    try:
        if groups is not None:
            groups_by_class(labels, groups)
    except ValueError as error:
        return str(error)
    return ""


def check_auto(asked: HeadOptions, labels: NDArray[Any], groups: NDArray[Any] | None) -> None:
    """A ValueError where a head cannot be chosen by cross-validation."""
    problem = why_not_compared(labels, groups) if asked.head == "auto" else ""
    if problem:
        raise ValueError(f"head='auto' is chosen by cross-validation: {problem}; choose a head")


def _compare(
    asked: HeadOptions, tables: Tables, labels: NDArray[Any], groups: NDArray[Any] | None
) -> tuple[Candidate, dict[Candidate, float], Array | None]:
    """The best candidate, mean accuracy over classes of each by cross-validation, and margins of the best.

    Every fold is normalised once for all heads that read it. The network is scored on the first fold only.
    So that one easy fold does not decide, its score is that of the best fast candidate, and the difference
    of the two on that fold. Where there are no inner folds, a head that is asked for takes the first variant.
    """
    own = "rank" if asked.normalise == "rank" else "standard"
    if asked.head != "auto" and (len(tables) == 1 or why_not_compared(labels, groups)):
        return Candidate(next(iter(tables)), asked.head, own), {}, None
    check_auto(asked, labels, groups)
    folds = split_folds(labels, asked.inner_folds, groups, asked.random_state)
    fast = _fast_candidates(asked, tables, labels, folds, own)
    classes = np.unique(labels)

    def scored(candidates: Sequence[Candidate], folds: Folds, epochs: int | None = None) -> None:
        found = held_out_margins(
            candidates,
            tables,
            labels,
            folds,
            lambda one, training: fit_classifier(one, training, asked, epochs),
        )
        for candidate, values in found.items():
            said = classes[values.argmax(axis=1)]
            by_fold[candidate] = [mean_recall(labels[test], said[test]) for _, test in folds]
        margins.update(found)

    by_fold: dict[Candidate, list[float]] = {}
    margins: dict[Candidate, Array] = {}
    scored(fast, folds)
    scores = {candidate: float(np.mean(found)) for candidate, found in by_fold.items()}
    epochs = NETWORK_PASSES // len(folds[0][0])
    if asked.head == "mlp" or (
        asked.head == "auto" and len(labels) >= LEAST_FOR_NETWORK and epochs >= LEAST_EPOCHS
    ):
        best = max(scores, key=scores.__getitem__) if scores else None
        networks = [
            Candidate(variant, "mlp", own) for variant in tables if best is None or variant == best.variant
        ]
        with quiet(ConvergenceWarning):  # it may stop before the loss does
            scored(networks, folds[:1], max(1, epochs))
        for network in networks:
            lead = 0.0 if best is None else scores[best] - by_fold[best][0]
            scores[network] = min(1.0, lead + by_fold[network][0])
    chosen = max(scores, key=scores.__getitem__)
    return chosen, scores, margins[chosen] if chosen.head == "lda" else None


def _fast_candidates(
    asked: HeadOptions, tables: Tables, labels: NDArray[Any], folds: Folds, own: str
) -> list[Candidate]:
    """All but networks; discriminants need two clouds of a class."""
    found = []
    auto = asked.head == "auto"
    for variant in tables:
        if asked.head == "lda" or (auto and min(rarest_class(labels[train])[1] for train, _ in folds) > 1):
            both = NORMALISATIONS if auto and asked.normalise == "auto" else (own,)
            found += [Candidate(variant, "lda", normalise) for normalise in both]
        if asked.head == "svm" or (auto and (len(labels) <= MOST_FOR_VECTORS or not found)):
            costs = COSTS if auto and len(labels) <= MOST_FOR_GRID else (USUAL_COST,)
            found += [Candidate(variant, "svm", own, cost) for cost in costs]
    return found


def mean_recall(labels: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Mean accuracy over the classes there are; a fold of groups may lack some."""
    right = predicted == labels
    return float(np.mean([right[labels == name].mean() for name in np.unique(labels)]))


def _calibration_margins(
    asked: HeadOptions, chosen: Candidate, tables: Tables, labels: NDArray[Any], groups: NDArray[Any] | None
) -> Array | None:
    """Margins of all clouds, each held out once; None for too few clouds."""
    try:
        folds = split_folds(labels, _CALIBRATION, groups)
    except ValueError:  # a class lies in one group
        return None
    if min(rarest_class(labels[train])[1] for train, _ in folds) < 2:
        return None
    return held_out_margins(
        [chosen], tables, labels, folds, lambda one, training: fit_classifier(one, training, asked, None)
    )[chosen]


def temperature(margins: Array, labels: NDArray[Any]) -> float:
    """What margins must be divided by to be as confident as right on clouds held out.

    The mean of the largest probability is made the share of clouds that are classified rightly. The
    likeliest temperature would be ruled by the one cloud that is farthest on the wrong side.
    """
    right = margins.argmax(axis=1) == np.unique(labels, return_inverse=True)[1]
    wanted = (right.sum() + 0.5) / (len(right) + 1.0)  # never certain

    def excess(log_temperature: float) -> float:
        return float(softmax(margins / np.exp(log_temperature)).max(axis=1).mean() - wanted)

    low, high = np.log(_TEMPERATURES)
    if excess(low) <= 0.0 or excess(high) >= 0.0:  # confidence falls as the temperature rises
        return _TEMPERATURES[0] if excess(low) <= 0.0 else _TEMPERATURES[1]
    return float(np.exp(brentq(excess, low, high)))
