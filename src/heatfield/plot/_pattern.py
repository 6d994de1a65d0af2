"""A test of a point pattern: its curves, and the envelope of the simulated ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..patterns import PatternTest
from ._style import class_color, escaped, own_axes, pyplot, tidy

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
    for place, name in zip(axes[0], names, strict=True):
        _draw(place, result, name, unit)
    figure.suptitle(
        f"{result.count:,} points: {result.verdict} (p = {result.p:.3g}, {result.simulations:,} simulations)",
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
