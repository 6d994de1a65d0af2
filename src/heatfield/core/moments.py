"""The table of sums over pairs: everything else asks here what there is, in which order and unit.

With r = x_j - x_i, D = |r|, the weight w = exp(-D**2 / 4t) and its root g = exp(-D**2 / 8t), w = g**2,
a moment is the sum over j of a kernel times a polynomial in r. The paper has x_i - x_j for r; no signature
depends on the sign. `cpp/pairs.hpp` sums them in the same order (a test compares).

In natural units, lengths over sqrt(2t) and so a moment over (2t)**(order / 2), every moment is a sum of
derivatives of W(x) = sum_j w: r_a w = d_a w, r_a r_b w = (d_a d_b + [a = b]) w. A Fourier mode of W at
kappa = sqrt(2t) k takes a factor i kappa_a for each derivative. For a moment of g the same holds at 2t.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from .._base.check import Array

SCALAR, VECTOR, TENSOR = "scalar", "vector", "tensor"
# Coefficients of derivatives of W in natural units, each by its axes; () is W itself.
Derivatives = dict[tuple[int, ...], float]


def _radial(laplacians: Callable[[int], tuple[float, ...]]) -> Callable[[int], list[Derivatives]]:
    """A moment of the distance alone: coefficients of W, its Laplacian, the Laplacian of that, ... by n."""

    def derivatives(n: int) -> list[Derivatives]:
        found: Derivatives = {}
        for power, coefficient in enumerate(laplacians(n)):
            for axes in product(range(n), repeat=power):
                found[tuple(a for a in axes for _ in range(2))] = coefficient
        return [found]

    return derivatives


def _first(n: int) -> list[Derivatives]:
    return [{(a,): 1.0} for a in range(n)]


def _second(n: int) -> list[Derivatives]:
    pairs = [(a, b) for a in range(n) for b in range(a, n)]
    return [{(a, b): 1.0, **({(): 1.0} if a == b else {})} for a, b in pairs]


@dataclass(frozen=True)
class Moment:
    """One sum, or one per axis (VECTOR), or one per entry of an upper triangle, row by row (TENSOR)."""

    name: str
    polynomial: str
    kernel: str  # "w" or "g"
    unit: Callable[[Any], Any]  # of its size, at the time t
    derivatives: Callable[[int], list[Derivatives]]  # of W, for each of its numbers in n dimensions
    kind: str = SCALAR
    wanted: str = ""  # the part of a request that asks for it; "" for always

    def count(self, n: int) -> int:
        """How many numbers it has in n dimensions."""
        return {SCALAR: 1, VECTOR: n, TENSOR: n * (n + 1) // 2}[self.kind]

    @property
    def order(self) -> int:
        """The degree of the polynomial."""
        return max(map(len, self.derivatives(1)[0]))

    def factor(self, n: int, t: float) -> Array:
        """The coefficients of 1, k**2, k**4 in the factor on the modes of W; of a moment of D alone."""
        (derivatives,), found = self.derivatives(n), np.zeros(3)
        for power in range(self.order // 2 + 1):
            found[power] = (-1.0) ** power * derivatives[(0,) * 2 * power] * (2.0 * t) ** power
        return found

    def natural_unit(self, t: float) -> float:
        """(2t)**(order / 2), for an even order."""
        return math.prod([2.0 * t] * (self.order // 2))


_UNITY = _radial(lambda _: (1.0,))
_SQUARE = _radial(lambda n: (n, 1.0))
_FOURTH = _radial(lambda n: (n * (n + 2.0), 2.0 * (n + 2.0), 1.0))

MOMENTS = (
    Moment("weight", "1", "w", lambda t: 1.0 + 0.0 * t, _UNITY),
    Moment("square", "|r|^2", "w", lambda t: 2.0 * t, _SQUARE),
    Moment("root_weight", "1", "g", lambda t: 1.0 + 0.0 * t, _UNITY),
    Moment("root_square", "|r|^2", "g", lambda t: 8.0 * t, _SQUARE),
    Moment("fourth", "|r|^4", "w", lambda t: 8.0 * t * t, _FOURTH, wanted="fourth_moment"),
    Moment("first", "r", "w", lambda t: (2.0 * t) ** 0.5, _first, VECTOR, wanted="directions"),
    Moment("second", "r r'", "w", lambda t: 2.0 * t, _second, TENSOR, wanted="directions"),
)
BY_NAME = {moment.name: moment for moment in MOMENTS}


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
