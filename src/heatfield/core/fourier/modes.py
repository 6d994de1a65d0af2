"""Which Fourier modes a sum of Gaussians needs for a given error, and what each moment is there.

In natural units all sums are of one size: kappa = sqrt(2t) k, and a moment of order p over (2t)**(p / 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ... import _core
from ..._base.check import Array
from ..moments import FIRST, FOURTH, SQUARE, WEIGHT, column_count

# The moments that depend on D alone: the factor on the modes of W, in natural units, as a polynomial in
# kappa**2 for n axes. Its degree is half the order of the moment.
RADIAL: dict[int, Callable[[int], tuple[float, ...]]] = {
    WEIGHT: lambda _: (1.0,),
    SQUARE: lambda n: (n, -1.0),
    FOURTH: lambda n: (n * (n + 2.0), -2.0 * (n + 2.0), 1.0),
}


def radial_factor(column: int, n: int, t: float) -> Array:
    """The coefficients of 1, k**2, k**4 in the factor on the modes of W that gives a moment, in its unit."""
    found = np.zeros(3)
    for power, coefficient in enumerate(RADIAL[column](n)):
        found[power] = coefficient * (2.0 * t) ** power
    return found


def unit_of(column: int, t: float) -> float:
    """The natural unit of a moment that depends on D alone."""
    return math.prod([2.0 * t] * (len(RADIAL[column](1)) - 1))


def derivatives_of_w(n: int) -> list[tuple[int, ...]]:
    """W, its gradient and the upper triangle of its Hessian, by their axes, in the order of the grid."""
    return [(), *((a,) for a in range(n)), *((a, b) for a in range(n) for b in range(a, n))]


def second_order(n: int, directions: bool) -> dict[int, dict[tuple[int, ...], float]]:
    """The moments up to order 2, in natural units, as derivatives of W: grad W, Hess W + I W, its trace."""
    trace: dict[tuple[int, ...], float] = {(a, a): 1.0 for a in range(n)}
    found: dict[int, dict[tuple[int, ...], float]] = {WEIGHT: {(): 1.0}, SQUARE: {(): n, **trace}}
    if directions:
        for column, axes in enumerate(derivatives_of_w(n)[1:], FIRST):
            found[column] = {axes: 1.0, **({(): 1.0} if axes in trace else {})}
    return found


def from_derivatives(n: int, t: float, steps: Array, directions: bool) -> Array:
    """The matrix (derivatives, columns) that makes moments from the derivatives of W per grid step.

    Columns that are not of order 2 are 0.
    """
    order = derivatives_of_w(n)
    found = np.zeros((len(order), column_count(n, directions)))
    unit = math.sqrt(2.0 * t)
    for column, terms in second_order(n, directions).items():
        for axes, coefficient in terms.items():
            per_step = math.prod(unit * steps[a] for a in axes)
            found[order.index(axes), column] = coefficient * per_step * unit ** max(map(len, terms))
    return found


def log_accuracy_for(eps: float, fourth_moment: bool) -> float:
    """t k**2 at the highest frequency: log(1 / eps), plus a margin for tail and derivatives."""
    return _core.log_accuracy_for(eps, fourth_moment)


@dataclass(frozen=True)
class ModeGrid:
    """Period, centre and number of modes along each axis."""

    period: Array
    center: Array
    modes: tuple[int, ...]

    @classmethod
    def over(
        cls,
        low: Array,
        high: Array,
        source_low: Array,
        source_high: Array,
        t: float,
        log_accuracy: float,
        image: float,
    ) -> ModeGrid:
        """For targets and sources in their boxes; ``image``: squared distance that images must keep.

        The series ends where exp(-t k**2) = exp(-log_accuracy).
        """
        span = np.maximum(source_high - low, high - source_low)
        period = span + math.sqrt(max(image, 4.0 * t * log_accuracy))
        highest = math.sqrt(log_accuracy / t)
        half = np.ceil(highest * period / (2.0 * math.pi))
        center = 0.5 * (np.minimum(low, source_low) + np.maximum(high, source_high))
        return cls(period, center, tuple(int(min(2 * h + 1, 1e9)) for h in half))

    @property
    def size(self) -> float:
        """How many modes there are in all."""
        return math.prod(float(count) for count in self.modes)
