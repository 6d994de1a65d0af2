"""Where the time of a tile goes: seconds by step, kept with its result and added up over all tiles."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


class Clock:
    """Seconds since the step before, by the name of the step.

    Examples
    --------
    >>> clock = Clock()
    >>> clock.note("reading")
    >>> list(clock.seconds)
    ['reading']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def note(self, step: str) -> None:
        """A step ends now."""
        now = time.perf_counter()
        self.seconds[step] = self.seconds.get(step, 0.0) + now - self._last
        self._last = now

    def packed(self) -> dict[str, Any]:
        """As arrays for the result of a tile."""
        return {"steps": np.array(list(self.seconds), dtype=str), "step_seconds": list(self.seconds.values())}


def added(results: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The seconds of all tiles by step; tiles side by side count one by one."""
    total: dict[str, float] = {}
    for result in results:
        for step, seconds in zip(result["steps"], result["step_seconds"], strict=True):
            total[str(step)] = total.get(str(step), 0.0) + float(seconds)
    return total
