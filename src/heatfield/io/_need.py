"""Libraries that only some formats or methods need, fetched when one of them is used."""

from __future__ import annotations

import importlib
from types import ModuleType


def need(library: str, purpose: str, extra: str = "io") -> ModuleType:
    """The library, or an ImportError that says which extra of this package brings it."""
    try:
        return importlib.import_module(library)
    except ImportError:
        raise ImportError(
            f"{purpose} need the library {library!r}: pip install 'heatfield[{extra}]'", name=library
        ) from None
