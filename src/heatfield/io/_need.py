"""Libraries that only some formats need, fetched when such a file arrives."""

from __future__ import annotations

import importlib
from types import ModuleType


def need(library: str, purpose: str) -> ModuleType:
    """The library, or an ImportError that says how to get it."""
    try:
        return importlib.import_module(library)
    except ImportError:
        raise ImportError(
            f"{purpose} need the library {library!r}: pip install 'heatfield[io]'", name=library
        ) from None
