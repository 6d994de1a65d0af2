"""From descriptors to classes: labels, folds, gaps, standardisation, and the heads that are fitted."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from .._base.check import Array, as_clouds, check_choice, check_count, check_dtype, check_tol
from .._base.warn import quiet
from ..core.clouds import Batch
from ..features.blocks import registry
from ..features.layout import ROUND_OFF, Layout
from ..options import Head
from .heads import CLASSIFIERS, NORMAL_SCORES, Readout, fill_gaps, normal_scores, softmax, standardise

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


def diameters_of(clouds: Sequence[Array]) -> Array:
    """The largest distance of two points of each cloud; NaN for fewer than two distinct points."""
    return np.concatenate([Batch.of([cloud]).extents[:, 1] for cloud in clouds])


# --- gaps, standardisation, and estimators of scikit-learn that need a little more ----


def magnitudes(columns: Layout) -> Array:
    """The least magnitude to which a feature's round-off is relative: 1, or 0 where it is its own size."""
    out = np.zeros(columns.width)
    for block, place in columns.columns.items():
        known = registry().get(block)  # a descriptor of the bench has blocks of its own
        out[place] = float(known is not None and known.order_one)
    return out


class GapImputer(TransformerMixin, BaseEstimator):
    """Fill what could not be computed with the median of the training set.

    Only the gaps are filled: where one channel of a cloud is undefined, the channels
    and blocks that were computed stay. A feature without any training value becomes 0.
    """

    def fit(self, X: Array, y: Any = None) -> GapImputer:  # noqa: ARG002
        """Learn the medians of the finite values."""
        X = validate_data(self, X, ensure_all_finite=False, dtype=np.float64)
        finite = np.isfinite(X)
        known = finite.any(axis=0)
        self.fill_ = np.zeros(X.shape[1])
        self.fill_[known] = np.nanmedian(np.where(finite, X, np.nan)[:, known], axis=0)
        return self

    def transform(self, X: Array) -> Array:
        """Fill the gaps of X."""
        check_is_fitted(self)
        X = validate_data(self, X, ensure_all_finite=False, dtype=np.float64, reset=False)
        return fill_gaps(X, self.fill_)


class RoundOffScaler(TransformerMixin, BaseEstimator):
    """Standardise, but set to zero what varies only by round-off.

    Plain standardisation divides a nearly constant feature by its tiny standard deviation and
    so turns the last digits, which a rotation of the cloud changes, into a signal.

    Parameters
    ----------
    tolerance : float
        Standard deviation, relative to the feature's magnitude, that counts as round-off.
    magnitude : array_like, optional
        Least magnitude of each feature (see `magnitudes`); its largest training value otherwise.
    """

    def __init__(self, tolerance: float = 1e-9, magnitude: Any = None) -> None:
        self.tolerance = tolerance
        self.magnitude = magnitude

    def fit(self, X: Array, y: Any = None) -> RoundOffScaler:  # noqa: ARG002
        """Learn mean and standard deviation of each feature, and which are constant."""
        X = validate_data(self, X, dtype=np.float64)
        largest = np.abs(X).max(axis=0)
        if self.magnitude is not None:
            largest = np.maximum(largest, np.asarray(self.magnitude))
        self.mean_ = X.mean(axis=0)
        deviation = X.std(axis=0)
        self.noise_ = self.tolerance * largest
        self.constant_ = deviation <= self.noise_
        self.scale_ = np.where(self.constant_, 1.0, deviation)
        return self

    def transform(self, X: Array) -> Array:
        """Standardise X."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return standardise(X, self.mean_, self.scale_, self.constant_)


class RankScaler(RoundOffScaler):
    """Normal scores by 51 quantiles of the training set, linear between them, from -3 to 3.

    What varies only by round-off is set to zero, as by `RoundOffScaler`. Quantiles that differ by round-off
    only count as one value and share the mean of their scores: else the last digits of a value that many
    clouds have would be spread over normal scores.
    """

    def fit(self, X: Array, y: Any = None) -> RankScaler:
        """Learn the quantiles of each feature and their scores, and which features are constant."""
        super().fit(X, y)
        levels = np.linspace(0.0, 1.0, len(NORMAL_SCORES))
        self.quantiles_ = np.quantile(np.asarray(X, dtype=np.float64), levels, axis=0)
        self.scores_ = np.empty_like(self.quantiles_)
        for column, own in enumerate(self.quantiles_.T):
            value = np.cumsum(np.diff(own, prepend=own[0]) > self.noise_[column])
            self.scores_[:, column] = (np.bincount(value, NORMAL_SCORES) / np.bincount(value))[value]
        return self

    def transform(self, X: Array) -> Array:
        """Normal scores of X."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return normal_scores(X, self.quantiles_, self.scores_, self.constant_)


@dataclass(frozen=True)
class Inputs:
    """A training set without gaps, normalised, and what other rows are treated by."""

    rows: Array
    fill: Array
    scaler: RoundOffScaler

    @classmethod
    def of(cls, features: Array, scaler: RoundOffScaler, normalise: str = "standard") -> Inputs:
        """Learn medians and normalisation; ``scaler`` says what is round-off."""
        imputer = GapImputer()
        kind = RankScaler if normalise == "rank" else RoundOffScaler
        step = kind(scaler.tolerance, scaler.magnitude)
        return cls(step.fit_transform(imputer.fit_transform(features)), imputer.fill_, step)

    def transform(self, features: Array) -> Array:
        """Other rows, in the same way."""
        return self.scaler.transform(fill_gaps(features, self.fill))

    def readout(self, head: Any) -> Readout:
        """With a head that was fitted to the rows, as plain arrays."""
        step = self.scaler
        ranks = (step.quantiles_, step.scores_) if isinstance(step, RankScaler) else ()
        return Readout(self.fill, step.mean_, step.scale_, step.constant_, head, *ranks)


def plain_gamma(rows: Array) -> float:
    """One over the variance of all features together, the default of scikit-learn's support vectors."""
    spread = float(np.shape(rows)[1] * np.var(rows))
    return 1.0 / spread if spread > 0.0 else 1.0


class GaussianSVC(SVC):
    """scikit-learn's support vectors, with its own ``gamma``, but as a number that prediction can read."""

    def fit(self, X: Array, y: Any) -> GaussianSVC:
        """Set ``gamma``, and train."""
        self.set_params(gamma=plain_gamma(X))
        super().fit(X, y)
        return self


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


# --- heads ----------------------------------------------------------------------------

# Clouds from which on the network is tried: below, it is no better than the fast heads and takes longest.
LEAST_FOR_NETWORK = 1000
# Passes of a cloud through the network while it is tried, and the fewest epochs that tell anything.
NETWORK_PASSES = 1_000_000
LEAST_EPOCHS = 50
# Beyond, the time of support vectors, which grows with the square, is hours.
MOST_FOR_VECTORS = 20_000

# Beyond, one cost of theirs is tried and not a grid.
MOST_FOR_GRID = 5_000
COSTS, USUAL_COST = (1.0, 10.0, 100.0), 10.0
NORMALISATIONS = ("standard", "rank")

HEADS = tuple(CLASSIFIERS)
# Folds in which the temperature of discriminant analysis is found.
_CALIBRATION = 5
_TEMPERATURES = (0.05, 1000.0)  # between these

# The descriptors that are compared, by variant: features, and what is round-off in them.
Tables = Mapping[str, tuple[Array, RoundOffScaler]]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Candidate:
    """One way to read clouds out."""

    variant: str  # of the descriptor
    head: str
    normalise: str = "standard"
    cost: float = USUAL_COST  # of support vectors

    def name(self, several: bool) -> str:
        """Such as "lda rank", "svm C=10", and with the variant where there are several."""
        words = [self.variant] if several else []
        words += [self.head] + (["rank"] if self.normalise == "rank" else [])
        return " ".join([*words, f"C={self.cost:g}"] if self.head == "svm" else words)

    def estimator(self, asked: Head, most_epochs: int | None = None) -> Any:
        """The head as scikit-learn trains it, not fitted."""
        if self.head == "mlp":
            most = 3000 if asked.epochs is None else check_count(asked.epochs, "epochs", 1)
            most = most if most_epochs is None else min(most, most_epochs)
            return AnnealedMLP((128, 64), alpha=1.0, max_iter=most, random_state=asked.random_state)
        if self.head == "lda":
            return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        return GaussianSVC(C=self.cost, break_ties=True, random_state=asked.random_state)


# Of which the names of candidates are made.
WORDS = frozenset({*HEADS, "rank", *(f"C={cost:g}" for cost in COSTS)})


def fit_head(
    asked: Head, tables: Tables, labels: NDArray[Any], groups: NDArray[Any] | None
) -> tuple[Candidate, dict[str, float], Readout]:
    """The candidate that is asked for or chosen, the score of each that "auto" compared, the read-out."""
    scores: dict[Candidate, float] = {}
    margins: Array | None = None
    if asked.head == "auto":
        scores, found = compare(asked, tables, labels, groups)
        chosen = max(scores, key=scores.__getitem__)
        margins = found.get(chosen)
    else:
        normalise = "rank" if asked.normalise == "rank" else "standard"
        chosen = Candidate(next(iter(tables)), check_choice(asked.head, "head", HEADS), normalise)
    inputs = Inputs.of(*tables[chosen.variant], chosen.normalise)
    head: Any = CLASSIFIERS[chosen.head].of(chosen.estimator(asked).fit(inputs.rows, labels))
    if (
        chosen.head == "lda" and rarest_class(labels)[1] > 2
    ):  # two of each class to learn from, one to look at
        if margins is None:
            margins = _calibration_margins(asked, chosen, tables, labels, groups)
        head = replace(head, temperature=None if margins is None else temperature(margins, labels))
    named = {candidate.name(len(tables) > 1): score for candidate, score in scores.items()}
    return chosen, named, inputs.readout(head)


def check_auto(labels: NDArray[Any], groups: NDArray[Any] | None) -> None:
    """A ValueError where no head can be chosen by cross-validation."""
    rare, count = rarest_class(labels)
    if count < 2:
        raise ValueError(
            f"head='auto' needs at least 2 clouds per class, but class {rare!r} has 1; choose a head"
        )
    if groups is not None:
        try:
            groups_by_class(labels, groups)
        except ValueError as error:
            raise ValueError(f"head='auto' is chosen by cross-validation; {error}; choose a head") from None


def compare(
    asked: Head, tables: Tables, labels: NDArray[Any], groups: NDArray[Any] | None
) -> tuple[dict[Candidate, float], dict[Candidate, Array]]:
    """Mean accuracy over classes of each candidate, by cross-validation, and margins of rows held out.

    Every fold is normalised once for all heads that read it. The network is scored on the first fold only.
    So that one easy fold does not decide, its score is that of the best fast candidate, and the difference
    of the two on that fold.
    """
    check_auto(labels, groups)
    folds = split_folds(labels, check_count(asked.inner_folds, "inner_folds", 2), groups, asked.random_state)
    own = "standard" if asked.normalise == "auto" else asked.normalise
    fast: list[Candidate] = []
    for variant in tables:
        if min(rarest_class(labels[train])[1] for train, _ in folds) > 1:
            both = NORMALISATIONS if asked.normalise == "auto" else (own,)
            fast += [Candidate(variant, "lda", normalise) for normalise in both]
        if len(labels) <= MOST_FOR_VECTORS or not fast:
            costs = COSTS if len(labels) <= MOST_FOR_GRID else (USUAL_COST,)
            fast += [Candidate(variant, "svm", own, cost) for cost in costs]
    by_fold, margins = _on_folds(asked, fast, tables, labels, folds)
    scores = {candidate: float(np.mean(found)) for candidate, found in by_fold.items()}
    epochs = NETWORK_PASSES // len(folds[0][0])
    if len(labels) >= LEAST_FOR_NETWORK and epochs >= LEAST_EPOCHS:
        best = max(scores, key=scores.__getitem__)
        network = Candidate(best.variant, "mlp", own)
        with quiet(ConvergenceWarning):  # it may stop before the loss does
            found, _ = _on_folds(asked, [network], tables, labels, folds[:1], epochs)
        scores[network] = min(1.0, scores[best] + found[network][0] - by_fold[best][0])
    return scores, margins


def _on_folds(
    asked: Head,
    candidates: Sequence[Candidate],
    tables: Tables,
    labels: NDArray[Any],
    folds: Sequence[tuple[Rows, Rows]],
    most_epochs: int | None = None,
) -> tuple[dict[Candidate, list[float]], dict[Candidate, Array]]:
    """Of each candidate the mean accuracy over classes, fold by fold, and the margins of rows held out."""
    classes = np.unique(labels)
    scores: dict[Candidate, list[float]] = {candidate: [] for candidate in candidates}
    margins = {candidate: np.zeros((len(labels), len(classes))) for candidate in candidates}
    for train, test in folds:
        for variant, normalise in dict.fromkeys((c.variant, c.normalise) for c in candidates):
            features, scaler = tables[variant]
            inputs = Inputs.of(features[train], scaler, normalise)
            rows = inputs.transform(features[test])
            for candidate in candidates:
                if (candidate.variant, candidate.normalise) == (variant, normalise):
                    fitted = candidate.estimator(asked, most_epochs).fit(inputs.rows, labels[train])
                    head = CLASSIFIERS[candidate.head].of(fitted)
                    found = margins[candidate][test] = head.margins(rows)
                    scores[candidate].append(mean_recall(labels[test], classes[head.positions(found)]))
    return scores, margins


def mean_recall(labels: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Mean accuracy over the classes there are; a fold of groups may lack some."""
    right = predicted == labels
    return float(np.mean([right[labels == name].mean() for name in np.unique(labels)]))


def new_scaler(columns: Layout, dtype: str, tol: float | None, dense: bool) -> RoundOffScaler:
    """The standardisation of descriptors; the error of the fast path is no signal either."""
    precision = check_dtype(dtype)
    noise = ROUND_OFF[precision] if dense else 100.0 * check_tol(tol, precision)
    return RoundOffScaler(noise, magnitudes(columns))


def _calibration_margins(
    asked: Head, chosen: Candidate, tables: Tables, labels: NDArray[Any], groups: NDArray[Any] | None
) -> Array | None:
    """Margins of all clouds, each held out once; None for too few clouds."""
    try:
        folds = split_folds(labels, _CALIBRATION, groups)
    except ValueError:  # a class lies in one group
        return None
    if min(rarest_class(labels[train])[1] for train, _ in folds) < 2:
        return None
    return _on_folds(asked, [chosen], tables, labels, folds)[1][chosen]


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
