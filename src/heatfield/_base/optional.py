"""Imports when they are needed: libraries of the extras (``heatfield[io]`` and so on), names of a package."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any


def need(
    module: str,
    purpose: str,
    extra: str = "io",
    *,
    name: str | None = None,
    verb: str = "need",
    command: str | None = None,
) -> ModuleType:
    """The module, or an ImportError of one sentence that says what to install.

    ``purpose`` is the subject of the sentence, ``verb`` "need" or "needs" agrees with it; ``name`` is the
    library where it is not the first package; ``command`` installs what belongs to no extra.

    Examples
    --------
    >>> need("json", "Settings").__name__
    'json'
    >>> need("no_such_library.part", "Parquet files")
    Traceback (most recent call last):
    ImportError: Parquet files need no_such_library: pip install 'heatfield[io]'
    """
    package = module.partition(".")[0]
    known = name or package
    try:
        importlib.import_module(package)
        return importlib.import_module(module)
    except ModuleNotFoundError:
        how = command or f"pip install 'heatfield[{extra}]'"
        raise ImportError(f"{purpose} {verb} {known}: {how}", name=module) from None
    except ImportError as error:  # it is there, but broken: installing it once more may not help
        raise ImportError(
            f"{purpose} {verb} {known}, which cannot be imported: {error}", name=module
        ) from error


def lazy_names(
    namespace: dict[str, Any], home: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package with these globals, whose names are imported on first use.

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
