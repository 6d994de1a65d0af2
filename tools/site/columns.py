"""The column dictionary: what every feature column is, read off its name and checked against the layout."""

from __future__ import annotations

import re
from dataclasses import dataclass

from heatfield._features.layout import SCHEMA, VARIANT_BLOCKS, Layout, layout

_STATISTICS = {
    "mean": "mean over the points",
    "std": "standard deviation over the points",
    "p10": "10th percentile over the points: nine of ten points lie above it",
    "p50": "median over the points",
    "p90": "90th percentile over the points: one point of ten lies above it",
}
# Signature of a point: what it is, unit, what a high value means.
_LOCAL = {
    "density": ("heat field u", "length⁻ⁿ", "many points within about √t: a crowded place"),
    "log density": ("log of the heat field, log u", "log of length⁻ⁿ", "a crowded place"),
    "dimension": (
        "heat dimension d",
        "pure number",
        "space is filled at this scale: about 1 on a filament, 2 on a surface, 3 in a volume; near 0 a point "
        "has no neighbours in reach",
    ),
    "transition": (
        "transition τ, change of d per unit of log t",
        "pure number",
        "d rises with the scale: points begin to have neighbours, or a thin part meets a thicker one. Below 0: "
        "the coarser view is simpler, as where thickness or the end of the cloud is reached. Junctions and "
        "boundaries have large values of either sign",
    ),
    "gradient": (
        "length of the gradient of log u, √(2t)·|∇ log u|",
        "pure number",
        "neighbours lie to one side: ends, edges, and points beside something denser",
    ),
}
# Columns of points that follow from spectrum and directions: e_k = 1 + 2tλ_k is the extent along a direction.
_SHAPE = {
    "linearity": ("(e₁ - e₂) / e₁", "1 on a filament, 0 on a surface and in a volume"),
    "planarity": ("(e₂ - e₃) / e₁", "1 on a surface, 0 on a filament and in a volume"),
    "sphericity": ("eₙ / e₁", "1 in a volume, 0 on a filament or surface"),
    "verticality": ("1 - |n_z| of the normal", "1 on a wall, 0 on level ground"),
    "normal": ("a coordinate of the unit normal, which points up", "the surface faces this axis"),
    "local_type": (
        "code of the local type: 0 point, 1 filament, 2 surface, 3 volume, 4 junction, 5 undefined",
        "a code, not a quantity",
    ),
}
_GLOBAL = {
    "energy": ("E₂ = ∫u² dy", "length⁻ⁿ", "heat is concentrated: points overlap strongly"),
    "response": (
        "C₂ = -t ∂ log E₂/∂t",
        "pure number",
        "E₂ falls fast with the scale: about (n - d)/2 in a regime of dimension d, so high means thin parts",
    ),
    "roughness": ("Dirichlet energy ∫|∇u|² dy", "length⁻ⁿ⁻²", "the heat landscape is steep"),
    "relative_roughness": ("Dirichlet energy over E₂", "length⁻²", "steep for its height: fine structure"),
}
_ORDINAL = {1: "largest", 2: "second", 3: "third"}


@dataclass(frozen=True)
class Column:
    """One column in words."""

    block: str
    channel: str
    statistic: str
    scale: str
    unit: str
    high: str


def explain(name: str) -> Column:
    """What a column is; a name that no layout has is an error."""
    for block, pattern, words in _PATTERNS:
        if found := re.fullmatch(pattern, name):
            return words(block, **found.groupdict())
    raise ValueError(f"{name!r} is no column of a descriptor (schema {SCHEMA})")


def explain_point(name: str) -> Column:
    """What a column of points is, as ``describe --per-point`` and ``per_point`` name them."""
    if found := re.fullmatch(rf"({'|'.join(_SHAPE)})([xyz]?)_s(\d+)", name):
        what, high = _SHAPE[found[1]]
        if (found[1] == "normal") == bool(found[2]):
            return Column("of points", what, "one number per point", _scale(found[3]), "pure number", high)
    if found := re.fullmatch(r"(density|dimension|transition|spectrum\d+)_s(\d+)", name):
        what, unit, high = _local(found[1])
        return Column("of points", what, "one number per point", _scale(found[2]), unit, high)
    raise ValueError(f"{name!r} is no column of points")


def _local(channel: str, log: bool = False) -> tuple[str, str, str]:
    """What, unit and high value of ``density``, ``dimension``, ``transition``, ``gradient`` or ``spectrumK``."""
    if found := re.fullmatch(r"spectrum_?(\d+)", channel):
        k = int(found[1])
        which = _ORDINAL.get(k, f"{k}th")
        what = f"2tλ{'₀₁₂₃₄₅₆₇₈₉'[k]}, {which} eigenvalue of the log-Hessian"
        high = "0: neighbours extend evenly along this direction; -1: not at all; above 0: more far than near ones, "
        return what, "pure number", f"{high}as between two parts"
    return _LOCAL["log density" if log and channel == "density" else channel]


def _scale(*scales: str) -> str:
    if len(scales) == 1:
        return f"scale {scales[0]}; 0 is the finest"
    return f"scales {scales[0]} and {scales[1]}; 0 is the finest"


def _pooled(block: str, channel: str, s: str, a: str, log: str | None = None) -> Column:
    what, unit, high = _local(channel, bool(log))
    high = (
        f"the cloud is uneven in it: {what.split(',')[0]} differs much from point to point"
        if s == "std"
        else high
    )
    return Column(block, what, _STATISTICS[s], _scale(a), unit, high)


def _whole(block: str, what: str, a: str, log: str | None = None) -> Column:
    text, unit, high = _GLOBAL[what]
    text, unit = (f"log of {text}", f"log of {unit}") if log else (text, unit)
    return Column(block, text, "one number per cloud", _scale(a), unit, high)


def _hds(block: str, part: str, d: str, a: str) -> Column:
    if part == "composition":
        high = f"much of the cloud has dimension {d} at this scale"
        return Column(
            block,
            f"share of the points near dimension {d}",
            "mean of soft shares, 0 to 1",
            _scale(a),
            "share",
            high,
        )
    what = f"share near dimension {d} weighted by heat, minus the plain share"
    high = f"dense places have dimension {d} more often than the rest; below 0, less often"
    return Column(block, what, "difference of two means, -1 to 1", _scale(a), "share", high)


def _correlation(block: str, p: str, q: str, a: str) -> Column:
    what = f"{_local(p, True)[0]}, with {_local(q, True)[0]}"
    high = f"points with high {p} have high {q} too; below 0: they have low {q}; 0: unrelated"
    return Column(block, what, "correlation over the points, -1 to 1", _scale(a), "pure number", high)


def _coupling(block: str, c: str, a: str, b: str) -> Column:
    high = f"the points that stand out in {c} at scale {a} are those that stand out at scale {b}; near 0: others do"
    return Column(
        block,
        f"{_local(c, True)[0]}, with itself at a coarser scale",
        "correlation over the points, -1 to 1",
        _scale(a, b),
        "pure number",
        high,
    )


def _neighbourhood(block: str, f: str, s: str, a: str, b: str) -> Column:
    what, unit, _ = _local(f, True)
    what = f"how much {what} of scale {a} varies around a point, weighted at scale {b} (a standard deviation)"
    high = f"{f} is mixed within the reach of scale {b}: different kinds of place lie side by side"
    unit = "pure number" if f == "density" else unit  # the spread of a logarithm
    return Column(block, what, _STATISTICS[s], _scale(a, b), unit, high)


_STAT = r"(?P<s>mean|std|p10|p50|p90)"
_CHANNEL = r"density|dimension|transition|spectrum\d+"
_PATTERNS = (
    ("global", r"global_(?P<log>log_)?(?P<what>energy|response|roughness|relative_roughness)_s(?P<a>\d+)", _whole),
    ("hds", r"hds_(?P<part>composition|contrast)_d(?P<d>[\d.]+)_s(?P<a>\d+)", _hds),
    ("density", rf"(?P<channel>density)_(?P<log>log_)?{_STAT}_s(?P<a>\d+)", _pooled),
    ("dimension", rf"(?P<channel>dimension)_{_STAT}_s(?P<a>\d+)", _pooled),
    ("transition", rf"(?P<channel>transition)_{_STAT}_s(?P<a>\d+)", _pooled),
    ("spectrum", rf"(?P<channel>spectrum_\d+)_{_STAT}_s(?P<a>\d+)", _pooled),
    ("gradient", rf"(?P<channel>gradient)_{_STAT}_s(?P<a>\d+)", _pooled),
    ("correlation", rf"correlation_(?P<p>{_CHANNEL})_(?P<q>{_CHANNEL})_s(?P<a>\d+)", _correlation),
    ("coupling", rf"coupling_(?P<c>{_CHANNEL})_s(?P<a>\d+)_s(?P<b>\d+)", _coupling),
    ("neighbourhood", rf"neighbourhood_(?P<f>{_CHANNEL})_(?P<s>mean|p10|p90)_s(?P<a>\d+)_s(?P<b>\d+)", _neighbourhood),
)  # fmt: skip


def layout_of(variant: str, n: int = 3, n_scales: int = 8) -> Layout:
    """The columns of a variant with all its blocks and the default centres."""
    return layout(variant, VARIANT_BLOCKS[variant], n, n_scales, [float(c) for c in range(n + 1)])
