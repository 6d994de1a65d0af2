"""The prices that a command plans with: those that it was begun with, also where it goes on another time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.costs import Costs, costs, read_costs, write_costs
from ..core.moments import MEASURE
from ..io import file_stamp
from ._ours import PRICES

# Bytes from which a file may well hold so many points that a measurement pays.
_LARGE = 1_000_000


def prices_of_task(parts: Path, measure: bool) -> Costs:
    """The prices kept in the folder of parts; where there are none, today's, which are kept from now on.

    The plan of the fast path, and so its last digits, depend on them: a measurement between two starts of
    one command must not change its result.
    """
    found = read_costs(parts / PRICES)
    if found is None:
        found = costs(measure=measure)
        write_costs(parts / PRICES, found)
    return found


def worth_measuring(files: Sequence[str], reading: dict[str, Any]) -> bool:
    """Whether a file may hold so many points that a measurement of this machine pays."""
    budget = reading.get("budget")
    if budget is not None and budget <= MEASURE:
        return False
    return any(file_stamp(file)[0] >= _LARGE for file in files)
