"""Names of a package that are imported when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    namespace: dict[str, Any], home: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package with these globals.

    ``home``: the module of each name; empty where the name is a module itself.
    """
    package = namespace["__name__"]

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(f".{home[name] or name}", package)
        value = getattr(module, name) if home[name] else module
        namespace[name] = value
        return value

    return get, lambda: sorted(namespace["__all__"])
