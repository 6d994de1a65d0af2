"""What reads features out, as plain arrays: scaling, linear heads, support vectors, network, trees.

The functions of `read_out` and scikit-learn train; from then on those of this module alone predict. So a
fitted model and one that was loaded are the same arrays in the same code, with the same bits, whichever
version of scikit-learn is installed. Only public fitted attributes are read, but for the trees: see
`Trees.of`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from .. import _core
from .._base.check import Array
from .._base.threads import pieces, run_pieces

Tensors = dict[str, NDArray]

_TOGETHER = 1 << 22  # values of the Gaussian kernel that are held at a time
_PIECE = 4096  # rows that one thread walks down the trees with
FARTHEST = 3.0  # deviations from the mean; more count as so many
# Of the quantiles at 0, 2, ..., 100 %: those of the normal distribution, at most these.
NORMAL_SCORES: Array = np.clip(ndtri(np.linspace(0.0, 1.0, 51)), -FARTHEST, FARTHEST)


def take(tensors: Tensors, name: str, dtype: DTypeLike, shape: tuple[int | None, ...]) -> NDArray:
    """Remove an array from those of a file; a ValueError where type, shape (None: any) or values are off."""
    if name not in tensors:
        raise ValueError(f"its tensor {name!r} is missing")
    found = tensors.pop(name)
    fits = len(found.shape) == len(shape) and all(
        wanted in (None, length) for wanted, length in zip(shape, found.shape, strict=True)
    )
    if found.dtype != dtype or not fits:
        raise ValueError(
            f"its tensor {name!r} must be {np.dtype(dtype)} of shape {shape}, "
            f"got {found.dtype} of shape {found.shape}"
        )
    if not np.isfinite(found).all():
        raise ValueError(f"its tensor {name!r} holds non-finite values")
    return np.array(found, order="C")


def softmax(margins: Array) -> Array:
    """Probabilities (N, classes); a ValueError where a forged model overflows, not an answer of NaN."""
    _check_finite(margins)
    with np.errstate(over="ignore"):
        shares = np.exp(margins - margins.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def _check_finite(margins: Array) -> None:
    if not np.isfinite(margins).all():
        raise ValueError("the model gives no answer: its numbers are out of range")


def _of_all_classes(margins: Array) -> Array:
    """(N, classes): of two classes there is one margin, that of the second over the first."""
    return np.concatenate([np.zeros_like(margins), margins], axis=1) if margins.shape[1] == 1 else margins


@dataclass(frozen=True, eq=False)
class Scaling:
    """From features to what a head reads: gaps filled, then normalised.

    Features are standardised, or with ``quantiles`` replaced by normal scores. Constant ones become 0.
    """

    fill: Array
    mean: Array
    scale: Array
    constant: NDArray[np.bool_]
    quantiles: Array | None = None  # (51, width)
    scores: Array | None = None  # (51, width), of the quantiles

    @classmethod
    def loaded(cls, tensors: Tensors, width: int) -> Scaling:
        """What `tensors` gave, taken out of ``tensors`` and checked."""
        fill, mean, scale = (take(tensors, name, np.float64, (width,)) for name in ("fill", "mean", "scale"))
        if (scale <= 0.0).any():
            raise ValueError("its tensor 'scale' holds values that are not above 0")
        constant = take(tensors, "constant", np.bool_, (width,))
        if "quantiles" not in tensors:
            return cls(fill, mean, scale, constant)
        shape = (len(NORMAL_SCORES), width)
        ranks = [take(tensors, name, np.float64, shape) for name in ("quantiles", "scores")]
        if any((np.diff(knots, axis=0) < 0.0).any() for knots in ranks):
            raise ValueError("its quantiles or their scores do not rise")
        if np.abs(ranks[1]).max() > FARTHEST:
            raise ValueError(f"its scores are beyond {FARTHEST:g}")
        return cls(fill, mean, scale, constant, *ranks)

    @property
    def normalise(self) -> str:
        """How features are normalised: "standard" or "rank"."""
        return "standard" if self.quantiles is None else "rank"

    def tensors(self) -> Tensors:
        """All arrays by name."""
        return {name: array for name, array in vars(self).items() if array is not None}

    def rows(self, features: Array) -> Array:
        """What a head reads: normalised features within `FARTHEST`.

        A feature that hardly varies over the training set may be hundreds of deviations away in a cloud with
        a few outliers, and would alone decide.
        """
        return np.clip(self.normalised(features), -FARTHEST, FARTHEST)

    def normalised(self, features: Array) -> Array:
        """Features without gaps, standardised or as normal scores."""
        filled = np.asarray(features, dtype=np.float64)
        filled = np.where(np.isfinite(filled), filled, self.fill)
        if self.quantiles is None or self.scores is None:
            return np.where(self.constant, 0.0, (filled - self.mean) / self.scale)
        out = np.zeros(filled.shape)
        for column in np.flatnonzero(~self.constant):
            knots = self.quantiles[:, column], self.scores[:, column]
            out[:, column] = np.interp(filled[:, column], *knots)
        return out


class Head:
    """From normalised rows to a margin for each class, which grows with its probability.

    A head of a regressor has one column instead: the number that is predicted. It has no ``classes``.
    """

    temperature: float | None = None  # what margins are divided by before they become probabilities

    @classmethod
    def loaded(cls, tensors: Tensors, values: Mapping[str, Any], width: int, classes: int) -> Self:
        """What `tensors` and `values` gave, taken out of ``tensors`` and checked."""
        raise NotImplementedError

    def tensors(self) -> Tensors:
        """All arrays by name."""
        return {f"head.{name}": array for name, array in vars(self).items() if isinstance(array, np.ndarray)}

    def values(self) -> dict[str, float | None]:
        """What is not an array."""
        return {name: value for name, value in vars(self).items() if value is None or type(value) is float}

    def margins(self, rows: Array) -> Array:
        """(N, classes)."""
        raise NotImplementedError

    def positions(self, margins: Array) -> NDArray[np.intp]:
        """The class of each row, as its position among all."""
        return margins.argmax(axis=1)


@dataclass(frozen=True, eq=False)
class Linear(Head):
    """Linear discriminants, one for each class, or a number that is linear in the features."""

    coef: Array  # (outputs, width)
    intercept: Array  # (outputs,)
    temperature: float | None = None

    @classmethod
    def loaded(cls, tensors: Tensors, values: Mapping[str, Any], width: int, classes: int) -> Linear:
        """See `Head`."""
        outputs = max(1, classes)
        coef = take(tensors, "head.coef", np.float64, (outputs, width))
        intercept = take(tensors, "head.intercept", np.float64, (outputs,))
        own = None if values["temperature"] is None else _positive(values, "temperature")
        return cls(coef, intercept, own)

    def margins(self, rows: Array) -> Array:
        """See `Head`; not divided by the temperature."""
        return rows @ self.coef.T + self.intercept

    def in_unit(self, mean: float, scale: float) -> Linear:
        """As this head, which was fitted to (y - mean) / scale, predicts y."""
        return replace(self, coef=scale * self.coef, intercept=scale * self.intercept + mean)


@dataclass(frozen=True, eq=False)
class SupportVectors(Head):
    """Support vectors with the kernel exp(-gamma D^2), in the order of the classes; a machine for each pair.

    ``dual[k]`` holds the coefficients of vectors against the k-th of the other classes. The margin of a class
    is the number of pairs that it wins and, between -1/3 and 1/3, by how much: ties are broken. Of two
    classes it is the value of the one machine, with either sign. A regressor has one machine and one count.
    """

    vectors: Array  # (S, width)
    counts: NDArray[np.int64]  # (classes,)
    dual: Array  # (classes - 1, S)
    intercept: Array  # (pairs,)
    gamma: float

    @classmethod
    def of(cls, fitted: Any, rows: Array, gamma: float) -> SupportVectors:
        """Of an SVC or SVR that was fitted to the kernel of these rows."""
        vectors = np.array(rows[fitted.support_], order="C")
        counts = fitted.n_support_ if hasattr(fitted, "classes_") else [len(vectors)]
        dual = np.array(fitted.dual_coef_, order="C")
        return cls(vectors, np.array(counts, np.int64), dual, np.array(fitted.intercept_), gamma)

    @classmethod
    def loaded(cls, tensors: Tensors, values: Mapping[str, Any], width: int, classes: int) -> SupportVectors:
        """See `Head`."""
        vectors = take(tensors, "head.vectors", np.float64, (None, width))
        counts = take(tensors, "head.counts", np.int64, (max(1, classes),))
        if (counts < 0).any() or (counts > len(vectors)).any() or counts.sum() != len(vectors):
            raise ValueError("its support vectors do not fit together")
        dual = take(tensors, "head.dual", np.float64, (max(1, classes - 1), len(vectors)))
        pairs = max(1, classes * (classes - 1) // 2)
        intercept = take(tensors, "head.intercept", np.float64, (pairs,))
        return cls(vectors, counts, dual, intercept, _positive(values, "gamma"))

    def margins(self, rows: Array) -> Array:
        """See `Head`."""
        return np.concatenate([self._margins(kernel) for kernel in self._kernels(rows)])

    def _kernels(self, rows: Array) -> Iterator[Array]:
        """The kernel of rows and support vectors, some rows at a time."""
        step = max(1, _TOGETHER // max(1, len(self.vectors)))
        for first in range(0, max(1, len(rows)), step):
            yield np.exp(-self.gamma * cdist(rows[first : first + step], self.vectors, "sqeuclidean"))

    def _margins(self, kernel: Array) -> Array:
        classes = len(self.counts)
        if classes < 3:
            value = kernel @ self.dual[0] + self.intercept[0]
            return value[:, None] if classes == 1 else np.stack([-value, value], axis=1)
        ends = np.cumsum(self.counts)[:-1]
        parts = zip(np.split(kernel, ends, axis=1), np.split(self.dual, ends, axis=1), strict=True)
        # shares[i][:, k]: what the vectors of class i add to its pair with the k-th of the others.
        shares = [part @ dual.T for part, dual in parts]
        won, lead = np.zeros((2, len(kernel), classes))
        for pair, (i, j) in enumerate(combinations(range(classes), 2)):
            value = shares[i][:, j - 1] + shares[j][:, i] + self.intercept[pair]
            won[:, i] += value >= 0.0
            won[:, j] += value < 0.0
            lead[:, i] += value
            lead[:, j] -= value
        return won + lead / (3.0 * (np.abs(lead) + 1.0))

    def positions(self, margins: Array) -> NDArray[np.intp]:
        """See `Head`; of two classes that are even, libsvm says the second."""
        return (margins[:, 1] >= 0.0).astype(np.intp) if len(self.counts) == 2 else super().positions(margins)

    def in_unit(self, mean: float, scale: float) -> SupportVectors:
        """As this head, which was fitted to (y - mean) / scale, predicts y."""
        return replace(self, dual=scale * self.dual, intercept=scale * self.intercept + mean)


@dataclass(frozen=True, eq=False)
class Network(Head):
    """Layers of weights and biases with max(0, x) between them."""

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]

    @classmethod
    def of(cls, fitted: Any) -> Network:
        """Of an MLPClassifier with activation "relu"."""
        weights, biases = (
            tuple(np.array(layer, order="C") for layer in part)
            for part in (fitted.coefs_, fitted.intercepts_)
        )
        return cls(weights, biases)

    @classmethod
    def loaded(cls, tensors: Tensors, values: Mapping[str, Any], width: int, classes: int) -> Network:  # noqa: ARG003
        """See `Head`."""
        count = sum(name.startswith("head.weights.") for name in tensors)
        weights, biases = [], []
        for i in range(count):
            # All but the last layer may be of any width.
            outputs = None if i + 1 < count else _outputs(classes)
            weights.append(take(tensors, f"head.weights.{i}", np.float64, (width, outputs)))
            width = weights[-1].shape[1]
            biases.append(take(tensors, f"head.biases.{i}", np.float64, (width,)))
        if not weights:
            raise ValueError("its network has no layers")
        return cls(tuple(weights), tuple(biases))

    def tensors(self) -> Tensors:
        """See `Head`."""
        layers = {"weights": self.weights, "biases": self.biases}
        return {f"head.{name}.{i}": array for name, part in layers.items() for i, array in enumerate(part)}

    def margins(self, rows: Array) -> Array:
        """See `Head`."""
        for weights, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            rows = np.maximum(rows @ weights + bias, 0.0)
        return _of_all_classes(rows @ self.weights[-1] + self.biases[-1])


def _outputs(classes: int) -> int:
    return 1 if classes == 2 else classes


def _positive(values: Mapping[str, Any], name: str) -> float:
    """A number of a file that is finite and above 0."""
    value = values[name]
    if type(value) is not float or not 0.0 < value < np.inf:
        raise ValueError(f"its {name} is {str(value)[:40]}, expected a number above 0")
    return value


CLASSIFIERS: Mapping[str, type[Head]] = {"mlp": Network, "lda": Linear, "svm": SupportVectors}
REGRESSORS: Mapping[str, type[Head]] = {"ridge": Linear, "svm": SupportVectors}


@dataclass(frozen=True, eq=False)
class Readout:
    """From descriptors to classes, or to a number."""

    scaling: Scaling
    head: Head

    @classmethod
    def loaded(
        cls, kind: type[Head], tensors: Tensors, values: Mapping[str, Any], width: int, classes: int
    ) -> Readout:
        """What `tensors` and ``head.values`` gave, taken out of ``tensors`` and checked."""
        return cls(Scaling.loaded(tensors, width), kind.loaded(tensors, values, width, classes))

    def tensors(self) -> Tensors:
        """All arrays by name."""
        return self.scaling.tensors() | self.head.tensors()

    def margins(self, features: Array) -> Array:
        """(N, classes): the largest belongs to the class that is predicted."""
        with np.errstate(over="ignore", invalid="ignore"):  # of a forged model
            found = self.head.margins(self.scaling.rows(features))
        _check_finite(found)
        return found

    def probabilities(self, features: Array) -> Array:
        """(N, classes): the softmax of the margins, which are divided by the temperature where there is one.

        The temperature of discriminants was found on clouds held out: with many features and few clouds their
        margins are several times too large.
        """
        return softmax(self.margins(features) / (self.head.temperature or 1.0))

    def predict(self, features: Array) -> NDArray[np.intp]:
        """The class of each row, as its position among all."""
        return self.head.positions(self.margins(features))


_NODES = {
    "feature": np.int32, "threshold": np.float64, "left": np.int32, "right": np.int32,
    "missing_left": np.bool_, "value": np.float64,
}  # fmt: skip
_ASKED = 1000  # rows for which trees must give the probabilities of the estimator that grew them
_AGREEMENT = 1e-9


@dataclass(frozen=True, eq=False)
class Trees:
    """Tree t holds the nodes starts[t] to starts[t + 1], root first, and adds to the margin t modulo outputs.

    A node sends a row whose ``feature`` is at most ``threshold`` to ``left``, else to ``right``, counted from
    the root; a gap goes where ``missing_left`` says. A leaf has left = -1 and adds its ``value``.
    """

    starts: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: Array
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    value: Array
    base: Array  # (classes,), or (1,) for two classes

    @classmethod
    def of(cls, model: Any, rows: NDArray) -> Trees:
        """What a HistGradientBoostingClassifier grew from ``rows``.

        scikit-learn offers no public way to its trees, so this is the one place that reads private
        attributes. Whether they still mean what they did is not a matter of version numbers: the nodes must
        have the fields that are read here, lead to each other as a tree does, and give the probabilities
        that the estimator itself gives. Anything else is a RuntimeError.
        """
        try:
            grown = [np.asarray(tree.nodes) for stage in model._predictors for tree in stage]
            nodes = np.concatenate(grown)
            leaf = nodes["is_leaf"].astype(bool)
            if nodes["is_categorical"].any():
                raise ValueError("a node splits by category")
            found = cls(
                np.cumsum([0, *map(len, grown)], dtype=np.int64),
                nodes["feature_idx"].astype(np.int32),
                nodes["num_threshold"].astype(np.float64),
                np.where(leaf, -1, nodes["left"].astype(np.int64)).astype(np.int32),
                np.where(leaf, -1, nodes["right"].astype(np.int64)).astype(np.int32),
                nodes["missing_go_to_left"].astype(bool),
                nodes["value"].astype(np.float64),
                np.array(model._baseline_prediction, dtype=np.float64).ravel(),
            )
            found._check(model.n_features_in_, len(model.classes_))
            asked = np.asarray(rows[:_ASKED], dtype=np.float32)
            off = np.abs(found.probabilities(asked) - model.predict_proba(asked)).max()
            if not off <= _AGREEMENT:
                raise ValueError(f"probabilities differ by {off:.2g}")
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            import sklearn

            raise RuntimeError(
                f"scikit-learn {sklearn.__version__} keeps its boosted trees in a form not known here "
                f"({error}): use another version of it"
            ) from error
        return found

    @classmethod
    def loaded(cls, tensors: Tensors, width: int, classes: int) -> Trees:
        """What `tensors` gave, taken out of ``tensors``, or a ValueError: indices are within, walks end."""
        starts = take(tensors, "starts", np.int64, (None,))
        base = take(tensors, "base", np.float64, (None,))
        count = tensors["feature"].shape[:1]
        # A threshold may be infinite: all numbers go to the left, gaps to the right.
        threshold = np.array(tensors.pop("threshold"))
        own = {name: take(tensors, name, kind, count) for name, kind in _NODES.items() if name != "threshold"}
        if threshold.dtype != np.float64 or threshold.shape != count or np.isnan(threshold).any():
            raise ValueError(f"its tensor 'threshold' must be {count[0]} numbers, float64")
        found = cls(starts=starts, base=base, threshold=threshold, **own)
        found._check(width, classes)
        return found

    def _check(self, width: int, classes: int) -> None:
        sizes, count = np.diff(self.starts), len(self.feature)
        apart = (sizes < 1) | (sizes > count)
        if len(sizes) == 0 or self.starts[0] != 0 or self.starts[-1] != count or apart.any():
            raise ValueError("its trees do not fit together")
        if len(self.base) not in (classes, _outputs(classes)) or len(sizes) % len(self.base):
            raise ValueError(f"its trees are not those of {classes} classes")
        own = np.arange(count) - np.repeat(self.starts[:-1], sizes)
        inner = self.left >= 0
        limit = np.repeat(sizes, sizes)
        for child in (self.left, self.right):
            # A child behind its parent: no walk goes in a circle.
            if (child[inner] <= own[inner]).any() or (child[inner] >= limit[inner]).any():
                raise ValueError("its trees name nodes that they do not have")
        if (self.feature[inner] < 0).any() or (self.feature[inner] >= width).any():
            raise ValueError(f"a tree uses a feature index >= {width}")

    def tensors(self) -> Tensors:
        """All arrays by name."""
        return dict(vars(self))

    def margins(self, features: NDArray, n_threads: int = 1) -> Array:
        """(N, outputs), of features in single precision."""
        rows = np.ascontiguousarray(features, dtype=np.float32)
        found = np.tile(self.base, (len(rows), 1))
        arrays = (self.starts, self.feature, self.threshold, self.left, self.right)

        def work(first: int, last: int) -> None:
            _core.walk(rows[first:last], *arrays, self.missing_left, self.value, found[first:last])

        run_pieces(work, pieces(len(rows), _PIECE), n_threads)
        return found

    def probabilities(self, features: NDArray, n_threads: int = 1) -> Array:
        """(N, classes): the softmax of the margins."""
        return softmax(_of_all_classes(self.margins(features, n_threads)))
