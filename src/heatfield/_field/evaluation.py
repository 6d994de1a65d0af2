"""One evaluation of a field at places and times: the sums, and what is read from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from .._base.check import Array
from .._base.threads import pieces, run_pieces
from ..core.moments import LOG_ACCURACY
from .arguments import as_places, as_times, check_reach
from .to_tolerance import dimension_of, field_columns

if TYPE_CHECKING:
    from .field import HeatField

# Places times sources times times that one thread sums in roughly a quarter of a second.
_PIECE = 1e8


class Evaluation:
    """The sums at q places and T times, and what is read from them, in original units."""

    def __init__(self, field: HeatField, at: ArrayLike, t: ArrayLike, *, moments: bool) -> None:
        self.n = field.points.shape[1]
        self.times, self.single = as_times(t)
        cloud = field._cloud
        exponent = cloud.exponent
        places = np.ldexp(as_places(at, self.n) - cloud.origin, -exponent)
        check_reach(places, at)
        unit = np.ldexp(self.times, -2 * exponent)
        bad = ~((unit > 1e-300) & (unit < 1e300))
        if bad.any():
            raise ValueError(
                f"t = {self.times[bad][0]} is out of all proportion to the extent of points, "
                f"about {math.ldexp(1.0, exponent):.3g}"
            )
        self._unit = unit[None, :, None]
        q, m, steps = places.shape[0], field.points.shape[0], self.times.size
        self._log_unit = field._log_unit
        self._length = math.ldexp(1.0, exponent)
        n_threads = field._n_threads
        if field._uses_fast(q):
            self._rows = field._fast.sums(cloud.arranged(places), unit, moments, field._tol, n_threads)
            return
        self._rows = np.empty((q, steps, field_columns(self.n, moments)))

        def work(first: int, last: int) -> None:
            _core.field(
                cloud.points, cloud.boxes, field._logs, field._heaviest, unit, places, first, last,
                LOG_ACCURACY[np.dtype(np.float64)], moments, self._rows,
            )  # fmt: skip

        size = min(max(1, int(_PIECE / (m * steps))), math.ceil(q / (4 * n_threads)) or 1)
        run_pieces(work, pieces(q, size), n_threads, progress="places")

    def shaped(self, table: Array) -> Array:
        """(q, T, ...), or (q, ...) where t was a number."""
        return table[:, 0] if self.single else table

    @property
    def log_value(self) -> Array:
        """log u, (q, T)."""
        return self._rows[:, :, 0] + (self._log_unit - 0.5 * self.n * np.log(4.0 * np.pi * self.times))

    @property
    def log_gradient(self) -> Array:
        """Gradient of log u, (q, T, n)."""
        return self._rows[:, :, 1 : 1 + self.n] * (self._length / (2.0 * self.times[:, None]))

    @property
    def log_hessian(self) -> Array:
        """Second derivatives of log u, (q, T, n, n)."""
        n = self.n
        upper = np.triu_indices(n)
        scaled = np.empty((*self._rows.shape[:2], n, n))
        scaled[:, :, upper[0], upper[1]] = self._rows[:, :, 1 + n :] / (2.0 * self._unit)
        scaled[:, :, upper[1], upper[0]] = scaled[:, :, upper[0], upper[1]]
        scaled -= np.eye(n)
        return scaled / (2.0 * self.times[:, None, None])

    @property
    def dimension(self) -> Array:
        """Heat dimension, (q, T)."""
        return dimension_of(self._rows, self.n, self._unit[:, :, 0])


def in_range(values: Callable[[], Array]) -> Array:
    """Heat in the caller's unit of length, or a ValueError where double precision has no such number."""
    with np.errstate(over="ignore"):
        found = values()
    if not np.isfinite(found).all():
        raise ValueError(
            "the heat or its derivative is above 1e308 in this unit of length; "
            "change the unit, or use log_value"
        )
    return found
