"""Random numbers for compiled code: a stream for each cloud, the same on every machine and thread."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.compile import compiled


def stream(seed: int, label: int, number: int) -> Any:
    """The state of a stream that depends on these three numbers alone."""
    return np.random.SeedSequence([seed, label, number]).generate_state(1, np.uint64)


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
