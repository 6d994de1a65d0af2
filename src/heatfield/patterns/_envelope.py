"""Tests of a pattern: the global rank envelope of curves, and `envelope_test`.

The rank envelope is that of Myllymäki, Mrkvička, Grabarnik, Seijo and Hahn, Global envelope tests for spatial
processes, J. R. Statist. Soc. B 79 (2017) 381-404; the extreme rank length, where ranks are equal, that of
Narisetty and Nair, J. Am. Statist. Assoc. 111 (2016) 1705-1714.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from .._base.check import Array, as_points, as_scales, check_number, thread_count
from .._base.summary import number, plural
from .._base.threads import pieces, run_pieces
from ..core.clouds import ArrangedCloud
from ..core.evaluate import evaluate
from ..core.planner import Request
from ..io import points_of_file
from ..options import Pattern, Threads, takes
from ._windows import Intensity, Simulator, Window, as_window

STATISTICS = ("response", "pairs")
_STEPS = 24
_TOGETHER = 4  # simulations of one piece of work


@dataclass(frozen=True)
class RankEnvelope:
    """The result of a test.

    Guide: ``heatfield docs guide/patterns``.

    Attributes
    ----------
    p : float
        The share of all curves, the observed one included, that are at least as extreme as it.
    low, high : (T,)
        The envelope. The observed curve leaves it somewhere exactly where p is at most the level.
    level : float
    outside : (T,) of -1, 0 or 1
        Where the observed curve is below or above the envelope.

    Examples
    --------
    >>> import numpy as np
    >>> from heatfield.patterns import rank_envelope
    >>> found = rank_envelope(np.zeros(4), np.random.default_rng(1).normal(size=(99, 4)))
    >>> found.outside.tolist(), found.p > found.level
    ([0, 0, 0, 0], True)
    """

    p: float
    low: Array
    high: Array
    level: float
    outside: NDArray[np.int64]


def rank_envelope(observed: ArrayLike, simulated: ArrayLike, level: float = 0.05) -> RankEnvelope:
    """Test whether a curve is one of many that were simulated, at all its places together.

    At every step each curve has a rank from outside, from the smallest or the largest value, whichever is
    nearer. A curve is the more extreme the smaller its smallest rank is; among equals the second smallest
    decides, then the third, and so on.

    Guide: ``heatfield docs guide/patterns``.

    Parameters
    ----------
    observed : (T,)
    simulated : (S, T)
        Curves under the hypothesis, in the same places.
    level : float
        Of the envelope.

    Returns
    -------
    envelope : RankEnvelope

    Examples
    --------
    >>> import numpy as np
    >>> from heatfield.patterns import rank_envelope
    >>> curves = np.random.default_rng(0).normal(size=(199, 10))
    >>> rank_envelope(np.full(10, 5.0), curves).p
    0.005
    """
    first = np.asarray(observed, dtype=np.float64)
    rest = np.asarray(simulated, dtype=np.float64)
    if first.ndim != 1 or rest.ndim != 2 or rest.shape[1] != first.size or first.size == 0:
        raise ValueError(
            f"observed must have shape (T,) and simulated (S, T), got {first.shape} and {rest.shape}"
        )
    check_number(level, "level", above=0, below=1)
    if (len(rest) + 1) * level < 1.0:
        least = int(np.ceil(1.0 / level - 1e-9)) - 1
        raise ValueError(
            f"{len(rest)} simulations cannot reject at level {level:g}: at least {least} are needed"
        )
    curves = np.concatenate([first[None], rest])
    if not np.isfinite(curves).all():
        row = int((~np.isfinite(curves)).any(axis=1).argmax())
        which = "observed" if row == 0 else f"simulated[{row - 1}]"
        raise ValueError(f"{which} holds a non-finite value")
    # The order of every curve among all, the most extreme one first; equal ones have equal numbers.
    count, below = len(curves), rankdata(curves, axis=0, method="average")
    ranks = np.sort(np.minimum(below, count + 1 - below), axis=1)
    order = np.unique(ranks, axis=0, return_inverse=True)[1].reshape(-1)
    p = float((order <= order[0]).sum()) / count
    # The envelope holds the curves that are left when the most extreme ones, at most level of all, are gone.
    at_most = np.searchsorted(np.sort(order), order, side="right")  # as extreme as each, or more
    central = curves[at_most > level * count + 1e-9]
    low, high = central.min(axis=0), central.max(axis=0)
    outside = np.where(first > high, 1, np.where(first < low, -1, 0))
    return RankEnvelope(p, low, high, float(level), outside)


# --- a pattern -----------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """One curve of a pattern and the global envelope of the simulated ones.

    Guide: ``heatfield docs guide/patterns``.

    Attributes
    ----------
    observed, low, high : (T,)
    mean : (T,)
        Of the simulations.
    outside : (T,) of -1, 0 or 1
        Where the observed curve is below or above the envelope.

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> found = hf.patterns.envelope_test(np.random.default_rng(0).random((40, 2)), simulations=39)
    >>> curve = found.curves["pairs"]
    >>> curve.observed.shape, bool((curve.low <= curve.high).all())
    ((24,), True)
    """

    observed: Array
    low: Array
    high: Array
    mean: Array
    outside: NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class PatternTest:
    """What a test found.

    Guide: ``heatfield docs guide/patterns``.

    Attributes
    ----------
    distances : (T,)
        r = 2 sqrt(t): pairs count by exp(-D**2 / 2r**2).
    curves : dict of Curve
        By name: "response", "pairs", or both.
    p : float
    level : float
    excess : (T,)
        Pairs at each distance beyond those of the simulations, as a share: 0.2 is a fifth more.
    ranges : list of (first, last, kind)
        Distances at which a curve leaves its envelope; kind is "clustered" where there are more pairs
        than in the simulations, else "regular".
    count : int
        Points.
    simulations : int
    window : Box or Polygon

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> square = hf.patterns.Box([0, 0], [1, 1])
    >>> found = hf.patterns.envelope_test(np.random.default_rng(0).random((40, 2)), square, simulations=39)
    >>> found.verdict, found.count, sorted(found.as_dict())[:3]
    ('random', 40, ['curves', 'distances', 'excess'])
    """

    distances: Array
    curves: dict[str, Curve]
    p: float
    level: float
    excess: Array
    ranges: list[tuple[float, float, str]]
    count: int
    simulations: int
    window: Window

    @property
    def verdict(self) -> str:
        """ "random" where the hypothesis is not rejected; else "clustered", "regular" or both."""
        kinds = list(dict.fromkeys(kind for _, _, kind in self.ranges))
        return " and ".join(kinds) if kinds else "random"

    def as_dict(self) -> dict[str, Any]:
        """As JSON can hold it.

        Returns
        -------
        found : dict
        """
        return {
            "verdict": self.verdict,
            "p": self.p,
            "level": self.level,
            "ranges": [list(entry) for entry in self.ranges],
            "points": self.count,
            "simulations": self.simulations,
            "window": repr(self.window),
            "distances": self.distances.tolist(),
            "excess": self.excess.tolist(),
            "curves": {
                name: {key: value.tolist() for key, value in vars(curve).items()}
                for name, curve in self.curves.items()
            },
        }

    def __repr__(self) -> str:
        lines = [
            f"Test of a pattern of {plural(self.count, 'point')}",
            f"p        {number(self.p)} by {plural(self.simulations, 'simulation')} in {self.window}",
            f"verdict  {self.verdict}, at level {self.level:g}",
            *(f"{kind} at distances {number(a)} to {number(b)}" for a, b, kind in self.ranges),
        ]
        return "\n  ".join(lines)


@takes(Pattern, Threads)
def envelope_test(
    points: ArrayLike,
    window: Window | None = None,
    *,
    intensity: Intensity | None = None,
    pattern: Pattern,
    threads: Threads,
) -> PatternTest:
    """Test a pattern against complete spatial randomness, or against an intensity, at all distances together.

    As many points as were observed are drawn independently in the same window, many times. Its curves are
    compared with theirs by `rank_envelope`. Simulations have the same edge as the data, so no
    correction for it is needed. The result is the same for any number of threads.

    Guide: ``heatfield docs guide/patterns``.

    Parameters
    ----------
    points : (m, n), or a path
        In the plane or in space.
    window : Box or Polygon, optional
        Where the pattern was observed. The bounding box otherwise, which is a little too small.
    intensity : callable, optional
        From places (q, n) to q numbers: the expected density, up to a factor. Constant otherwise.
    {options}

    Returns
    -------
    result : PatternTest

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> rng = np.random.default_rng(0)
    >>> parents = rng.uniform(0.1, 0.9, size=(15, 2))
    >>> points = (parents[:, None] + 0.03 * rng.normal(size=(15, 8, 2))).reshape(-1, 2)
    >>> result = hf.patterns.envelope_test(points, hf.patterns.Box([0, 0], [1, 1]), simulations=199)
    >>> result.verdict, result.p
    ('clustered', 0.005)
    """
    checked = as_points(points_of_file(points))
    m = len(checked)
    if m < 3:
        raise ValueError(f"a pattern needs at least 3 points, got {m}")
    area = as_window(window, checked)
    count, statistic, level = pattern.simulations, pattern.statistic, pattern.level
    if intensity is not None and not callable(intensity):
        raise ValueError(f"intensity must be a function of places, got {intensity!r}")
    steps = _distances(pattern, area, m)
    rank_envelope(np.zeros(1), np.zeros((count, 1)), level)  # enough simulations? before the work
    simulator = Simulator(area, m, intensity, pattern.random_state)
    simulated = np.empty((count, 2, steps.size))

    def work(first: int, last: int) -> None:
        for i in range(first, last):
            simulated[i] = curves(simulator.pattern(i), steps)

    run_pieces(work, pieces(count, _TOGETHER), thread_count(threads.n_jobs), progress="simulations")
    observed = curves(checked, steps)
    chosen = [k for k, name in enumerate(STATISTICS) if statistic in (name, "both")]
    found = rank_envelope(observed[chosen].ravel(), simulated[:, chosen].reshape(count, -1), level)
    parts = [found.low, found.high, found.outside]
    low, high, outside = (part.reshape(len(chosen), -1) for part in parts)
    excess = np.exp(observed[1]) / np.exp(simulated[:, 1]).mean(axis=0) - 1.0
    return PatternTest(
        distances=steps,
        curves={
            STATISTICS[k]: Curve(observed[k], low[i], high[i], simulated[:, k].mean(axis=0), outside[i])
            for i, k in enumerate(chosen)
        },
        p=found.p,
        level=float(level),
        excess=excess,
        ranges=_ranges(steps, np.asarray(outside.any(axis=0)), excess),
        count=m,
        simulations=count,
        window=area,
    )


def _distances(pattern: Pattern, window: Window, m: int) -> Array:
    if pattern.lengths is not None:
        if pattern.distances is not None:
            raise ValueError("distances are twice the lengths: give one of the two")
        return 2.0 * as_scales(pattern.lengths, 1, "lengths")[0]
    if pattern.distances is not None:
        return as_scales(pattern.distances, 1, "distances")[0]
    spacing = (window.volume / m) ** (1.0 / window.n_dims)
    last = 0.25 * window.shortest
    return np.geomspace(min(0.2 * spacing, 0.5 * last), last, _STEPS)


def _ranges(distances: Array, outside: NDArray[np.bool_], excess: Array) -> list[tuple[float, float, str]]:
    """Runs of distances outside of the envelope, divided where more pairs turn into fewer."""
    kinds = np.where(outside, np.where(excess > 0.0, "clustered", "regular"), "").tolist()
    out: list[tuple[float, float, str]] = []
    for kind, run in groupby(zip(kinds, distances.tolist(), strict=True), key=lambda pair: pair[0]):
        steps = [r for _, r in run]
        if kind:
            out.append((steps[0], steps[-1], kind))
    return out


# --- its curves over distance --------------------------------------------------------


def response_curve(points: ArrayLike, distances: ArrayLike) -> Array:
    """The heat response C2(t) of a pattern at the distances r = 2 sqrt(t).

    C2(t) = -t d/dt log E2(t), where E2(t) sums exp(-D**2 / 8t) = exp(-D**2 / 2r**2) over all pairs: the
    smooth counterpart of Ripley's K, which counts the pairs with D < r.

    Guide: ``heatfield docs guide/patterns``.

    Parameters
    ----------
    points : (m, n)
    distances : (T,) increasing

    Returns
    -------
    response : (T,)

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> points = np.random.default_rng(0).uniform(size=(200, 2))
    >>> hf.patterns.response_curve(points, [0.01, 0.1]).round(2).tolist()
    [0.87, 0.18]
    """
    return curves(as_points(points), as_scales(distances, 1, "distances")[0])[0]


def curves(points: Array, distances: Array) -> Array:
    """(2, T): the heat response, and the logarithm of the mean of exp(-D**2 / 2r**2) over pairs i < j.

    The second is, but for a constant at each distance, the pair density smoothed by a Gaussian of width r.
    """
    m, n = points.shape
    times = (0.25 * distances**2)[None, :]
    found = evaluate(ArrangedCloud.of(points), None, times, Request(tol=1e-8, energy=True))
    # The sum of g over all ordered pairs, own included.
    total = found.energy * (8.0 * np.pi * times[0]) ** (n / 2)
    return np.stack([found.response, np.log(np.maximum(total - m, 1e-300) / (m * (m - 1.0)))])
