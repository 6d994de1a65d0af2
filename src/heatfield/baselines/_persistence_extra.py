"""Libraries of the extra "persistence", loaded when a method needs them."""

from __future__ import annotations

import importlib
import os
from typing import Any


def need(library: str, purpose: str) -> Any:
    """The library, or an ImportError of one sentence that says how to get it."""
    # multipers loads pykeops, which would print a notice that there is no GPU.
    os.environ.setdefault("KEOPS_VERBOSE", "0")
    top = library.split(".")[0]
    try:
        return importlib.import_module(library)
    except ImportError:
        raise ImportError(
            f"{purpose} needs the library {top!r}: pip install 'heatfield[persistence]'", name=top
        ) from None
