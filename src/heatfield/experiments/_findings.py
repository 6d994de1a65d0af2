"""The paper's findings, each answered yes or no from the cells."""

from __future__ import annotations

from pathlib import Path


def findings(results: str | Path, *, budget: str = "paper") -> list[str]:
    """One sentence for each finding that the results at hand can answer."""
    return []
