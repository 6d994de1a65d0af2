"""What the records say of a method on a data set: scores by split, differences, rotation."""

from __future__ import annotations

import math
from typing import Any

from ._grid import found_key, is_stale, paired_values, values_of
from ._jobs import Context
from ._registry import METHODS
from ._sets import DataSet
from ._statistics import Difference, Mean, difference
from ._store import Key
from .tables.rotation import changed_predictions


class Found:
    """Scores by data set and method, and which of them need a remark."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.sets = context.recorded()
        self.reduced: set[str] = set()  # methods of which only a reduced run was there
        self.stale: set[str] = set()  # methods with cells of other code
        self._read: dict[tuple[str, str, str], tuple[Key, dict[str, Any], bool] | None] = {}

    def values(self, entry: DataSet, name: str) -> dict[int, float]:
        """By split; empty where nothing was computed."""
        record = self._record("accuracy", entry, name)
        return {} if record is None else values_of(record)

    def gap(self, entry: DataSet, a: str, b: str) -> Difference:
        """``a`` minus ``b`` on common splits; n is 0 where there are none.

        One split has no spread: its error is that of two independent shares of a half of its test clouds.
        """
        records = (self._record("accuracy", entry, name) for name in (a, b))
        found = difference(*paired_values(*records), entry.protocol)
        if found.n != 1:
            return found
        return Difference(found.mean, 100.0 * math.sqrt(0.5 / self._tested(entry, a)), math.nan, 1)

    def rotation(self, entry: DataSet, name: str) -> tuple[int, int, Mean] | None:
        """Predictions changed, of how many, and the accuracy lost; None where it was not run."""
        self._record("rotation", entry, name)
        return changed_predictions(self.context, entry, name)

    def remarks(self) -> str:
        """On budgets and code of all that was asked for since the last time."""
        words = [
            f" {what}: {', '.join(sorted(names))}."
            for what, names in (("At a reduced budget", self.reduced), ("Of other code", self.stale))
            if names
        ]
        self.reduced.clear()
        self.stale.clear()
        return "".join(words)

    def _record(self, task: str, entry: DataSet, name: str) -> dict[str, Any] | None:
        what = (task, entry.name, name)
        if what not in self._read:
            found = found_key(self.context, task, entry, METHODS[name])
            self._read[what] = None if found is None else (*found, is_stale(found[1], METHODS[name]))
        known = self._read[what]
        if known is None:
            return None
        key, record, stale = known
        if key.budget != "paper":
            self.reduced.add(name)
        if stale:
            self.stale.add(name)
        return record

    def _tested(self, entry: DataSet, name: str) -> int:
        record = self._record("accuracy", entry, name)
        assert record is not None
        return min(cell["test"] for cell in record["splits"].values())
