"""What the elementary steps cost on this machine, in seconds: measured once, kept as a small file.

The plan compares sums over pairs with transforms, so only the ratios matter. Where nothing can be
written, or a measurement looks wrong, defaults from a common machine are used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from .._base.arrays import open_regular
from .._base.check import Array
from .._base.files import clear_unfinished, user_cache, write_atomically

SCHEMA = 5
_MOST = 1 << 16  # bytes of the file that are read


@dataclass(frozen=True)
class Costs:
    """Seconds per step on one core."""

    pair: float = 2.4e-9  # all sums of one pair
    single: float = 1.1e-9  # the same in single precision
    ring: float = 0.8e-9  # the radial sums alone, in single precision
    target: float = 4e-7  # finding the neighbours of one target
    fourier: float = 1.2e-9  # one point of the fine grid, times log2 of their number
    call: float = 1e-3  # planning a transform
    read: float = 4e-10  # one grid point of one target's kernel
    modes: float = 1e-8  # factors on the modes of one grid point

    def as_array(self) -> Array:
        """The numbers in order, for compiled code."""
        return np.array(astuple(self))


def cache_file() -> Path:
    """Where this user's measurement is kept."""
    return user_cache() / "costs.json"


_known: Costs | None = None
_fixed: Costs | None = None


@contextmanager
def fixed_costs(prices: Costs) -> Iterator[None]:
    """Plan with these prices in the block, in all threads, whatever is measured meanwhile.

    The plan decides the last digits of the fast path: what is computed in several goes is computed with the
    prices of the first one.
    """
    global _fixed
    before, _fixed = _fixed, prices
    try:
        yield
    finally:
        _fixed = before


def costs(measure: bool = True) -> Costs:
    """This machine's costs: from memory, from the file, or measured now (half a second)."""
    global _known
    if _fixed is not None:
        return _fixed
    if _known is None:
        found = read_costs(cache_file())
        if found is None and not measure:
            return Costs()
        if found is None:
            from .measure_costs import measured_costs

            found = measured_costs()
            write_costs(cache_file(), found)
        _known = found
    return _known


def read_costs(path: Path) -> Costs | None:
    """The costs in a file; None where there is none, or where it does not hold costs."""
    try:
        with open_regular(path) as file:
            stored = json.loads(file.read(_MOST))
        return costs_from(stored) if stored["schema"] == SCHEMA else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


def costs_from(stored: Mapping[str, Any]) -> Costs:
    """Costs from a table of them; a ValueError where a number cannot be one."""
    read = Costs(**{field.name: float(stored[field.name]) for field in fields(Costs)})
    if not all(0.0 < value < 1.0 for value in astuple(read)):
        raise ValueError(f"costs must be seconds between 0 and 1, got {read}")
    return read


def write_costs(path: Path, found: Costs) -> None:
    """Keep costs in a file, if it can be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        clear_unfinished(path)
        write_atomically(path, json.dumps({"schema": SCHEMA, **asdict(found)}).encode())
    except OSError:  # a read-only home: the measurement lasts as long as the process
        return
