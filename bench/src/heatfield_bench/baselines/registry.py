"""What all baselines share: their entries in the registry, and `fit`, checks and predictions of classifiers.

`baseline` on a class is its one entry: the list of methods, the extras that they need, recipes, published
figures and the order of rows in tables are read from it. A module of this folder is found by itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from heatfield._base.check import Array, as_clouds
from heatfield.features.descriptor import CloudEstimator, check_same_dims
from heatfield.models.read_out import Labels, checked_training

from .._tools import install, missing

C = TypeVar("C", bound=type)
# What a row of a table may be shown in besides the main one; the last two are of descriptors alone.
BESIDE = ("rotation", "runtime", "curve", "robustness")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A row of the tables."""

    name: str
    kind: type
    recipe: str  # where it comes from
    order: int  # where tables show it
    cost: float  # as of `Method`
    needs: str = ""  # extras, separated by commas
    published: Mapping[str, str] = field(default_factory=dict)  # by table, as `_methods.SETS` has the columns
    options: Mapping[str, Any] = field(default_factory=dict)  # that differ from the defaults of the class
    beside: tuple[str, ...] = BESIDE  # tables that show it besides the main one

    @property
    def extras(self) -> tuple[str, ...]:
        """By name."""
        return tuple(self.needs.split(",")) if self.needs else ()


_ENTRIES: list[Entry] = []


def baseline(name: str, **entry: Any) -> Callable[[C], C]:
    """Decorate a method that the paper compares with, once for each row that it makes: see `Entry`."""

    def register(kind: C) -> C:
        _ENTRIES.append(Entry(name=name, kind=kind, **entry))
        return kind

    return register


@cache
def entries() -> tuple[Entry, ...]:
    """All rows in their order; the modules of this folder are imported."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"{__package__}.{module.name}")
    return tuple(sorted(_ENTRIES, key=lambda entry: entry.order))


def classes() -> dict[str, type]:
    """The classes of all rows by name, in the order of their rows."""
    return {entry.kind.__name__: entry.kind for entry in entries()}


def available() -> dict[str, str]:
    """All baselines: what each needs that is not installed here, else its recipe and size.

    Guide: ``heatfield docs guide/baselines``.

    Returns
    -------
    words : dict
        By the name of the class. The size is that of its network, with 3 coordinates and 40 classes.

    Examples
    --------
    >>> import heatfield_bench as hb
    >>> list(hb.baselines.available())[4:9]
    ['PointNet', 'PointNet2', 'DGCNN', 'PointTransformer', 'VNDGCNN']
    >>> hb.baselines.available()["WKS"]
    'Aubry et al. 2011'
    """
    found: dict[str, str] = {}
    for entry in entries():
        name, absent, words = entry.kind.__name__, missing(entry.extras), entry.recipe
        if absent:
            words = f"{name} needs {', '.join(absent)}: {install(entry.needs)}"
        elif hasattr(entry.kind, "parameter_count"):
            words += f"; {entry.kind.parameter_count(40):,} parameters"
        found.setdefault(name, words)
    return found


def yes_or_no(value: Any, name: str) -> bool:
    """A check of options: True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


class BaselineClassifier(ClassifierMixin, CloudEstimator):
    """A classifier over lists of clouds.

    A subclass learns (`_learn`), turns clouds into what its model is fed with (`_inputs`; by default they
    are that) and gives probabilities of it (`_probabilities`).
    """

    def _learn(self, clouds: list[Array], labels: NDArray[np.int64], n_classes: int) -> None:
        """Learn from checked clouds and positions of classes."""
        raise NotImplementedError

    def _probabilities(self, inputs: Any) -> Array:
        raise NotImplementedError

    def _inputs(self, clouds: list[Array]) -> Any:
        return clouds

    def _checked_inputs(self, clouds: Sequence[ArrayLike]) -> Any:
        """Of new clouds."""
        check_is_fitted(self, "classes_")
        checked = as_clouds(clouds)
        check_same_dims(checked, self.n_dims_, type(self).__name__)
        return self._inputs(checked)

    def fit(self, clouds: Sequence[ArrayLike], y: Labels) -> Self:
        """Learn from a list of clouds and their labels.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)
        y : sequence of N labels

        Returns
        -------
        self
        """
        checked, labels = checked_training(clouds, y)
        self._forget()
        classes, positions = np.unique(labels, return_inverse=True)
        self._learn(checked, positions.astype(np.int64), len(classes))
        self.n_dims_, self.classes_ = checked[0].shape[1], classes
        return self

    def predict_proba(self, clouds: Sequence[ArrayLike]) -> Array:
        """The probability of each class for each cloud.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)

        Returns
        -------
        probabilities : (N, classes)
        """
        return self._probabilities(self._checked_inputs(clouds))

    def predict(self, clouds: Sequence[ArrayLike]) -> NDArray[Any]:
        """The most probable class of each cloud.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)

        Returns
        -------
        labels : (N,)
        """
        return self.classes_[self.predict_proba(clouds).argmax(axis=1)]
