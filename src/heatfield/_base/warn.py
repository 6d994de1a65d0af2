"""Warnings that point at the caller's own line."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from .check import HeatFieldWarning

# How modules begin that are not the caller's: scikit-learn wraps `transform` and `fit_transform`.
_INNER = (__name__.partition(".")[0], "sklearn")


def warn_caller(message: str) -> None:
    """Warn at the first line outside of this library, however deep inside it something was noticed.

    Parameters
    ----------
    message : str
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_INNER):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, HeatFieldWarning, stacklevel=level)


_changing = threading.Lock()
_inside: list[warnings.catch_warnings] = []


@contextmanager
def quiet(category: type[Warning] = HeatFieldWarning) -> Iterator[None]:
    """No warnings of a category in the block, which several threads may be in at a time.

    Filters belong to the whole process: they are as before when the last thread leaves.
    """
    with _changing:
        _inside.append(_inside[0] if _inside else warnings.catch_warnings())
        if len(_inside) == 1:
            _inside[0].__enter__()
        warnings.simplefilter("ignore", category)
    try:
        yield
    finally:
        with _changing:
            before = _inside.pop()
            if not _inside:
                before.__exit__(None, None, None)
