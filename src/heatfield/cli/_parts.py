"""The folder beside a result that lets a stopped command go on."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ._ours import KEPT, PRICES


def parts_of(out: Path) -> Path:
    """Finished work is kept here until the result is written, so that a stopped command goes on."""
    return out.with_name(out.name + ".parts")


def clear_parts(parts: Path) -> None:
    """Remove the files whose names are ours, and the folder if nothing else is in it.

    The prices go last: where this is interrupted, the next run computes the same numbers from what is left.
    """
    for file in sorted(parts.glob("*"), key=lambda file: file.name == PRICES):
        if KEPT.fullmatch(file.name):
            file.unlink(missing_ok=True)
    with suppress(OSError):
        parts.rmdir()
