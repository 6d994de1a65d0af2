"""Features of single points at lengths that all clouds share: which they are, and their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array, as_lengths, check_choice, check_count, check_number, check_tol
from ..channels import request_for, values_of
from ..core.clouds import ArrangedCloud, Targets
from ..core.evaluate import Outputs, evaluate
from ..features.blocks.neighbourhood import deviation_at_points, pairs_of_scales
from ..options import names

Features = NDArray[np.float32]

# Raised when the features of a point change their meaning or order: models that were fed others are refused.
SCHEMA = "points-1"
SHAPE = ("linearity", "planarity", "sphericity", "verticality")
# The finest length over that of "fine". Weights exp(-D^2 / 4t) have the second moment of a ball of
# radius sqrt(10 t): at sqrt(t) = length / sqrt(10) they see what a ball of that length sees.
FINER = 10.0**0.5
_CELL = 4.0  # the default cell of "height" is so many times the largest length wide
_BELOW_FLOOR = 0.01  # of the points in a cell; single points under the ground are not its floor
_TOGETHER = 1_000_000  # points whose outputs, eigenvectors among them, are in memory together


@dataclass(frozen=True)
class _Local:
    """A block of signatures at the point itself: names of its columns at one length, and their values."""

    names: Callable[[int], Sequence[str]]  # of the dimension
    values: Callable[[Outputs, float], Array]  # of outputs and tolerance: (q, T) or (q, T, columns)
    channels: tuple[str, ...]  # which it is read from
    fine: bool = True  # whether "fine" holds it


def _shape(n: int) -> list[str]:
    return [name for name in SHAPE if n == 3 or name != "planarity"]


def _shape_values(found: Outputs, tol: float) -> Array:  # noqa: ARG001
    return np.stack([values_of(name, found) for name in _shape(found.spectrum.shape[2])], axis=2)


def _uprightness(found: Outputs, tol: float) -> Array:
    # Where the two largest extents are equal within the tolerance there is no such direction.
    known = found.spectrum[:, :, 0] - found.spectrum[:, :, 1] > tol
    return np.where(known, np.abs(found.directions[:, :, 0, -1]), np.nan)


def _own(name: str, *, fine: bool = True) -> _Local:
    """A signature under its own name."""
    return _Local(lambda _: [name], lambda found, _: found[name], (name,), fine)


# In the order of the columns. "shape": linearity, planarity, sphericity and verticality; "direction": how
# upright the direction of the largest extent is.
_LOCAL = {
    "density": _Local(lambda _: ["log_density"], lambda found, _: np.log(found.density), ("density",)),
    "dimension": _own("dimension"),
    "transition": _own("transition", fine=False),
    "spectrum": _Local(
        lambda n: [f"spectrum{k + 1}" for k in range(n)], lambda found, _: found.spectrum, ("spectrum",)
    ),
    "shape": _Local(_shape, _shape_values, ("spectrum", "directions")),
    "direction": _Local(lambda _: ["uprightness"], _uprightness, ("spectrum", "directions")),
    "gradient": _own("gradient"),
}
# "fine": what is known at one length, a finer one.
BLOCKS = (*_LOCAL, "fine", "neighbourhood", "height")
DEFAULT_BLOCKS = tuple(block for block in BLOCKS if block != "neighbourhood")


@dataclass(frozen=True)
class PointFeatureSettings:
    """All that decides the features of a point, besides the cloud; a wrong value is a ValueError."""

    n_dims: int
    lengths: tuple[float, ...]
    blocks: tuple[str, ...] = None  # type: ignore[assignment]  # None: `DEFAULT_BLOCKS`
    columns: tuple[str, ...] = None  # type: ignore[assignment]  # None: no columns of the file
    cell: float = None  # type: ignore[assignment]  # None: by the largest length
    tol: float = None  # type: ignore[assignment]  # None: 1e-6

    def __post_init__(self) -> None:
        if check_count(self.n_dims, "n_dims", 2) > 3:
            raise ValueError(
                f"points must have 2 or 3 coordinates to be classified one by one, got {self.n_dims}"
            )
        lengths = as_lengths(self.lengths, least=2)
        assert lengths is not None
        cell = _CELL * lengths[-1] if self.cell is None else check_number(self.cell, "cell", above=0)
        checked = {
            "lengths": lengths,
            "blocks": self._checked_blocks(),
            "columns": names(self.columns or (), "columns"),
            "cell": cell,
            "tol": check_tol(self.tol, np.dtype(np.float64)),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _checked_blocks(self) -> tuple[str, ...]:
        chosen = DEFAULT_BLOCKS if self.blocks is None else names(self.blocks, "blocks")
        for block in chosen:
            check_choice(block, "blocks", BLOCKS)
        if self.n_dims == 2:  # the normal says it all in the plane
            chosen = tuple(block for block in chosen if block != "direction")
        if not chosen:
            raise ValueError(f"blocks must be some of {', '.join(map(repr, BLOCKS))}, got {self.blocks!r}")
        return tuple(block for block in BLOCKS if block in chosen)

    @property
    def names(self) -> list[str]:
        """Names of the features: ``dimension_s0`` is the heat dimension at the first length."""
        return [name for _, names in self.columns_of_blocks() for name in names]

    def columns_of_blocks(self) -> list[tuple[str, list[str]]]:
        """Each block with the names of its columns, in the order of the features."""
        found = [(block, self._block_names(block)) for block in self.blocks]
        return found + [(f"column {name}", [name]) for name in self.columns]

    def _block_names(self, block: str) -> list[str]:
        if block == "height":
            return ["height"]
        if block == "neighbourhood":
            fields = [name for own in ("density", "dimension", "spectrum") for name in self._at_length(own)]
            pairs = pairs_of_scales(len(self.lengths))
            return [f"neighbourhood_{f}_s{a}_s{b}" for f in fields for a, b in pairs]
        if block == "fine":
            return [f"{name}_fine" for own in self.fine_blocks for name in self._at_length(own)]
        return [f"{name}_s{a}" for a in range(len(self.lengths)) for name in self._at_length(block)]

    def _at_length(self, block: str) -> Sequence[str]:
        return _LOCAL[block].names(self.n_dims)

    @property
    def fine_blocks(self) -> tuple[str, ...]:
        """The blocks that "fine" holds, whichever others are chosen."""
        own = [block for block, entry in _LOCAL.items() if entry.fine]
        return tuple(block for block in own if self.n_dims == 3 or block != "direction")

    @property
    def fine_length(self) -> float:
        """The length of "fine", the finest one that is given over the root of ten."""
        return self.lengths[0] / FINER

    def metadata(self) -> dict[str, Any]:
        """As JSON values."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


def features_at_lengths(
    points: Array,
    settings: PointFeatureSettings,
    columns: Mapping[str, Any] | None = None,
    rows: NDArray[np.int64] | None = None,
    n_threads: int = 1,
) -> Features:
    """Features (q, F) at the chosen rows of a cloud, None for all; NaN where they are not defined."""
    wanted = np.arange(len(points)) if rows is None else np.asarray(rows, dtype=np.int64)
    blocks = {block: len(own) for block, own in settings.columns_of_blocks()}
    out = np.empty((len(wanted), sum(blocks.values())), np.float32)
    if len(wanted) == 0:
        return out
    views = _views(out, blocks)
    if "height" in views:
        views.pop("height")[:] = height_above_floor(points, settings.cell)[wanted, None]
    for name in settings.columns:
        views.pop(f"column {name}")[:] = _column(columns, name, len(points))[wanted, None]
    if not views:
        return out
    cloud = ArrangedCloud.of(points, n_threads)
    if "fine" in views:
        finer = {block: len(settings._at_length(block)) for block in settings.fine_blocks}
        own = _views(views.pop("fine"), finer)
        _write_signatures(cloud, wanted, [settings.fine_length], own, settings.tol, n_threads)
    if views:
        _write_signatures(cloud, wanted, settings.lengths, views, settings.tol, n_threads)
    return out


def _views(table: Features, widths: Mapping[str, int]) -> dict[str, Features]:
    """The columns of each block of a table."""
    ends = np.cumsum(list(widths.values()))
    return {block: table[:, end - widths[block] : end] for block, end in zip(widths, ends, strict=True)}


def _write_signatures(
    cloud: ArrangedCloud,
    wanted: NDArray[np.int64],
    lengths: Sequence[float],
    views: Mapping[str, Features],
    tol: float,
    n_threads: int,
) -> None:
    """Compute the blocks that come from sums over all points, and write them to their columns."""
    m, times = cloud.order.size, np.square(lengths)[None, :]
    local = {block: _LOCAL[block] for block in views if block in _LOCAL}
    channels = {name for entry in local.values() for name in entry.channels}
    if "neighbourhood" in views:
        channels |= {"density", "dimension", "spectrum"}
    request = request_for(channels, tol=tol, n_threads=n_threads)
    # At most points or all, the sums at all of them are faster; the neighbourhood needs them anyway.
    everywhere = "neighbourhood" in views or (len(wanted) > m // 2 and m <= _TOGETHER)
    step = len(wanted) if everywhere else _TOGETHER
    for first in range(0, len(wanted), step):
        some = wanted[first : first + step]
        targets = None if everywhere else Targets.at_indices(cloud, some)
        found = evaluate(cloud, targets, times, request)
        rows = some if everywhere else np.arange(len(some))
        if "neighbourhood" in views:
            second = np.empty((m, views["neighbourhood"].shape[1]), np.float32)
            second[cloud.order] = deviation_at_points(cloud, times, found, request).T
            views["neighbourhood"][:] = second[wanted]
        found.local.turn_round(found.rows, n_threads)
        for block, entry in local.items():
            values = entry.values(found.local, tol)[rows]
            views[block][first : first + step] = values.reshape(len(rows), -1)


def _column(columns: Mapping[str, Any] | None, name: str, m: int) -> Array:
    """A column of the file as numbers."""
    if columns is None or name not in columns:
        known = ", ".join(map(repr, columns or {})) or "none"
        raise ValueError(f"the cloud has no column {name!r}; it has {known}")
    found = np.asarray(columns[name])
    if found.shape != (m,) or found.dtype.kind not in "fiub":
        raise ValueError(f"column {name!r} must hold {m} numbers, got {found.dtype} of shape {found.shape}")
    return found.astype(np.float64)


def height_above_floor(points: Array, cell: float) -> Array:
    """Last coordinate above the floor of the point's cell, a square column of side ``cell``.

    The floor is the lowest point, but for the lowest hundredth of the cell: in large cells a few points under
    the ground do not count. Cells are counted from the smallest coordinates of the cloud.

    Examples
    --------
    >>> height_above_floor(np.array([[0.0, 0, 5], [0.5, 0, 7], [9.0, 0, 3]]), cell=2.0).tolist()
    [0.0, 2.0, 0.0]
    """
    base = np.floor((points[:, :-1] - points[:, :-1].min(axis=0)) / cell)
    _, label = np.unique(base, axis=0, return_inverse=True)
    label = label.ravel()
    order = np.lexsort((points[:, -1], label))
    counts = np.bincount(label)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    floor = points[order[starts + (_BELOW_FLOOR * counts).astype(np.int64)], -1]
    return points[:, -1] - floor[label]
