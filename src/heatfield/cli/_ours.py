"""Whose a file is: commands replace and remove only what carries their own mark."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

# The prices that a command plans with, in the folder NAME.parts.
PRICES = "prices.json"
# What a command keeps in the folder NAME.parts until it is done.
KEPT = re.compile(
    r"\d{6}-[0-9a-f]{24}\.npz|points-[0-9a-f]{32}\.npz|features-[0-9a-f]{32}\.npy"
    r"|[0-9a-f]{16}\.(all|fold\d+|done\d+)|prices\.json|\..*\.part"
)
ERRORS = b"file,place,problem"
_MOST = 1 << 24  # bytes of JSON that are looked at


def may_replace(path: Path, ours: Callable[[Path], bool], what: str) -> None:
    """A ValueError where there is a file of this name that is neither empty nor ours."""
    if path.is_symlink() and not path.exists():
        return  # a link to nothing
    if path.exists() and not (path.is_file() and (path.stat().st_size == 0 or ours(path))):
        raise ValueError(f"cannot write {str(path)!r}: it exists and is not {what}; give another name")


def remove_ours(path: Path, ours: Callable[[Path], bool]) -> None:
    """Remove a file that is ours; leave any other."""
    if path.is_file() and ours(path):
        path.unlink()


def begins_with(mark: bytes) -> Callable[[Path], bool]:
    """Whether the first line of a file begins so."""

    def check(path: Path) -> bool:
        with open(path, "rb") as file:
            return file.read(len(mark)) == mark

    return check


def holds_early(mark: bytes) -> Callable[[Path], bool]:
    """Whether the first kilobytes of a file hold this."""

    def check(path: Path) -> bool:
        with open(path, "rb") as file:
            return mark in file.read(4096)

    return check


def json_with(*names: str) -> Callable[[Path], bool]:
    """Whether a file is a JSON object with these names."""

    def check(path: Path) -> bool:
        try:
            with open(path, "rb") as file:
                found = json.loads(file.read(_MOST))
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(found, dict) and set(names) <= set(found)

    return check


is_errors = begins_with(ERRORS)
is_dictionary = begins_with(b"column,block,scales,meaning")
is_metadata = json_with("descriptor", "reading", "schema", "version")
is_page = holds_early(b'<meta name="generator" content="heatfield">')
is_scores = json_with("settings", "reading", "clouds", "content")
is_picture = holds_early(b"heatfield")
is_demo = json_with("orbit5k", "mixed_shape")


def is_kept(file: str | Path) -> bool:
    """Whether a file is what a command keeps until it is done: no cloud, whoever comes across it."""
    path = Path(file)
    return path.parent.name.endswith(".parts") and KEPT.fullmatch(path.name) is not None
