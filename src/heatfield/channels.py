"""The signatures of a point, each described once: for tables, files, networks, the viewer and the plots.

A new signature is one entry of `CHANNELS`. It is read off `Signatures`, as the attribute of its name or by a
function, and then appears in ``per_point``, in per-point files, in the viewer, in
`heatfield.plot.local_signatures` and among the features of points for networks, wherever its entry says so.
The descriptor is not among them: its columns are frozen by a schema number (`features.layout`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ._base.check import Array

if TYPE_CHECKING:
    from .core.evaluate import Outputs
    from .heat_signatures import Signatures

# What it is, its unit, what a high value means.
Words = tuple[str, str, str]
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
    words: Words  # {th} stands for the axis
    read: Callable[[Any], Array | None] | None = None  # where it is no attribute of Signatures
    per_axis: bool = False  # largest first
    log_words: Words | None = None  # spans decades: drawn as its logarithm, which networks are offered too
    ramp: str = "column"  # which colours: "density", "dimension", "transition", "spectrum" or "column"
    ends: Ends | None = None  # None: each scale from its 2nd to its 98th percentile
    menu: int = 9  # place in the viewer's menu; entries of the same place stay in the order of the registry
    in_table: bool = True  # in per_point() and in per-point files
    drawn: bool = True  # in the viewer and the plots
    learned: bool = True  # a block of features of points for networks
    with_spectrum: bool = False  # cannot be read off signatures without the spectrum
    on_request: bool = False  # in tables, files and networks only where it is asked for by its name
    with_directions: bool = False  # cannot be read off signatures without the directions
    attribute: str = ""  # of Signatures, where it is not the name
    axes: str = ""  # letters of the axes where they are those of space, not of the spectrum

    @property
    def log(self) -> bool:
        """Whether its logarithm is drawn and learned from."""
        return self.log_words is not None

    def values(self, s: Signatures | Outputs) -> Array | None:
        """(m, T) or (m, T, n); None where it was not asked for."""
        return getattr(s, self.name) if self.read is None else self.read(s)


# --- columns that follow from spectrum and directions ---------------------------------
#
# With e_k = 1 + 2t lambda_k, the eigenvalues of the weighted covariance around a point in units of 2t,
# largest first: linearity = (e_1 - e_2) / e_1, planarity = (e_2 - e_3) / e_1, sphericity = e_n / e_1. In 3-D
# they add up to 1. The normal is the direction of the smallest eigenvalue, and verticality = 1 - |n_z|.


def linearity(s: Any) -> Array | None:
    """(e_1 - e_2) / e_1; None without a spectrum, or where points have one coordinate."""
    e = _extents(s, 2)
    return None if e is None else _over(e[..., 0] - e[..., 1], e[..., 0])


def planarity(s: Any) -> Array | None:
    """(e_2 - e_3) / e_1, of points in space."""
    e = _extents(s, 3)
    return None if e is None else _over(e[..., 1] - e[..., 2], e[..., 0])


def sphericity(s: Any) -> Array | None:
    """e_n / e_1."""
    e = _extents(s, 2)
    return None if e is None else _over(e[..., -1], e[..., 0])


def normals(s: Any) -> Array | None:
    """The direction of the smallest eigenvalue, (m, T, n), pointing up; None without directions."""
    vectors = s.directions
    return None if vectors is None or vectors.shape[-1] < 2 else vectors[:, :, -1, :]


def verticality(s: Any) -> Array | None:
    """1 - |last coordinate of the normal|: 0 on level ground, 1 on a wall."""
    normal = normals(s)
    return None if normal is None else 1.0 - np.abs(normal[..., -1])


def _extents(s: Any, least: int) -> Array | None:
    """The eigenvalues of the covariance; rounding may put that of a flat cloud below 0."""
    n = 0 if s.spectrum is None else s.spectrum.shape[2]
    return None if not least <= n <= 3 else np.maximum(1.0 + s.spectrum, 0.0)


def _over(part: Array, whole: Array) -> Array:
    """NaN at a point without neighbours, which has no extent."""
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0.0)


# --- the registry ---------------------------------------------------------------------

_PURE = "pure number"


def _derived(
    name: str,
    symbol: str,
    label: str,
    words: tuple[str, str],
    read: Callable[[Any], Array | None],
    **more: Any,
) -> Channel:
    """A column that follows from spectrum and directions: never drawn or learned from unasked."""
    return Channel(
        name,
        symbol,
        label,
        (words[0], _PURE, words[1]),
        read=read,
        ends=fixed(0.0, 1.0),
        drawn=False,
        learned=False,
        with_spectrum=True,
        on_request=True,
        **more,
    )


CHANNELS: tuple[Channel, ...] = (
    Channel(
        "density",
        "u",
        "density (heat field)",
        ("heat field u", "length⁻ⁿ", "many points within about √t: a crowded place"),
        log_words=("log of the heat field, log u", "log of length⁻ⁿ", "a crowded place"),
        ramp="density",
        menu=3,
    ),
    Channel(
        "dimension",
        "d",
        "heat dimension",
        (
            "heat dimension d",
            _PURE,
            "space is filled at this scale: about 1 on a filament, 2 on a surface, 3 in a volume; near 0 a "
            "point has no neighbours in reach",
        ),
        ramp="dimension",
        ends=lambda _values, n: (0.0, float(min(n, 3))),
        menu=0,
    ),
    Channel(
        "transition",
        "τ",
        "transition (change with scale)",
        (
            "transition τ, change of d per unit of log t",
            _PURE,
            "d rises with the scale: points begin to have neighbours, or a thin part meets a thicker one. "
            "Below 0: the coarser view is simpler, as where thickness or the end of the cloud is reached. "
            "Junctions and boundaries have large values of either sign",
        ),
        ramp="transition",
        ends=_symmetric,
        menu=2,
    ),
    Channel(
        "spectrum",
        "2tλ",
        "spectrum",
        (
            "2tλ{sub}, {th} eigenvalue of the log-Hessian",
            _PURE,
            "0: neighbours extend evenly along this direction; -1: not at all; above 0: more far than near "
            "ones, as between two parts",
        ),
        per_axis=True,
        ramp="spectrum",
        ends=fixed(-1.0, 0.5),
        menu=4,
        with_spectrum=True,
    ),
    Channel(
        "gradient",
        "√(2t)|∇ log u|",
        "gradient of log u",
        (
            "length of the gradient of log u, √(2t)·|∇ log u|",
            _PURE,
            "neighbours lie to one side: ends, edges, and points beside something denser",
        ),
        in_table=False,
        drawn=False,
        with_spectrum=True,
        on_request=True,
    ),
    _derived(
        "linearity",
        "L",
        "linearity (filament)",
        ("(e₁ - e₂) / e₁", "1 on a filament, 0 on a surface and in a volume"),
        linearity,
    ),
    _derived(
        "planarity",
        "P",
        "planarity (surface)",
        ("(e₂ - e₃) / e₁", "1 on a surface, 0 on a filament and in a volume"),
        planarity,
    ),
    _derived(
        "sphericity",
        "S",
        "sphericity (volume)",
        ("eₙ / e₁", "1 in a volume, 0 on a filament or surface"),
        sphericity,
    ),
    _derived(
        "verticality",
        "V",
        "verticality",
        ("1 - |n_z| of the normal", "1 on a wall, 0 on level ground"),
        verticality,
        with_directions=True,
    ),
    _derived(
        "normal",
        "n",
        "normal",
        ("a coordinate of the unit normal, which points up", "the surface faces this axis"),
        normals,
        attribute="normals",
        with_directions=True,
        per_axis=True,
        axes="xyz",
    ),
)


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
        return f"{self.channel.symbol}{_subscript(self.axis)}, {_ordinal(self.axis)} direction"

    @property
    def title(self) -> str:
        """Short words for an axis, as matplotlib sets them."""
        if self.axis is None:
            return f"log {self.name}" if self.channel.log else self.name
        symbol = self.channel.symbol.replace("λ", "\\lambda")
        return f"${symbol}_{self.axis + 1}$"


def _subscript(axis: int) -> str:
    return "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(axis + 1))


def _ordinal(axis: int) -> str:
    return ("largest", "second", "third")[axis] if axis < 3 else f"{axis + 1}th"


def words_of(column: str) -> Words:
    """The words for ``dimension``, ``log_density``, ``spectrum2`` or ``normalx``; others are a ValueError."""
    for channel in CHANNELS:
        if channel.log_words and column == f"log_{channel.name}":
            return channel.log_words
        axis = column.removeprefix(channel.name)
        if (axis == column and axis) or bool(axis) != channel.per_axis:
            continue
        if axis in ("", *channel.axes):
            return channel.words
        if axis.isdecimal() and not channel.axes:
            what, unit, high = channel.words
            k = int(axis) - 1
            return what.format(sub=_subscript(k), th=_ordinal(k)), unit, high
    raise ValueError(f"{column!r} is not a column of points")


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


def block_columns(block: str, n: int) -> Iterator[str]:
    """Names of the numbers of a block in n dimensions, at one scale."""
    if _channel(block).per_axis:
        yield from (f"{block}_{k + 1}" for k in range(n))
    else:
        yield block


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
