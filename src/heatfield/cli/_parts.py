"""The folder beside a result that lets a stopped command go on."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path


def clear_parts(parts: Path, ours: re.Pattern[str]) -> None:
    """Remove the files whose names are ours, and the folder if nothing else is in it."""
    for file in parts.glob("*"):
        if ours.fullmatch(file.name):
            file.unlink()
    with suppress(OSError):
        parts.rmdir()
