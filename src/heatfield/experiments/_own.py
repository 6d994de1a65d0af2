"""What users bring: names that are safe as folders, and data sets of few clouds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._protocol import Protocol

# Folders of the results that are no data set: what can be made again, and the records of table "dimension".
RESERVED = ("cache", "manifolds")
# As the folder of its records is called: a name that is written otherwise would share it with another.
_NAME = re.compile(r"[a-z0-9_]+([.-][a-z0-9_]+)*")


def check_name(name: str) -> None:
    """A ValueError where a data set cannot have this name.

    Examples
    --------
    >>> check_name("my_data-2")
    >>> check_name("My Data")
    Traceback (most recent call last):
    ValueError: the name of a data set must be of a to z, 0 to 9 and _, with single . or - between them, ...
    """
    if name in RESERVED:
        raise ValueError(f"a data set cannot be called {name!r}: that folder of the results has another use")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        allowed = "of a to z, 0 to 9 and _, with single . or - between them"
        raise ValueError(f"the name of a data set must be {allowed}, got {name!r}")


def fitting_folds(name: str, protocol: Protocol, labels: Sequence[Any]) -> tuple[Protocol, str]:
    """As many folds as the smallest class has clouds, where those are fewer, and a line that says so."""
    values, counts = np.unique(np.asarray(labels), return_counts=True)
    _check_classes(name, values, counts)
    count = int(counts.min())
    if protocol.kind != "folds" or count >= protocol.count:
        return protocol, ""
    why = f"class {values.tolist()[counts.argmin()]!r} has {count} clouds only"
    line = f"{name}: {count} folds instead of {protocol.count}, {why}"
    return replace(protocol, count=count, share=1.0 / count), line


def check_tests(name: str, labels: NDArray, tests: Sequence[NDArray[np.bool_]]) -> None:
    """A ValueError where a class has no cloud to train on or none to test in one of the splits."""
    values, counts = np.unique(labels, return_counts=True)
    _check_classes(name, values, counts)
    for number, test in enumerate(tests):
        for label, count in zip(values.tolist(), counts.tolist(), strict=True):
            tested = int((labels[test] == label).sum())
            if not 0 < tested < count:
                what = "tested" if not tested else "left to train on"
                raise ValueError(
                    f"{name}: of the {count} clouds of class {label!r} none is {what} in split {number}; "
                    "its protocol needs more clouds, or other folds or shares"
                )


def _check_classes(name: str, values: NDArray, counts: NDArray) -> None:
    if len(values) < 2:
        raise ValueError(f"{name} must hold at least two classes, got {values.tolist()}")
    if counts.min() < 2:
        rare = values.tolist()[counts.argmin()]
        raise ValueError(f"class {rare!r} of {name} has one cloud only: none to train on, or none to test")
