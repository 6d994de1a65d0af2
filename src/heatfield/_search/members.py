"""Who is in an index: names, labels and thumbnails of its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .sketch import in_bytes

_MOST_POINTS = 1024  # of a thumbnail


@dataclass(frozen=True)
class Members:
    """Names, labels (None where there is none) and thumbnails (likewise), one per row."""

    names: list[str]
    labels: list[Any]
    sketches: list[NDArray[np.uint8] | None]

    def classes(self) -> NDArray | None:
        """The labels as an array of words or of numbers; None where any is missing."""
        if any(label is None for label in self.labels):
            return None
        return np.array(self.labels)

    def next_number(self) -> int:
        """The least number from which on no name is a number."""
        numbers = [int(name) for name in self.names if name.isascii() and name.isdigit() and len(name) < 18]
        return max([len(self.names) - 1, *numbers]) + 1

    def check_new(self, names: Iterable[str]) -> None:
        """A ValueError where a name is taken."""
        taken = {*self.names}
        double = [name for name in names if name in taken]
        if double:
            raise ValueError(f"{double[0]!r} is in the index already; remove it first ({len(double)} in all)")

    def with_more(self, more: Members) -> Members:
        """Both, or a ValueError where a name is in both."""
        self.check_new(more.names)
        _check_labels(self.labels + more.labels)
        return Members(self.names + more.names, self.labels + more.labels, self.sketches + more.sketches)

    def without(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Rows of all others; a ValueError where a name is unknown or nothing is left."""
        if isinstance(names, str):
            raise ValueError(f"names must be a list of names, got the word {names!r}; pass [{names!r}]")
        gone, known = {*names}, {*self.names}
        unknown = sorted(map(repr, gone - known))
        if unknown:
            raise ValueError(f"{unknown[0]} is not in the index ({len(unknown)} unknown names in all)")
        keep = np.array([i for i, name in enumerate(self.names) if name not in gone], dtype=np.int64)
        if len(keep) == 0:
            raise ValueError("nothing would be left in the index; build another one")
        return keep

    def chosen(self, rows: NDArray[np.int64]) -> Members:
        """Some of the rows."""
        return Members(
            [self.names[i] for i in rows],
            [self.labels[i] for i in rows],
            [self.sketches[i] for i in rows],
        )


def checked_members(
    count: int,
    labels: Sequence[Any] | None,
    names: Sequence[str] | None,
    sketches: Sequence[NDArray | None] | None,
    start: int = 0,
) -> Members:
    """As many names, labels and thumbnails as there are clouds; names are distinct words."""
    known = [str(start + i) for i in range(count)] if names is None else list(names)
    for what, given in (("names", names), ("labels", labels), ("sketches", sketches)):
        if given is not None and (isinstance(given, str) or len(given) != count):
            found = repr(given) if isinstance(given, str) else f"{len(given)} entries"
            raise ValueError(f"{what} must have one entry for each of {count} clouds, got {found}")
    wrong = [name for name in known if not isinstance(name, str)]
    if wrong:
        raise ValueError(f"names must be words, got {wrong[0]!r}")
    if len({*known}) < count:
        seen: set[str] = set()
        double = next(name for name in known if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"names must be distinct, got {double!r} twice")
    plain = [None] * count if labels is None else [_plain(label) for label in labels]
    _check_labels(plain)
    drawn: list[NDArray[np.uint8] | None]
    drawn = [None] * count if sketches is None else [_bytes(one) for one in sketches]
    return Members(known, plain, drawn)


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _check_labels(labels: Sequence[Any]) -> None:
    kinds = {str if isinstance(v, str) else type(None) if v is None else float for v in labels}
    odd = [v for v in labels if v is not None and not isinstance(v, (str, int, float, bool))]
    if odd or (len(kinds) > 1 and float in kinds and str in kinds):
        some = list(dict.fromkeys(map(repr, odd or labels)))[:5]
        raise ValueError(f"labels must be all words or all numbers, got {', '.join(some)}")
    if any(isinstance(v, float) and v != v for v in labels):
        raise ValueError("labels must not be NaN; None stands for a cloud without a label")


def _bytes(drawn: Any) -> NDArray[np.uint8] | None:
    if drawn is None:
        return None
    points = np.asarray(drawn)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) > _MOST_POINTS:
        raise ValueError(f"a sketch must have at most {_MOST_POINTS} points (k, 2), got shape {points.shape}")
    return points if points.dtype == np.uint8 else in_bytes(points)
