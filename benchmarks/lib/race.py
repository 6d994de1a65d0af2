"""Timing: contenders that take turns, so that a busy machine slows all of them; the best round counts."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

Shot = Callable[[int], object]  # describe one cloud this many times


def race(shots: dict[str, Shot], rounds: int, seconds: float, clouds: int | None = None) -> dict[str, Any]:
    """Let the contenders take turns. Milliseconds per cloud: best round, median, and least CPU time.

    A shot describes ``clouds`` clouds or, without that, as many as fill ``seconds``.
    """
    counts: dict[str, int] = {}
    wall: dict[str, list[float]] = {name: [] for name in shots}
    cpu: dict[str, list[float]] = {name: [] for name in shots}
    for name, shot in shots.items():
        if clouds is None:
            shot(1)  # compile, load, fill caches
            counts[name] = clouds_in(seconds, shot)
        else:
            counts[name] = clouds
            shot(min(clouds, 8))
    names = list(shots)
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            start, start_cpu = time.perf_counter(), time.process_time()
            shots[name](counts[name])
            wall[name].append((time.perf_counter() - start) / counts[name])
            cpu[name].append((time.process_time() - start_cpu) / counts[name])
    return {
        name: {
            "best_ms": 1e3 * min(wall[name]),
            "median_ms": 1e3 * statistics.median(wall[name]),
            "cpu_ms": 1e3 * min(cpu[name]),
            "clouds_a_shot": counts[name],
        }
        for name in names
    }


def clouds_in(seconds: float, shot: Shot) -> int:
    """How many clouds fill the time, tried and doubled, since a call may cost more than its first cloud."""
    count = 1
    while True:
        start = time.perf_counter()
        shot(count)
        if time.perf_counter() - start >= seconds or count >= 4096:
            return count
        count *= 2


def repeated(run: Callable[[], object]) -> Shot:
    def shot(count: int) -> None:
        for _ in range(count):
            run()

    return shot


def best_of(
    work: Callable[[], Any], *, least: int, most: int, total: float = math.inf, single: float = math.inf
) -> tuple[float, Any]:
    """Seconds of the fastest call, and the last result.

    At least ``least`` calls, then up to ``most`` until all took ``total`` seconds or one took ``single``.
    """
    times: list[float] = []
    while len(times) < least or (len(times) < most and sum(times) < total and max(times) < single):
        started = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - started)
    return min(times), result
