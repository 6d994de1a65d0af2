"""Gradient-boosted trees as plain arrays: grown by scikit-learn, walked in C++, saved as numbers.

A saved model holds no objects, so loading it runs no code; and every index is checked first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._base.check import Array
from .._base.threads import pieces, run_pieces

_PIECE = 4096
_TYPES = {
    "starts": np.int64, "feature": np.int32, "threshold": np.float64, "left": np.int32, "right": np.int32,
    "missing_left": np.bool_, "value": np.float64, "base": np.float64,
}  # fmt: skip


@dataclass(frozen=True)
class Trees:
    """Tree t holds the nodes starts[t] to starts[t + 1], root first, and adds to the margin t modulo outputs.

    A node sends a row whose ``feature`` is at most ``threshold`` to ``left``, else to ``right``, counted from
    the root; a gap goes where ``missing_left`` says. A leaf has left = -1.
    """

    starts: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: Array
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    value: Array
    base: Array  # (1,) for two classes, else (classes,)

    @classmethod
    def of(cls, model: Any) -> Trees:
        """What a fitted HistGradientBoostingClassifier grew."""
        grown = [tree.nodes for stage in model._predictors for tree in stage]
        nodes = np.concatenate(grown)
        leaf = nodes["is_leaf"].astype(bool)
        if nodes["is_categorical"].any():
            raise ValueError("trees with categories are not kept: give numbers only")
        sizes = [len(tree) for tree in grown]
        return cls(
            starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            feature=nodes["feature_idx"].astype(np.int32),
            threshold=nodes["num_threshold"].astype(np.float64),
            left=np.where(leaf, -1, nodes["left"].astype(np.int64)).astype(np.int32),
            right=np.where(leaf, -1, nodes["right"].astype(np.int64)).astype(np.int32),
            missing_left=nodes["missing_go_to_left"].astype(bool),
            value=nodes["value"].astype(np.float64),
            base=np.asarray(model._baseline_prediction, dtype=np.float64).ravel(),
        )

    def probabilities(self, features: NDArray[np.float32], n_threads: int = 1) -> Array:
        """(N, classes): the softmax of the margins, or the logistic function of the one margin."""
        margins = np.tile(self.base, (len(features), 1))
        arrays = (self.starts, self.feature, self.threshold, self.left, self.right)

        def work(first: int, last: int) -> None:
            _core.walk(features[first:last], *arrays, self.missing_left, self.value, margins[first:last])

        run_pieces(work, pieces(len(features), _PIECE), n_threads)
        if margins.shape[1] == 1:
            margins = np.concatenate([np.zeros_like(margins), margins], axis=1)
        shifted = np.exp(margins - margins.max(axis=1, keepdims=True, initial=-np.inf))
        return shifted / shifted.sum(axis=1, keepdims=True)

    def tensors(self) -> dict[str, NDArray]:
        """All arrays by name."""
        return {name: getattr(self, name) for name in _TYPES}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, NDArray], width: int, classes: int) -> Trees:
        """The trees that `tensors` gave, or a ValueError: every index is within its tree and walks end."""
        for name, dtype in _TYPES.items():
            if name not in tensors or tensors[name].dtype != dtype or tensors[name].ndim != 1:
                raise ValueError(f"its trees have no array {name!r} of {np.dtype(dtype)}")
        found = cls(**{name: np.ascontiguousarray(tensors[name]) for name in _TYPES})
        found._check(width, classes)
        return found

    def _check(self, width: int, classes: int) -> None:
        count = len(self.feature)
        outputs = 1 if classes == 2 else classes
        sizes = np.diff(self.starts)
        same = all(
            len(getattr(self, n)) == count for n in ("threshold", "left", "right", "missing_left", "value")
        )
        if not same or len(self.starts) < 2 or self.starts[0] != 0 or self.starts[-1] != count:
            raise ValueError("its trees do not fit together")
        if (sizes < 1).any() or len(sizes) % outputs or self.base.shape != (outputs,):
            raise ValueError(f"its trees are not those of {classes} classes")
        own = np.arange(count) - np.repeat(self.starts[:-1], sizes)
        inner = self.left >= 0
        limit = np.repeat(sizes, sizes)
        for child in (self.left, self.right):
            # A child behind its parent: no walk goes in a circle.
            if (child[inner] <= own[inner]).any() or (child[inner] >= limit[inner]).any():
                raise ValueError("its trees name nodes that they do not have")
        if (self.feature[inner] < 0).any() or (self.feature[inner] >= width).any():
            raise ValueError(f"its trees read features beyond the {width} that there are")
        if not np.isfinite(self.value).all() or not np.isfinite(self.base).all():
            raise ValueError("its trees hold values that are not finite")
