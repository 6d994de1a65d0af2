"""The public names of library and bench, found by walking ``__all__``: a new name has its page by itself."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from types import ModuleType
from typing import Any

# Public packages that `heatfield` does not list; those of the bench only where it is installed.
FURTHER = ("heatfield_bench",)


@dataclass(frozen=True)
class Name:
    """One public name: where it is imported from, and what it is."""

    module: str
    name: str
    value: Any

    @property
    def full(self) -> str:
        """``heatfield.plot.pipeline``."""
        return f"{self.module}.{self.name}"

    @property
    def kind(self) -> str:
        """The directive of autodoc: function, class, exception, or data for a value."""
        if inspect.isclass(self.value):
            return "exception" if issubclass(self.value, BaseException) else "class"
        return "function" if callable(self.value) else "data"

    @property
    def first_line(self) -> str:
        """What it does, in one line."""
        if self.kind == "data":
            return f"a {type(self.value).__name__} of {len(self.value)} entries"
        return (inspect.getdoc(self.value) or "").split("\n", 1)[0]

    @property
    def repeated(self) -> bool:
        """Whether `heatfield` itself exports the same object: there it has its entry in the index."""
        top = importlib.import_module("heatfield")
        return self.module != "heatfield" and getattr(top, self.name, None) is self.value


def modules() -> list[str]:
    """``heatfield``, ``heatfield_bench`` and every public package below them, in the order of ``__all__``."""
    found: list[str] = []

    def visit(path: str) -> None:
        found.append(path)
        module = importlib.import_module(path)
        for name in module.__all__:
            if isinstance(getattr(module, name), ModuleType):
                visit(f"{path}.{name}")

    visit("heatfield")
    for path in FURTHER:
        if path not in found and find_spec(path.split(".")[0]) is not None:
            visit(path)
    return found


def names(module: str) -> list[Name]:
    """The public names of one module, packages and dunders left out."""
    loaded = importlib.import_module(module)
    every = (
        Name(module, name, getattr(loaded, name)) for name in loaded.__all__ if not name.startswith("__")
    )
    return [one for one in every if not isinstance(one.value, ModuleType)]


def all_names() -> Iterator[Name]:
    """Every public name, module by module."""
    for module in modules():
        yield from names(module)


def page_of(one: Name) -> str:
    """The name of its page; a class beside a function of the same letters has another on any file system."""
    twin = any(
        other.name.lower() == one.name.lower() for other in names(one.module) if other.name != one.name
    )
    return f"{one.full}-{one.kind}" if twin and one.kind == "class" else one.full


# The line "Guide: ``heatfield docs guide/search``." is a command where a docstring is read with `help`, since
# the site lies on disk and has no address of its own, and a link where it is read on the site.
_LINE = re.compile(r"^Guide: ``heatfield docs ([\w/]+)``\.$")


def pages_of(doc: str) -> list[str]:
    """The pages that a docstring names, such as ``guide/search``."""
    return [found[1] for line in doc.split("\n") if (found := _LINE.match(line.strip()))]


def linked(lines: list[str]) -> list[str]:
    """The lines of a docstring as reStructuredText with links to these pages."""
    return [_LINE.sub(r"Guide: :doc:`\1 </\1>` (``heatfield docs \1``).", line) for line in lines]
