"""Which number of which result file is a speed, and how two runs of one benchmark compare.

The only place that knows it: a leaf of a result file that is not named here is compared by nobody.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

LOWER, HIGHER = "lower", "higher"  # a time, a rate: which is better
# More than this slower is marked.
SLOWER = 1.05

# Result file: patterns of leaves (names joined by "/", which a star covers too) and which is better.
# Rivals are not in here: that another library became slower says nothing about this one.
LEAVES: dict[str, tuple[tuple[str, str], ...]] = {
    "first_call": (("cases/*/seconds", LOWER),),
    "speed": (
        ("cases/*/times/heatfield */best_ms", LOWER),
        ("threads/*/times/*/best_ms", LOWER),
        ("imports/heatfield_s", LOWER),
        ("imports/descriptor_s", LOWER),
    ),
    "small_clouds": (("clouds/*/ms", LOWER), ("describe/*/files_a_second", HIGHER)),
    "scaling": (("runs/*/auto/*/seconds", LOWER),),
    "million": (("runs/*/seconds", LOWER),),
    "epochs": (
        ("sets/*/packed/epochs_a_second", HIGHER),
        ("sets/*/a quarter/epochs_a_second", HIGHER),
        ("sets/*/features_seconds", LOWER),
    ),
}
# Entries of lists are named by these of their own, not by their number: a list may grow or be cut.
NAMES: dict[str, tuple[str, ...]] = {
    "speed/cases": ("cloud", "m", "n"),
    "speed/threads": ("m",),
    "small_clouds/clouds": ("m", "variant", "dtype", "threads"),
    "small_clouds/describe": ("folder", "jobs"),
}


class Change(NamedTuple):
    """One figure of a benchmark in two runs; None where a run does not have it."""

    benchmark: str
    figure: str
    before: float | None
    after: float | None
    times_slower: float | None

    @property
    def slower(self) -> bool:
        """Whether it became slower by more than is usual between two runs."""
        return self.times_slower is not None and self.times_slower > SLOWER


def _leaves(found: Any, name: str, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if isinstance(found, dict):
        for key, value in found.items():
            yield from _leaves(value, name, (*path, str(key)))
    elif isinstance(found, list):
        by = NAMES.get("/".join((name, *path)))
        for value in found if by else ():
            yield from _leaves(value, name, (*path, ", ".join(str(value[key]) for key in by or ())))
    else:
        yield "/".join(path), found


def figures(name: str, found: dict[str, Any]) -> dict[str, tuple[float, str]]:
    """The speeds in a result, each with the direction that is better."""
    taken = {}
    for leaf, value in _leaves(found, name):
        for pattern, better in LEAVES[name]:
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if number and math.isfinite(value) and value > 0 and fnmatchcase(leaf, pattern):
                taken[leaf] = float(value), better
    return taken


def compare(name: str, before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    """Every figure of the run ``after`` beside the one ``before``, in the order of the former."""
    old, new = figures(name, before), figures(name, after)
    changes = []
    for figure, (value, better) in new.items():
        kept = old[figure][0] if figure in old else None
        ratio = None if kept is None else value / kept if better == LOWER else kept / value
        changes.append(Change(name, figure, kept, value, ratio))
    return changes


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def table(changes: list[Change]) -> str:
    """One line per figure, those that became slower marked at the end."""
    rows = [("benchmark", "figure", "last kept", "now", "times slower", "")]
    for one in changes:
        ratio = "new" if one.times_slower is None else f"{one.times_slower:.2f}"
        mark = "SLOWER" if one.slower else ""
        rows.append((one.benchmark, one.figure, _shown(one.before), _shown(one.after), ratio, mark))
    widths = [max(len(row[k]) for row in rows) for k in range(6)]
    lines = []
    for row in rows:
        left = [row[k].ljust(widths[k]) for k in range(2)]
        lines.append("  ".join([*left, *(row[k].rjust(widths[k]) for k in range(2, 5)), row[5]]).rstrip())
    return "\n".join(lines)
