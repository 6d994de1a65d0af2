"""The methods that the paper compares with, as estimators over lists of clouds.

``import heatfield_bench.baselines`` loads nothing heavy; the classes are fetched when the first one is used.
`available` says which can be used here, and what the others need.
"""

from __future__ import annotations

from typing import Any


def _public() -> dict[str, Any]:
    from .registry import available, classes

    return {"available": available} | classes()


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return list(_public())
    if name.startswith("_") or name not in _public():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _public()[name]


def __dir__() -> list[str]:
    return sorted(_public())
