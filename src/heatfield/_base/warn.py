"""Warnings that point at the caller's own line."""

from __future__ import annotations

import sys
import warnings

from .check import HeatFieldWarning

# scikit-learn wraps `transform` and `fit_transform`.
_INNER = (__name__.partition(".")[0], "sklearn")


def warn_caller(message: str) -> None:
    """Warn at the first line outside of this library, however deep inside it something was noticed.

    Parameters
    ----------
    message : str
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INNER:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, HeatFieldWarning, stacklevel=level)
