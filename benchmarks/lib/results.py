"""Result files: where they are, read to resume a run, written in one step."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
DOCS = ROOT / "docs"


def read(path: Path, empty: dict[str, Any]) -> dict[str, Any]:
    """What was found so far, or ``empty``."""
    return json.loads(path.read_text()) if path.exists() else empty


def write(path: Path, found: dict[str, Any], *, indent: int = 1, sort_keys: bool = False) -> None:
    """Replace the file as a whole: a run that is killed leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps(found, indent=indent, sort_keys=sort_keys) + "\n")
    temporary.replace(path)
