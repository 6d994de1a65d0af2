"""What all baselines share: an entry in the registry, and as classifiers `fit`, checks and saved models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from heatfield._base.check import Array
from heatfield._features.cloud_input import check_same_dims
from heatfield.models.classifier import CloudClassifier
from heatfield.models.heads import Tensors
from heatfield.models.read_out import InputRange, Labels, checked_training, diameters_of
from heatfield.models.saving import load_estimator

C = TypeVar("C", bound=type)


@dataclass(frozen=True)
class Entry:
    """What the registry knows of a baseline.

    ``needs`` are extras of the installation; ``rows`` are the rows of tables that it makes, by name, with the
    options in which they differ from the defaults; ``cost`` is that of a row, as of `Method`.
    """

    needs: tuple[str, ...]
    source: str
    cost: float
    rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def baseline(
    source: str, needs: str = "", *, cost: float, rows: Mapping[str, Mapping[str, Any]] | None = None
) -> Callable[[C], C]:
    """Decorate a method that the paper compares with; without ``rows`` it makes one of its own name."""

    def register(kind: C) -> C:
        kind.entry = Entry(  # type: ignore[attr-defined]
            tuple(needs.split(",")) if needs else (), source, cost, rows or {kind.__name__: {}}
        )
        return kind

    return register


def yes_or_no(value: Any, name: str) -> bool:
    """A check of options: True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


class BaselineClassifier(CloudClassifier):
    """A classifier over lists of clouds that can be saved.

    A subclass learns (`_learn`), knows the dimension of the points (``n_dims_``), turns clouds into what its
    model is fed with (`_inputs`; by default they are that) and gives probabilities of it (`_probabilities`).
    What it learnt goes into files by `_packed` and `_unpack`.
    """

    entry: ClassVar[Entry]

    def _learn(self, clouds: list[Array], labels: np.ndarray) -> Any:
        """Learn from clouds and labels that were checked; sets ``classes_`` last."""
        raise NotImplementedError

    def _unpack(self, metadata: Mapping[str, Any], tensors: Tensors) -> None:
        """Set what `_packed` gave, checked, and remove it from ``tensors``; ``classes_`` are known."""
        raise NotImplementedError

    def _inputs(self, clouds: list[Array]) -> Any:
        return clouds

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
        self._fit(clouds, y)
        return self

    def _fit(self, clouds: Sequence[ArrayLike], y: Labels) -> Any:
        """`fit`, and what `_learn` gives."""
        checked, labels = checked_training(clouds, y)
        self._forget()
        found = self._learn(checked, labels)
        self.n_clouds_ = len(labels)
        return found

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> Self:
        """A model that `save` wrote. No code is run; a changed or mismatched file is a `ReadError`.

        Parameters
        ----------
        folder : path-like
        device : str
            Where a network shall be: "cpu", "cuda", ...; "auto" is a GPU if there is one.

        Returns
        -------
        model

        Examples
        --------
        >>> import heatfield_bench as hb
        >>> hb.baselines.DescriptorClassifier.load("no such folder")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        heatfield.io._error.ReadError: no such folder: there is no model: ...
        """

        def unpack(model: Self, metadata: dict[str, Any], tensors: Tensors) -> None:
            if hasattr(model, "device"):
                model.device = device
            model._unpack(metadata, tensors)
            model._unpack_common(metadata)

        return load_estimator(cls, folder, unpack, apart=cls._apart)

    def _compute(self, clouds: list[Array]) -> Any:
        check_same_dims(clouds, self.n_dims_, type(self).__name__)
        return self._inputs(clouds)


def range_of(clouds: Sequence[Array]) -> InputRange:
    """The range of some training clouds."""
    return InputRange.of(diameters_of(clouds), [len(cloud) for cloud in clouds])
