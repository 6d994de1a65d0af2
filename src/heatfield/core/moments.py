"""The table of sums over pairs: everything else asks here what there is, in which order and unit.

With r = x_j - x_i, D = |r|, the weight w = exp(-D**2 / 4t) and its root g = exp(-D**2 / 8t), w = g**2,
a moment is the sum over j of a kernel times a polynomial in r. The paper has x_i - x_j for r; no signature
depends on the sign. `cpp/pairs.hpp` sums them in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from .costs import Costs, costs

SCALAR, VECTOR, TENSOR = "scalar", "vector", "tensor"


@dataclass(frozen=True)
class Moment:
    """One sum, or one per axis (VECTOR), or one per entry of an upper triangle, row by row (TENSOR)."""

    name: str
    polynomial: str
    kernel: str  # "w" or "g"
    unit: Callable[[Any], Any]  # of its size, at the time t
    kind: str = SCALAR
    wanted: str = ""  # the part of a request that asks for it; "" for always

    def count(self, n: int) -> int:
        """How many numbers it has in n dimensions."""
        return {SCALAR: 1, VECTOR: n, TENSOR: n * (n + 1) // 2}[self.kind]


MOMENTS = (
    Moment("weight", "1", "w", lambda t: 1.0 + 0.0 * t),
    Moment("square", "|r|^2", "w", lambda t: 2.0 * t),
    Moment("root_weight", "1", "g", lambda t: 1.0 + 0.0 * t),
    Moment("root_square", "|r|^2", "g", lambda t: 8.0 * t),
    Moment("fourth", "|r|^4", "w", lambda t: 8.0 * t * t, wanted="fourth_moment"),
    Moment("first", "r", "w", lambda t: (2.0 * t) ** 0.5, VECTOR, wanted="directions"),
    Moment("second", "r r'", "w", lambda t: 2.0 * t, TENSOR, wanted="directions"),
)


@cache
def columns(n: int) -> dict[str, slice]:
    """The columns of each moment in a table of sums.

    Examples
    --------
    >>> columns(2)["second"]
    slice(7, 10, None)
    """
    found, place = {}, 0
    for moment in MOMENTS:
        found[moment.name] = slice(place, place + moment.count(n))
        place += moment.count(n)
    return found


def column_count(n: int, directions: bool) -> int:
    """How many columns a table has; those of the directions are last and may be left out."""
    return sum(m.count(n) for m in MOMENTS if directions or m.wanted != "directions")


_PLACES = {name: place.start for name, place in columns(1).items()}
WEIGHT, SQUARE, ROOT_WEIGHT = _PLACES["weight"], _PLACES["square"], _PLACES["root_weight"]
ROOT_SQUARE, FOURTH, FIRST = _PLACES["root_square"], _PLACES["fourth"], _PLACES["first"]


class Sums:
    """A table (columns, ...) of sums by the names of the moments.

    Examples
    --------
    >>> Sums(np.arange(10.0), n=2).second.tolist()
    [7.0, 8.0, 9.0]
    """

    weight: Any
    square: Any
    root_weight: Any
    root_square: Any
    fourth: Any
    first: Any  # (n, ...)
    second: Any  # (n (n+1) / 2, ...)

    def __init__(self, table: Any, n: int) -> None:
        places = columns(n)
        for moment in MOMENTS:
            place = places[moment.name]
            if place.start < len(table):
                setattr(self, moment.name, table[place] if moment.kind != SCALAR else table[place.start])


# Accuracies are natural logarithms, log(1 / error), called log_accuracy everywhere. At these a pair is left
# out: below the rounding of either precision.
LOG_ACCURACY = {np.dtype(np.float64): 37.0, np.dtype(np.float32): 17.0}

_DOUBLE = np.dtype(np.float64)
# Points from which a measurement of this machine's costs is worth half a second.
MEASURE = 50_000
# Until they are asked for; one instance, since there is a request per cloud.
_NO_COSTS = Costs()


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to sum, and how accurately."""

    tol: float
    directions: bool = False  # the sums of w r and w r r', from which the spectrum is computed
    fourth_moment: bool = False  # the sum of w D**4, from which the closed-form transition is computed
    energy: bool = False  # the totals of g and g D**2, for E2 and C2; only where the targets are the sources
    gradient: bool = False  # also compute the length of grad log u; needs the directions
    method: str = "auto"  # "dense", "fast" or "auto"
    dtype: np.dtype = _DOUBLE
    n_threads: int = 1
    costs: Costs = _NO_COSTS

    def priced(self, m: int) -> Request:
        """The same with this machine's costs, which are worth measuring for many points only."""
        return replace(self, costs=costs(measure=m > MEASURE))
