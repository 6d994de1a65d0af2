"""Random clouds: a stream of numbers for each, the same on every machine and for any number of threads."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._base.check import Array, check_count, thread_count
from .._base.threads import pieces, run_pieces

_TOGETHER = 50  # clouds that one piece of work holds
_STEP, _MASK = 0x9E3779B97F4A7C15, 2**64 - 1


class Stream:
    """Numbers in [0, 1) by splitmix64 (Steele, Lea & Flood 2014), one after the other or many at once."""

    def __init__(self, *seeds: int) -> None:
        self._state = int(np.random.SeedSequence(seeds).generate_state(1, np.uint64)[0])
        self._ahead: list[float] = []  # the next ones, the last first

    @property
    def state(self) -> int:
        """After which number it is."""
        self._move(-len(self._ahead))
        self._ahead.clear()
        return self._state

    def one(self) -> float:
        """The next number."""
        if not self._ahead:
            self._ahead = self.draw(64)[::-1].tolist()
        return self._ahead.pop()

    def draw(self, *shape: int) -> Array:
        """The next numbers."""
        count = math.prod(shape)
        z: Any = self.state + _STEP * np.arange(1, count + 1, dtype=np.uint64)
        self._move(count)
        z = (z ^ (z >> 30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> 27)) * np.uint64(0x94D049BB133111EB)
        return (((z ^ (z >> 31)) >> 11) * 2.0**-53).reshape(shape)

    def poisson(self, mean: float) -> int:
        """A Poisson number: how many exponential waits fit into ``mean``."""
        total, count = 0.0, 0
        if mean < 20.0:
            while (total := total - math.log(1.0 - self.one())) < mean:
                count += 1
            return count
        while True:
            drawn = 8 + min(2**20, int(mean - total + 4.0 * math.sqrt(mean)))
            waits = -np.log(1.0 - self.draw(drawn))
            waits[0] += total
            ends = np.cumsum(waits)
            fit = int(np.searchsorted(ends, mean))
            count += fit
            if fit < drawn:
                self._move(fit + 1 - drawn)  # what was drawn too much
                return count
            total = float(ends[-1])

    def _move(self, count: int) -> None:
        self._state = (self._state + count * _STEP) & _MASK


def clouds_by_class(
    make: Callable[[int, Stream], Array],
    classes: int,
    n_per_class: int,
    random_state: int,
    n_jobs: int | None,
) -> tuple[list[Array], np.ndarray]:
    """``make(label, stream)`` for every cloud of every class, class by class, and the labels.

    Cloud i of a class is the same whatever the number of clouds and threads.
    """
    count = check_count(n_per_class, "n_per_class", 1)
    seed = check_count(random_state, "random_state", 0)
    labels = np.repeat(np.arange(classes), count)
    clouds: list[Array] = [np.empty((0, 2))] * labels.size

    def work(first: int, last: int) -> None:
        for i in range(first, last):
            label = int(labels[i])
            clouds[i] = make(label, Stream(seed, label, i - label * count))

    run_pieces(work, pieces(labels.size, _TOGETHER), thread_count(n_jobs), progress="clouds")
    return clouds, labels
