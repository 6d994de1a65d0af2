"""Curves of one cloud over the scales: global signatures, dimension shares, and a pattern test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._base.summary import plural
from ..heat_signatures import Signatures
from ..patterns import PatternTest
from ._style import (
    class_color,
    class_line,
    escaped,
    lengths_of,
    own_axes,
    pyplot,
    stack_shares,
    tidy,
)

_CURVES = (
    ("energy", "energy $E_2$", True),
    ("response", "response $C_2$", False),
    ("roughness", "roughness $\\mathcal{E}$", True),
    ("relative_roughness", "relative roughness", True),
)


def global_curves(
    signatures: Signatures | Sequence[Signatures],
    names: Sequence[Any] | None = None,
    *,
    unit: str | None = None,
) -> Any:
    """Energy, response, roughness and relative roughness over the length sqrt(t), one curve per cloud.

    Guide: ``heatfield docs guide/plots``.

    Parameters
    ----------
    signatures : Signatures, or a sequence of them
        With one time for all points.
    names : sequence, optional
        Names of the clouds.
    unit : str, optional
        Of the coordinates, for the axis.

    Returns
    -------
    axes : ndarray of four matplotlib axes

    Examples
    --------
    >>> import heatfield as hf
    >>> points, _ = hf.datasets.make_mixed_shape(300)
    >>> axes = hf.plot.global_curves(hf.signatures(points))
    >>> axes.shape, axes[1].get_title()
    ((4,), 'response $C_2$')
    """
    several = [signatures] if isinstance(signatures, Signatures) else list(signatures)
    if names is not None and len(names) != len(several):
        raise ValueError(f"names has {plural(len(names), 'name')} for {plural(len(several), 'cloud')}")
    for k, one in enumerate(several):
        if one.scales.ndim != 1 or not np.isfinite(one.energy).all():
            raise ValueError(
                f"signatures[{k}] has no global curves: it needs one time for all points and no targets"
            )
    _, axes = pyplot().subplots(1, 4, figsize=(12.6, 2.9), layout="constrained")
    for ax, (field, title, logarithmic) in zip(axes, _CURVES, strict=True):
        for k, one in enumerate(several):
            label = None if names is None else str(names[k])
            line = {"color": class_color(k), **class_line(k)}
            ax.plot(np.sqrt(one.scales), getattr(one, field), markersize=3, label=label, **line)
        ax.set_xscale("log")
        ax.set_yscale("log" if logarithmic else "linear")
        ax.set_xlabel("length $\\sqrt{t}$" + (f", {escaped(unit)}" if unit else ""))
        tidy(ax, title)
    if names is not None:
        axes[0].legend(frameon=False, fontsize=9)
    return axes


def dimension_spectrum(signatures: Signatures, ax: Any = None, *, unit: str | None = None) -> Any:
    """Which share of the points looks like which dimension, stacked, from fine to coarse scales.

    Guide: ``heatfield docs guide/plots``.

    Parameters
    ----------
    signatures : Signatures
    ax : matplotlib axes, optional
    unit : str, optional
        Of the coordinates, for the axis.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With one area per dimension.

    Examples
    --------
    >>> import heatfield as hf
    >>> points, _ = hf.datasets.make_mixed_shape(300)
    >>> hf.plot.dimension_spectrum(hf.signatures(points)).get_ylabel()
    'share of points, %'
    """
    hds = signatures.hds
    ax = own_axes(ax, (5.2, 3.2))
    stack_shares(ax, hds.composition, hds.centers, lengths_of(signatures), unit)
    return tidy(ax, "Heat dimension spectrum")


_TITLES = {"response": "heat response $C_2$", "pairs": "log of the smoothed pair density, over the mean"}
_KINDS = {"clustered": class_color(1), "regular": class_color(2)}


def pattern_envelope(result: PatternTest, ax: Any = None, *, unit: str | None = None) -> Any:
    """The curves of a pattern over distance with the global envelope of the simulations.

    Distances at which a curve leaves its envelope are shaded: clustered in orange, regular in green. The pair
    density is drawn relative to the mean of the simulations, since it varies over orders of magnitude.

    Guide: ``heatfield docs guide/patterns``.

    Parameters
    ----------
    result : PatternTest
        See `heatfield.patterns.envelope_test`.
    ax : matplotlib axes, optional
        To draw into, where the test has one curve.
    unit : str, optional
        Of the coordinates, for the axis.

    Returns
    -------
    axes : ndarray of matplotlib axes, one per curve; or ``ax``

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> points = np.random.default_rng(0).uniform(size=(60, 2))
    >>> axes = hf.plot.pattern_envelope(hf.patterns.envelope_test(points, simulations=39))
    >>> axes.shape, axes[0].get_xlabel()
    ((2,), 'distance r = 2√t')
    """
    if not isinstance(result, PatternTest):
        raise ValueError(f"result must be a PatternTest, got {type(result).__name__}")
    names = list(result.curves)
    if ax is not None:
        if len(names) > 1:
            raise ValueError("ax takes one curve, but the test has two; give statistic= to envelope_test")
        return _draw(own_axes(ax, (5.4, 3.6)), result, names[0], unit)
    size = (5.4 * len(names), 3.9)
    figure, axes = pyplot().subplots(1, len(names), figsize=size, squeeze=False, layout="constrained")
    for axis, name in zip(axes[0], names, strict=True):
        _draw(axis, result, name, unit)
    figure.suptitle(
        f"{plural(result.count, 'point')}: {result.verdict} "
        f"(p = {result.p:.3g}, {plural(result.simulations, 'simulation')})",
        fontsize=12,
    )
    return axes[0]


def _draw(ax: Any, result: PatternTest, name: str, unit: str | None) -> Any:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    curve, r = result.curves[name], result.distances
    base = curve.mean if name == "pairs" else np.zeros_like(r)
    ax.fill_between(r, curve.low - base, curve.high - base, color="#c8c8c8", linewidth=0, label="envelope")
    ax.plot(r, curve.mean - base, "--", color="#6b6b6b", linewidth=1, label="mean of simulations")
    ax.plot(r, curve.observed - base, "o-", color=class_color(0), markersize=3, label="observed")
    edges = np.sqrt(r[:-1] * r[1:])  # between two distances, in the logarithm
    edges = np.r_[r[0], edges, r[-1]]
    shown: set[str] = set()
    for k in np.flatnonzero(curve.outside):
        kind = "clustered" if result.excess[k] > 0.0 else "regular"
        label = kind if kind not in shown else None
        ax.axvspan(edges[k], edges[k + 1], color=_KINDS[kind], alpha=0.25, linewidth=0, zorder=0, label=label)
        shown.add(kind)
    ax.set(xscale="log", xlim=(r[0], r[-1]))
    ax.set_xlabel("distance r = 2√t" + (f", {escaped(unit)}" if unit else ""))
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.legend(frameon=False, fontsize=8)
    return tidy(ax, _TITLES[name])
