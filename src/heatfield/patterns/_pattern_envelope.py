"""`envelope_test`: is a pattern clustered, regular or random, and at which distances?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.check import Array, as_points, as_scales, thread_count
from .._base.summary import Summarised, Summary, number, plural
from .._base.threads import pieces, run_pieces
from ..io import points_of_file
from ..options import Pattern, Threads, takes
from ._envelope import rank_envelope
from ._response import curves
from ._simulate import Intensity, Simulator
from ._windows import Window, as_window

STATISTICS = ("response", "pairs")
_STEPS = 24
_TOGETHER = 4  # simulations of one piece of work


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
class PatternTest(Summarised):
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

    def _summary(self) -> Summary:
        lines: list[tuple[str, str | list[str]]] = [
            ("p", f"{number(self.p)} by {plural(self.simulations, 'simulation')} in {self.window}"),
            ("verdict", f"{self.verdict}, at level {self.level:g}"),
        ]
        for first, last, kind in self.ranges:
            lines.append((kind, f"at distances {number(first)} to {number(last)}"))
        return Summary(f"Test of a pattern of {plural(self.count, 'point')}", lines)


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
    place = as_window(window, checked)
    count, statistic, level = pattern.simulations, pattern.statistic, pattern.level
    if intensity is not None and not callable(intensity):
        raise ValueError(f"intensity must be a function of places, got {intensity!r}")
    steps = _distances(pattern, place, m)
    rank_envelope(np.zeros(1), np.zeros((count, 1)), level)  # enough simulations? before the work
    simulator = Simulator(place, m, intensity, pattern.random_state)
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
        window=place,
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
    out: list[tuple[float, float, str]] = []
    open_since: tuple[float, str] | None = None
    for k, r in enumerate(distances.tolist()):
        kind = "" if not outside[k] else "clustered" if excess[k] > 0.0 else "regular"
        if open_since is not None and kind != open_since[1]:
            out.append((open_since[0], float(distances[k - 1]), open_since[1]))
            open_since = None
        if kind and open_since is None:
            open_since = (r, kind)
    if open_since is not None:
        out.append((open_since[0], float(distances[-1]), open_since[1]))
    return out
