"""Libraries of the extra "persistence", loaded when a method needs them."""

from __future__ import annotations

import os
from typing import Any

from .. import _optional


def need(library: str, purpose: str) -> Any:
    """The library, or an ImportError of one sentence that says how to get it."""
    # multipers loads pykeops, which would print a notice that there is no GPU.
    os.environ.setdefault("KEOPS_VERBOSE", "0")
    return _optional.need(library, purpose, "persistence", verb="needs")
