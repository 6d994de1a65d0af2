"""Random clouds: a stream of numbers for each, the same on every machine and for any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._base.check import Array, check_count, thread_count
from .._base.compile import compiled
from .._base.threads import pieces, run_pieces

_TOGETHER = 50  # clouds that one piece of work holds


def stream(seed: int, label: int, number: int) -> Any:
    """The state of a stream that depends on these three numbers alone."""
    return np.random.SeedSequence([seed, label, number]).generate_state(1, np.uint64)


def clouds_by_class(
    make: Callable[[int, Any], Array], classes: int, n_per_class: int, random_state: int, n_jobs: int | None
) -> tuple[list[Array], np.ndarray]:
    """``make(label, state)`` for every cloud of every class, class by class, and the labels.

    Cloud i of a class is the same whatever the number of clouds and threads.
    """
    count = check_count(n_per_class, "n_per_class", 1)
    seed = check_count(random_state, "random_state", 0)
    labels = np.repeat(np.arange(classes), count)
    clouds: list[Array] = [np.empty((0, 2))] * labels.size

    def work(first: int, last: int) -> None:
        for i in range(first, last):
            label = int(labels[i])
            clouds[i] = make(label, stream(seed, label, i - label * count))

    run_pieces(work, pieces(labels.size, _TOGETHER), thread_count(n_jobs), progress="clouds")
    return clouds, labels


@compiled()
def uniform(state: Any) -> float:
    """A number in [0, 1) by splitmix64 (Steele, Lea & Flood 2014)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * 2.0**-53


@compiled()
def poisson(state: Any, mean: float) -> int:
    """A Poisson number: how many exponential waits fit into ``mean``."""
    total, count = 0.0, -1
    while total < mean or count < 0:
        total -= np.log(1.0 - uniform(state))
        count += 1
        if total >= mean:
            break
    return count
