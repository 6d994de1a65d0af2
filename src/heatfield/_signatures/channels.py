"""The signatures of a point, each described once: for tables, files, networks, the viewer and the plots.

A new signature is one entry of `CHANNELS`. It is read off `Signatures`, as the attribute of its name or by a
function, and then appears in ``per_point``, in per-point files, in the viewer, in
`heatfield.plot.local_signatures` and among the features of points for networks, wherever its entry says so.
The descriptor is not among them: its columns are frozen by a schema number (`_features.layout`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.check import Array
from . import shape

if TYPE_CHECKING:
    from ..core.outputs import Outputs
    from .signatures import Signatures

# From values (m, T) of points in n dimensions to the ends of the colour ramp.
Ends = Callable[[Array, int], tuple[float, float]]


def fixed(low: float, high: float) -> Ends:
    """The same ends for every cloud."""
    return lambda _values, _n: (low, high)


def _symmetric(values: Array, _n: int) -> tuple[float, float]:
    """Around zero, without the largest twentieth, so that the rest can be told apart."""
    bend = float(np.nanpercentile(np.abs(values), 95)) or 1.0
    return -bend, bend


@dataclass(frozen=True)
class Channel:
    """One signature of a point at every scale: an array (m, T), or (m, T, n) with one number per axis."""

    name: str  # of the attribute, the file columns and the block of features
    symbol: str  # as the paper writes it
    label: str  # in the viewer's menu; numbers per axis are labelled by their symbol
    read: Callable[[Any], Array | None] | None = None  # where it is no attribute of Signatures
    per_axis: bool = False  # largest first
    unit: str = ""  # "" for a pure number
    log: bool = False  # spans decades: drawn as its logarithm, which networks are offered too
    ramp: str = "column"  # which colours: "density", "dimension", "transition", "spectrum" or "column"
    ends: Ends | None = None  # None: each scale from its 2nd to its 98th percentile
    menu: int = 9  # place in the viewer's menu; entries of the same place stay in the order of the registry
    in_table: bool = True  # in per_point() and in per-point files
    drawn: bool = True  # in the viewer and the plots
    learned: bool = True  # a block of features of points for networks
    with_spectrum: bool = False  # cannot be read off signatures without the spectrum
    on_request: bool = False  # in tables, files and networks only where it is asked for by its name
    with_directions: bool = False  # cannot be read off signatures without the directions
    axes: str = ""  # letters of the axes where they are those of space, not of the spectrum

    def values(self, s: Signatures | Outputs) -> Array | None:
        """(m, T) or (m, T, n); None where it was not asked for."""
        return getattr(s, self.name) if self.read is None else self.read(s)


def _derived(name: str, symbol: str, label: str, read: Callable[[Any], Array | None], **more: Any) -> Channel:
    """A column that follows from spectrum and directions: never drawn or learned from unasked."""
    return Channel(
        name, symbol, label, read=read, ends=fixed(0.0, 1.0), drawn=False, learned=False,
        with_spectrum=True, on_request=True, **more,
    )  # fmt: skip


CHANNELS: tuple[Channel, ...] = (
    Channel("density", "u", "density (heat field)", unit="length^-n", log=True, ramp="density", menu=3),
    Channel(
        "dimension", "d", "heat dimension",
        ramp="dimension", ends=lambda _values, n: (0.0, float(min(n, 3))), menu=0,
    ),
    Channel(
        "transition", "τ", "transition (change with scale)", ramp="transition", ends=_symmetric, menu=2
    ),
    Channel("spectrum", "2tλ", "spectrum", per_axis=True, ramp="spectrum", ends=fixed(-1.0, 0.5),
        menu=4, with_spectrum=True),
    _derived("linearity", "L", "linearity (filament)", shape.linearity),
    _derived("planarity", "P", "planarity (surface)", shape.planarity),
    _derived("sphericity", "S", "sphericity (volume)", shape.sphericity),
    _derived("verticality", "V", "verticality", shape.verticality, with_directions=True),
    _derived("normal", "n", "normal", shape.normals, with_directions=True, per_axis=True, axes="xyz"),
)  # fmt: skip


@dataclass(frozen=True)
class Column:
    """One number per point and scale: a channel, or a channel along one axis."""

    channel: Channel
    axis: int | None
    values: Array  # (m, T)

    @property
    def name(self) -> str:
        """``dimension``, ``spectrum1``."""
        if self.axis is None:
            return self.channel.name
        return f"{self.channel.name}{self.channel.axes[self.axis : self.axis + 1] or self.axis + 1}"

    @property
    def label(self) -> str:
        """Words for a menu."""
        if self.axis is None:
            return self.channel.label
        number = "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(self.axis + 1))
        which = ("largest", "second", "third")[self.axis] if self.axis < 3 else f"{self.axis + 1}th"
        return f"{self.channel.symbol}{number}, {which} direction"

    @property
    def title(self) -> str:
        """Short words for an axis, as matplotlib sets them."""
        if self.axis is None:
            return f"log {self.name}" if self.channel.log else self.name
        symbol = self.channel.symbol.replace("λ", "\\lambda")
        return f"${symbol}_{self.axis + 1}$"


def columns_of(channel: Channel, s: Signatures) -> list[Column]:
    """The numbers of one channel; none where it was not asked for."""
    values = channel.values(s)
    if values is None:
        return []
    if not channel.per_axis:
        return [Column(channel, None, values)]
    return [Column(channel, k, values[:, :, k]) for k in range(values.shape[2])]


def table_channels(names: Sequence[str] | None = None) -> list[Channel]:
    """Those of these names, in the order of the registry; None is all that need no asking.

    A wrong name is a ValueError.
    """
    if names is None:
        return [channel for channel in CHANNELS if channel.in_table and not channel.on_request]
    known = [channel.name for channel in CHANNELS if channel.in_table]
    wanted = (names,) if isinstance(names, str) else tuple(names)
    wrong = [name for name in wanted if name not in known]
    if wrong or not wanted:
        raise ValueError(f"channels must be some of {', '.join(map(repr, known))}, got {wanted!r}")
    return [channel for channel in CHANNELS if channel.name in wanted]


def values_of(name: str, s: Signatures) -> Array:
    """One channel by its name; what it needs and lacks is a ValueError."""
    channel = next(c for c in CHANNELS if c.name == name)
    values = channel.values(s)
    if values is not None:
        return values
    if channel.with_directions and s.directions is None:
        raise ValueError(f"{name} needs the directions; compute signatures with with_directions=True")
    if channel.with_spectrum and s.spectrum is None:
        raise ValueError(f"{name} needs the spectrum; compute signatures with with_spectrum=True")
    n = 0 if s.spectrum is None else s.spectrum.shape[2]
    raise ValueError(f"{name} is not defined for points of {n} coordinate{'s' * (n != 1)}")


def point_names(s: Signatures, names: Sequence[str] | None = None) -> list[str]:
    """Names of the columns of `point_table`."""
    columns = [column for channel in table_channels(names) for column in columns_of(channel, s)]
    return [f"{column.name}_s{a}" for a in range(s.dimension.shape[1]) for column in columns]


def point_table(s: Signatures, names: Sequence[str] | None = None) -> Array:
    """The channels of ``per_point`` side by side, scale by scale."""
    if names is None:
        found = [channel.values(s) for channel in table_channels()]
    else:
        found = [values_of(channel.name, s) for channel in table_channels(names)]
    table = np.concatenate([v[:, :, None] if v.ndim == 2 else v for v in found if v is not None], axis=2)
    return table.reshape(table.shape[0], table.shape[1] * table.shape[2])


def file_columns(s: Signatures, names: Sequence[str] | None = None) -> dict[str, Array]:
    """``density_s0 .. dimension_s0 .. transition_s0 .. spectrum1_s0 ..``: columns of a file of points."""
    return {
        f"{column.name}_s{a}": column.values[:, a]
        for channel in table_channels(names)
        for column in columns_of(channel, s)
        for a in range(column.values.shape[1])
    }


def drawn_columns(s: Signatures) -> Iterator[Column]:
    """What can be drawn, in the order of the registry."""
    for channel in CHANNELS:
        if channel.drawn:
            yield from columns_of(channel, s)


def learned_blocks() -> tuple[str, ...]:
    """Names of the blocks of features for networks: a channel, and its logarithm where it spans decades."""
    return tuple(
        name
        for channel in CHANNELS
        if channel.learned
        for name in ((channel.name, f"log_{channel.name}") if channel.log else (channel.name,))
    )


def blocks_with_spectrum() -> set[str]:
    """Those of the blocks that need the spectrum."""
    return {block for block in learned_blocks() if _channel(block).with_spectrum}


def block_columns(block: str, n: int) -> list[str]:
    """Names of the numbers of a block in n dimensions, at one scale."""
    return [f"{block}_{k + 1}" for k in range(n)] if _channel(block).per_axis else [block]


def block_values(block: str, s: Signatures | Outputs) -> Array:
    """The numbers of a block, (m, T, columns)."""
    channel = _channel(block)
    values = channel.values(s)
    assert values is not None, block
    values = values if values.ndim == 3 else values[:, :, None]
    return values if block == channel.name else np.log(values)


def reordered(s: Signatures, rows: np.ndarray) -> Signatures:
    """The signatures of the same points in another order, or of some of them."""
    own = {field.name for field in fields(s)}
    names = ["directions", *(c.name for c in CHANNELS if c.read is None and c.name in own)]
    tables = ((name, getattr(s, name)) for name in names)
    local: dict[str, Any] = {name: None if table is None else table[rows] for name, table in tables}
    return replace(s, **local)


def _channel(block: str) -> Channel:
    return next(c for c in CHANNELS if block == c.name or (c.log and block == f"log_{c.name}"))
