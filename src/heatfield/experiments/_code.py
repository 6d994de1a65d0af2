"""A hash of the code that a method runs, so that results of other code are marked as stale."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT.name
# What these do is said, shown, drawn or stored: no number depends on it.
SILENT = {
    "_base.ahead", "_base.announce", "_base.drawing", "_base.files", "_base.html", "_base.interrupts",
    "_base.optional", "_base.progress", "_base.summary", "_base.warn", "_sums.plan_summary",
}  # fmt: skip
SILENT_PARTS = ("saving", "_saved_")  # in the name of a module


def code_digest(modules: Iterable[str], without: Collection[str] = ()) -> str:
    """A hash of these modules of the package and of all that they import from it.

    Comments, docstrings, the order of files and modules of `SILENT` do not count. Imports are read from the
    source, also those inside functions; those for type checkers alone are left out.

    Parameters
    ----------
    modules : iterable of str
        Names such as "_features.descriptor".
    without : collection of str
        Modules that are imported but not run; what only they import is left out too.

    Examples
    --------
    >>> code_digest(["_features.descriptor"]) == code_digest(["_features.descriptor"])
    True
    """
    digest = hashlib.sha256()
    for name in sorted(closure(modules, without)):
        digest.update(f"\0{name}\0{_shape(name)}".encode())
    return digest.hexdigest()[:16]


def closure(modules: Iterable[str], without: Collection[str] = ()) -> set[str]:
    """These modules and all modules of the package that they import, directly or not."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        if _path(name) is None:
            raise ValueError(f"there is no module {PACKAGE}.{name}")
        found.add(name)
        waiting += [
            other
            for other in _imports(name)
            if other not in found and other not in without and not _is_silent(other)
        ]
    return found


def _is_silent(name: str) -> bool:
    return name in SILENT or any(part in name for part in SILENT_PARTS)


def _path(name: str) -> Path | None:
    place = ROOT.joinpath(*name.split(".")) if name else ROOT
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.is_file():
            return path
    return None


@cache
def _tree(name: str) -> ast.Module:
    path = _path(name)
    assert path is not None
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _shape(name: str) -> str:
    """The code without docstrings and positions."""
    tree = ast.parse(ast.unparse(_tree(name)))  # a copy, since docstrings are cut out of it
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        held = first.value if isinstance(first, ast.Expr) else None
        if body and isinstance(held, ast.Constant) and isinstance(held.value, str):
            node.body = body[1:]  # type: ignore[attr-defined]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


@cache
def _imports(name: str) -> frozenset[str]:
    return frozenset(n for n in _named(name) if _path(n) is not None and n)


def _named(name: str) -> Iterator[str]:
    path = _path(name)
    assert path is not None
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    skipped: set[int] = set()
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            skipped.update(id(inner) for statement in node.body for inner in ast.walk(statement))
        if id(node) in skipped or not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = package[: len(package) - node.level + 1]
        module = ".".join([*base, *([node.module] if node.module else [])])
        yield module
        yield from (f"{module}.{alias.name}" if module else alias.name for alias in node.names)
