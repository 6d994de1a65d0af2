"""The global rank envelope test for curves, with the extreme rank length where ranks are equal.

Myllymäki, Mrkvička, Grabarnik, Seijo and Hahn, Global envelope tests for spatial processes, J. R. Statist.
Soc. B 79 (2017) 381-404; the extreme rank length as in Narisetty and Nair, J. Am. Statist. Assoc. 111 (2016)
1705-1714.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from .._base.check import Array


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

    At every place each curve has a rank from outside, from the smallest or the largest value, whichever is
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
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}")
    if (len(rest) + 1) * level < 1.0:
        least = int(np.ceil(1.0 / level - 1e-9)) - 1
        raise ValueError(
            f"{len(rest)} simulations cannot reject at level {level:g}: at least {least} are needed"
        )
    curves = np.concatenate([first[None], rest])
    if not np.isfinite(curves).all():
        row = int((~np.isfinite(curves)).any(axis=1).argmax())
        which = "observed" if row == 0 else f"simulated[{row - 1}]"
        raise ValueError(f"{which} holds a value that is no finite number")
    place = _extremity(curves)
    count = len(curves)
    p = float((place <= place[0]).sum()) / count
    # The envelope holds the curves that are left when the most extreme ones, at most level of all, are gone.
    at_most = np.searchsorted(np.sort(place), place, side="right")  # as extreme as each, or more
    central = curves[at_most > level * count + 1e-9]
    low, high = central.min(axis=0), central.max(axis=0)
    outside = np.where(first > high, 1, np.where(first < low, -1, 0))
    return RankEnvelope(p, low, high, float(level), outside)


def _extremity(curves: Array) -> NDArray[np.int64]:
    """The place of every curve among all, the most extreme one first; equal ones have equal places."""
    low = rankdata(curves, axis=0, method="average")
    ranks = np.sort(np.minimum(low, len(curves) + 1 - low), axis=1)
    _, place = np.unique(ranks, axis=0, return_inverse=True)
    return place.reshape(-1)
