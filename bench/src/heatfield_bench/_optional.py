"""Libraries of the extras of this distribution, imported where they are used."""

from __future__ import annotations

from typing import Any

from heatfield._base import optional


def install(extras: str) -> str:
    """The command that installs these extras, separated by commas."""
    return f"pip install 'heatfield-bench[{extras}]'"


def need(module: str, purpose: str, extra: str, *, name: str | None = None, verb: str = "need") -> Any:
    """The module, or an ImportError of one sentence that says what to install: see `heatfield.io.need`."""
    return optional.need(module, purpose, name=name, verb=verb, command=install(extra))
