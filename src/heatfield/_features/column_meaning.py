"""What a feature column means, read off its name: channel, statistic, scale, unit, what is high."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .column_words import EIGENVALUE, GLOBAL, LOCAL, ORDINAL, SHAPE, STATISTICS
from .layout import SCHEMA


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
    if found := re.fullmatch(rf"({'|'.join(SHAPE)})([xyz]?)_s(\d+)", name):
        what, high = SHAPE[found[1]]
        if (found[1] == "normal") == bool(found[2]):
            return Column("of points", what, "one number per point", _scale(found[3]), "pure number", high)
    if found := re.fullmatch(r"(density|dimension|transition|spectrum\d+)_s(\d+)", name):
        what, unit, high = _local(found[1])
        return Column("of points", what, "one number per point", _scale(found[2]), unit, high)
    raise ValueError(f"{name!r} is no column of points")


def _local(channel: str, log: bool = False) -> tuple[str, str, str]:
    """What, unit and high value of ``density``, ``dimension``, ..., ``spectrum1`` or ``spectrum_1``."""
    if found := re.fullmatch(r"spectrum_?(\d+)", channel):
        k = int(found[1])
        which = ORDINAL.get(k, f"{k}th")
        number = "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(k))
        what = f"2tλ{number}, {which} eigenvalue of the log-Hessian"
        return what, "pure number", EIGENVALUE
    return LOCAL["log density" if log and channel == "density" else channel]


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
    return Column(block, what, STATISTICS[s], _scale(a), unit, high)


def _whole(block: str, what: str, a: str, log: str | None = None) -> Column:
    text, unit, high = GLOBAL[what]
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
    high = f"points that stand out in {c} at scale {a} stand out at scale {b} too; near 0: others do"
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
    return Column(block, what, STATISTICS[s], _scale(a, b), unit, high)


_STAT = rf"(?P<s>{'|'.join(STATISTICS)})"
_CHANNEL = r"density|dimension|transition|spectrum\d+"
_PATTERNS: tuple[tuple[str, str, Callable[..., Column]], ...] = (
    ("global", rf"global_(?P<log>log_)?(?P<what>{'|'.join(GLOBAL)})_s(?P<a>\d+)", _whole),
    ("hds", r"hds_(?P<part>composition|contrast)_d(?P<d>[\d.]+)_s(?P<a>\d+)", _hds),
    ("density", rf"(?P<channel>density)_(?P<log>log_)?{_STAT}_s(?P<a>\d+)", _pooled),
    ("dimension", rf"(?P<channel>dimension)_{_STAT}_s(?P<a>\d+)", _pooled),
    ("transition", rf"(?P<channel>transition)_{_STAT}_s(?P<a>\d+)", _pooled),
    ("spectrum", rf"(?P<channel>spectrum_\d+)_{_STAT}_s(?P<a>\d+)", _pooled),
    ("gradient", rf"(?P<channel>gradient)_{_STAT}_s(?P<a>\d+)", _pooled),
    ("correlation", rf"correlation_(?P<p>{_CHANNEL})_(?P<q>{_CHANNEL})_s(?P<a>\d+)", _correlation),
    ("coupling", rf"coupling_(?P<c>{_CHANNEL})_s(?P<a>\d+)_s(?P<b>\d+)", _coupling),
    ("neighbourhood", rf"neighbourhood_(?P<f>{_CHANNEL})_{_STAT}_s(?P<a>\d+)_s(?P<b>\d+)", _neighbourhood),
)  # fmt: skip
