"""The registry of local signatures: each is one entry, and tables, files, viewer, plots and networks follow.

An entry says by its ``formula`` how a signature follows from sums over pairs, or by ``read`` how it follows
from other channels that were computed. Its place, its words and its error on the fast path stand beside it.
All that it asks for is found in `signatures`, ``per_point``, files, the viewer, the plots, surveys
and the features of points. The descriptor has blocks of its own: its columns are frozen (`features.layout`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ._base.check import Array
from .core import bounds, formulas
from .core.moments import BY_NAME
from .core.planner import Request

if TYPE_CHECKING:
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
    formula: Callable[[Any], Any] | None = None  # from `core.evaluate.PointSums`, for NumPy and torch
    read: Callable[[Any], Array | None] | None = None  # or from channels, as attributes; None: not defined
    needs: tuple[str, ...] = ()  # moments that are not always summed; where it is read, those channels
    differences: str = ""  # without its moments: the differences of this channel across the scales
    bound: float = float("nan")  # of its error on the fast path, as a multiple of tol
    relative: bool = False  # whether that error is relative to its own size
    per_axis: bool = False  # largest first
    frame: bool = False  # per axis a vector
    log_words: Words | None = None  # spans decades: drawn as its logarithm, which networks are offered too
    ramp: str = "column"  # which colours: "density", "dimension", "transition", "spectrum" or "column"
    ends: Ends | None = None  # None: each scale from its 2nd to its 98th percentile
    menu: int = 9  # place in the viewer's menu; entries of the same place stay in the order of the registry
    in_table: bool = True  # in per_point() and in per-point files
    drawn: bool = True  # in the viewer and the plots
    learned: bool = True  # a block of features of points for networks
    on_request: bool = False  # computed, or in tables, files and networks, only where it is asked for by name
    attribute: str = ""  # of Signatures, where it is not the name
    axes: str = ""  # letters of the axes where they are those of space, not of the spectrum

    @property
    def log(self) -> bool:
        """Whether its logarithm is drawn and learned from."""
        return self.log_words is not None

    @property
    def sums(self) -> set[str]:
        """The parts of a request that ask for the sums it needs."""
        if self.read is None:
            return {BY_NAME[moment].wanted for moment in self.needs}
        return {part for name in self.needs for part in _channel(name).sums}

    @property
    def with_spectrum(self) -> bool:
        """Whether signatures without the spectrum do not have it."""
        return "directions" in self.sums

    @property
    def with_directions(self) -> bool:
        """Whether signatures without the directions do not have it."""
        return "directions" in self.needs

    def shape(self, n: int) -> tuple[int, ...]:
        """Of its numbers at one point and scale, in n dimensions."""
        return (n,) * (self.per_axis + self.frame)

    def values(self, s: Any) -> Array | None:
        """(m, T), (m, T, n) or (m, T, n, n) of signatures or outputs; None where it was not asked for."""
        if self.read is None:
            return getattr(s, self.name, None)
        missing = any(getattr(s, name, None) is None for name in self.needs)
        return None if missing else self.read(s)


# --- columns that follow from spectrum and directions ---------------------------------


def _of_extents(
    formula: Callable[[Array], Array], dimensions: Sequence[int]
) -> Callable[[Any], Array | None]:
    """A formula of the extents 1 + 2t lambda_k, for points of so many dimensions."""

    def read(s: Any) -> Array | None:
        if s.spectrum.shape[-1] not in dimensions:
            return None
        extents = np.maximum(1.0 + s.spectrum, 0.0)  # rounding may put that of a flat cloud below 0
        with np.errstate(invalid="ignore"):  # a point without neighbours has no extent: NaN
            return formula(np.moveaxis(extents, -1, 0))

    return read


def _normals(s: Any) -> Array | None:
    """The direction of the smallest eigenvalue, which points up."""
    return None if s.directions.shape[-1] < 2 else s.directions[:, :, -1, :]


def _verticality(s: Any) -> Array | None:
    """1 - |last coordinate of the normal|: 0 on level ground, 1 on a wall."""
    normal = _normals(s)
    return None if normal is None else 1.0 - np.abs(normal[..., -1])


# --- the registry ---------------------------------------------------------------------

_PURE = "pure number"


def _derived(
    name: str, symbol: str, label: str, words: tuple[str, str], read: Callable[[Any], Array | None],
    **more: Any,
) -> Channel:  # fmt: skip
    """A column that follows from other channels: never drawn or learned from unasked."""
    needs = more.pop("needs", ("spectrum",))
    return Channel(
        name, symbol, label, (words[0], _PURE, words[1]), read=read, needs=needs, ends=fixed(0.0, 1.0),
        drawn=False, learned=False, on_request=True, **more,
    )  # fmt: skip


CHANNELS: tuple[Channel, ...] = (
    Channel(
        "density",
        "u",
        "density (heat field)",
        ("heat field u", "length⁻ⁿ", "many points within about √t: a crowded place"),
        log_words=("log of the heat field, log u", "log of length⁻ⁿ", "a crowded place"),
        ramp="density",
        menu=3,
        formula=lambda s: formulas.density(s.weight, s.factor),
        bound=bounds.DENSITY,
        relative=True,
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
        formula=lambda s: formulas.dimension(s.weight, s.square, s.t),
        bound=bounds.DIMENSION,
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
        formula=lambda s: formulas.transition_exact(
            s.variance, formulas.dimension(s.weight, s.square, s.t), s.t
        ),
        needs=("fourth",),
        differences="dimension",
        bound=bounds.TRANSITION,
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
        formula=lambda s: formulas.spectrum(s.extents),
        needs=("first", "second"),
        bound=bounds.SPECTRUM,
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
        on_request=True,
        formula=lambda s: formulas.gradient_length(s.weight, s.first, s.t),
        needs=("first",),
    ),
    Channel(
        "directions",
        "v",
        "directions",
        ("unit eigenvectors of the log-Hessian", _PURE, "the first lie along the data, the last across"),
        formula=lambda s: s.frames,
        needs=("first", "second"),
        per_axis=True,
        frame=True,
        in_table=False,
        drawn=False,
        learned=False,
        on_request=True,
    ),
    _derived(
        "linearity",
        "L",
        "linearity (filament)",
        ("(e₁ - e₂) / e₁", "1 on a filament, 0 on a surface and in a volume"),
        _of_extents(formulas.linearity, (2, 3)),
    ),
    _derived(
        "planarity",
        "P",
        "planarity (surface)",
        ("(e₂ - e₃) / e₁", "1 on a surface, 0 on a filament and in a volume"),
        _of_extents(formulas.planarity, (3,)),
    ),
    _derived(
        "sphericity",
        "S",
        "sphericity (volume)",
        ("eₙ / e₁", "1 in a volume, 0 on a filament or surface"),
        _of_extents(formulas.sphericity, (2, 3)),
    ),
    _derived(
        "verticality",
        "V",
        "verticality",
        ("1 - |n_z| of the normal", "1 on a wall, 0 on level ground"),
        _verticality,
        needs=("directions",),
    ),
    _derived(
        "normal",
        "n",
        "normal",
        ("a coordinate of the unit normal, which points up", "the surface faces this axis"),
        _normals,
        attribute="normals",
        needs=("directions",),
        per_axis=True,
        axes="xyz",
    ),
)


@dataclass(frozen=True)
class _Packed(Channel):
    """Upper triangles of symmetric matrices."""

    def shape(self, n: int) -> tuple[int, ...]:
        return (n * (n + 1) // 2,)


# What only blocks of the descriptor read; tables, files and pictures do not have them. They may take the
# place of the sums that they follow from, and so they are the last.
_TENSORS = (
    _Packed("covariance", "C", "", ("covariance of r over 2t", _PURE, ""), formula=lambda s: s.packed,
            needs=("first", "second")),
    Channel("slopes", "G", "", ("√(2t)·∇ log u", _PURE, ""),
            formula=lambda s: np.stack([*formulas.scaled_gradient(s.weight, s.first, s.t)]),
            needs=("first",), per_axis=True),
)  # fmt: skip

# What `signatures` promises on the fast path, as multiples of tol; of these, relative to the value itself.
BOUNDS = {
    **{channel.name: channel.bound for channel in CHANNELS if channel.bound == channel.bound},
    "energy": bounds.ENERGY,
    "response": bounds.RESPONSE,
}
RELATIVE = (*(channel.name for channel in CHANNELS if channel.relative), "energy")


def request_for(names: Iterable[str], *, exact: bool = False, **options: Any) -> Request:
    """What to sum and to compute for channels and for those they are read from.

    ``exact``: the transition in closed form.
    """
    wanted = set(names)
    known = (*CHANNELS, *_TENSORS)
    for channel in known:
        if channel.name in wanted:
            wanted |= {*channel.needs} if channel.read else {channel.differences} if not exact else set()
    chosen = [channel for channel in known if channel.read is None and channel.name in wanted]
    if not exact:
        chosen = [replace(c, formula=None, needs=()) if c.differences else c for c in chosen]
    sums = {part for channel in chosen for part in channel.sums}
    return Request(
        channels=tuple(chosen),
        directions="directions" in sums,
        fourth_moment="fourth_moment" in sums,
        **options,
    )


def computed(*, with_spectrum: bool, asked: Iterable[str] = ()) -> list[str]:
    """Names of the channels that signatures have: all that need no asking, and those that were asked for."""
    return [
        c.name
        for c in CHANNELS
        if c.read is None
        and (c.name in asked or not (c.on_request or (c.with_spectrum and not with_spectrum)))
    ]


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


def values_of(name: str, s: Any) -> Array:
    """One channel by its name; what it needs and lacks is a ValueError."""
    channel = _channel(name)
    values = channel.values(s)
    if values is not None:
        return values
    for need in channel.needs:
        if getattr(s, need, None) is None:
            raise ValueError(f"{name} needs the {need}; compute signatures with with_{need}=True")
    n = s.spectrum.shape[2]
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


def block_values(block: str, s: Any) -> Array:
    """The numbers of a block, (m, T, columns)."""
    channel = _channel(block)
    values = channel.values(s)
    assert values is not None, block
    values = values if values.ndim == 3 else values[:, :, None]
    return values if block == channel.name else np.log(values)


def reordered(s: Signatures, rows: np.ndarray) -> Signatures:
    """The signatures of the same points in another order, or of some of them."""
    return replace(s, local={name: table[rows] for name, table in s.local.items()})


def _channel(block: str) -> Channel:
    return next(c for c in CHANNELS if block == c.name or (c.log and block == f"log_{c.name}"))
