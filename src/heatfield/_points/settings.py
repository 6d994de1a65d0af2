"""Which features of a point, at which lengths: checked once, and named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.check import check_choice, check_count, check_tol
from .._features.layout import scale_pairs
from .._features.settings import names_of
from .._signatures.scales import as_lengths

# In the order of the columns. "shape": linearity, planarity, sphericity and verticality; "direction": how
# upright the direction of the largest extent is; "fine": density, dimension, spectrum, shape, direction and
# gradient at one length that is finer than those given.
BLOCKS = (
    "density", "dimension", "transition", "spectrum", "shape", "direction", "gradient", "fine",
    "neighbourhood", "height",
)  # fmt: skip
DEFAULT_BLOCKS = tuple(block for block in BLOCKS if block != "neighbourhood")
SHAPE = ("linearity", "planarity", "sphericity", "verticality")
# The finest length over that of "fine". Weights exp(-D^2 / 4t) have the second moment of a ball of
# radius sqrt(10 t): at sqrt(t) = length / sqrt(10) they see what a ball of that length sees.
FINER = 10.0**0.5
# Blocks of which "fine" holds the values at its own length.
_OF_FINE = ("density", "dimension", "spectrum", "shape", "direction", "gradient")
# The default cell of "height" is so many times the largest length wide.
_CELL = 4.0


@dataclass(frozen=True)
class PointFeatureSettings:
    """All that decides the features of a point, besides the cloud; a wrong value is a ValueError."""

    n_dims: int
    lengths: tuple[float, ...]
    blocks: tuple[str, ...] | None = None
    columns: tuple[str, ...] = ()
    cell: float | None = None
    tol: float = 1e-4

    def __post_init__(self) -> None:
        n = check_count(self.n_dims, "n_dims", 2)
        if n > 3:
            raise ValueError(f"points must have 2 or 3 coordinates to be classified one by one, got {n}")
        lengths = as_lengths(self.lengths, least=2)
        assert lengths is not None
        checked = {
            "lengths": lengths,
            "blocks": self._checked_blocks(),
            "columns": names_of(self.columns or ()),
            "cell": self._checked_cell(lengths),
            "tol": check_tol(self.tol, np.dtype(np.float64)),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _checked_blocks(self) -> tuple[str, ...]:
        chosen = DEFAULT_BLOCKS if self.blocks is None else names_of(self.blocks)
        for block in chosen:
            check_choice(block, "blocks", BLOCKS)
        if self.n_dims == 2:  # the normal says it all in the plane
            chosen = tuple(block for block in chosen if block != "direction")
        if not chosen:
            raise ValueError(f"blocks must be some of {', '.join(map(repr, BLOCKS))}, got {self.blocks!r}")
        return tuple(block for block in BLOCKS if block in chosen)

    def _checked_cell(self, lengths: Sequence[float]) -> float:
        if self.cell is None:
            return _CELL * lengths[-1]
        try:
            found = float(self.cell)
        except (TypeError, ValueError):
            found = np.nan
        if not 0.0 < found < np.inf:
            raise ValueError(f"cell must be a positive length, got {self.cell!r}")
        return found

    @property
    def names(self) -> list[str]:
        """Names of the features: ``dimension_s0`` is the heat dimension at the first length."""
        return [name for _, names in self.columns_of_blocks() for name in names]

    def columns_of_blocks(self) -> list[tuple[str, list[str]]]:
        """Each block with the names of its columns, in the order of the features."""
        assert self.blocks is not None
        return [(block, self._block(block)) for block in self.blocks] + [
            (f"column {name}", [name]) for name in self.columns
        ]

    def _block(self, block: str) -> list[str]:
        steps = range(len(self.lengths))
        if block == "height":
            return ["height"]
        if block == "neighbourhood":
            fields = ("log_density", "dimension", *self._kinds("spectrum"))
            pairs = scale_pairs(len(self.lengths))
            return [f"neighbourhood_{f}_s{a}_s{b}" for f in fields for a, b in pairs]
        if block == "fine":
            return [f"{name}_fine" for own in self.fine_blocks() for name in self._kinds(own)]
        return [f"{name}_s{a}" for a in steps for name in self._kinds(block)]

    def _kinds(self, block: str) -> Sequence[str]:
        """Names of the columns of a block at one length."""
        shape = SHAPE if self.n_dims == 3 else tuple(name for name in SHAPE if name != "planarity")
        axes = [f"spectrum{k + 1}" for k in range(self.n_dims)]
        kinds: dict[str, Sequence[str]] = {"density": ["log_density"], "spectrum": axes, "shape": shape}
        return kinds.get(block, ["uprightness"] if block == "direction" else [block])

    def fine_blocks(self) -> tuple[str, ...]:
        """The blocks that "fine" holds: all that are known at one length, whichever others are chosen."""
        return tuple(block for block in _OF_FINE if self.n_dims == 3 or block != "direction")

    @property
    def fine_length(self) -> float:
        """The length of "fine", the finest one that is given over the root of ten."""
        return self.lengths[0] / FINER

    def facts(self) -> dict[str, Any]:
        """As JSON values."""
        assert self.blocks is not None
        return {
            "n_dims": self.n_dims,
            "lengths": list(self.lengths),
            "blocks": list(self.blocks),
            "columns": list(self.columns),
            "cell": self.cell,
            "tol": self.tol,
        }
