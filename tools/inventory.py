"""What users can call, type, read and look up, as a flat dictionary of text.

    python -m tools.inventory

``tests/golden/public.json`` holds the inventory of one commit (``entries``) and what is different now
(``changes``: the new value, or null where a name left). This script keeps the first and writes the second.
Each change needs a row in the table "Names that changed" of CHANGELOG.md; `tests/test_inventory.py` compares.

Names are as users see them, so that code can move without a change here. Annotations are left out: they are
the text of the source, and mypy holds them.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import functools
import hashlib
import importlib
import inspect
import json
import pkgutil
import re
import struct
import sys
import tempfile
import tomllib
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any
from unittest import mock

import numpy as np

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "tests" / "golden" / "public.json"
CHANGELOG = ROOT / "CHANGELOG.md"
SECTION = "### Names that changed"
DISTRIBUTIONS = {"heatfield": ROOT, "heatfield_bench": ROOT / "bench"}
# Whose private classes are nobody's business.
_GUESTS = ("heatfield_bench",)
Entries = dict[str, str]
Changes = dict[str, str | None]


def inventory() -> Entries:
    """Everything, sorted by key."""
    parts = (python_names, commands, formats, packaging, plots, pages, features, bench)
    found: Entries = {}
    for part in parts:
        for key, value in part():
            if found.setdefault(key, value) != value:
                raise ValueError(f"two entries of the key {key!r}: {found[key]!r} and {value!r}")
    return dict(sorted(found.items()))


# Values as text, the same on every machine.


def stable(value: Any) -> str:
    """A value as text without addresses, absolute paths and the order of sets.

    >>> stable((1.0, None, "a", {2, 1}, Path("out"), len, object()))
    "(1.0, None, 'a', {1, 2}, Path('out'), len, <object>)"
    """
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return str(value) if isinstance(value, np.generic) else repr(value)
    if type(value).__name__ == "_HAS_DEFAULT_FACTORY_CLASS":
        return "<made>"  # of a dataclass; the entry of the field says what
    if isinstance(value, Path):
        return f"Path({value.as_posix()!r})"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(stable, value)) + ("," if isinstance(value, tuple) and len(value) == 1 else "")
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(map(stable, value))) + "}"
    if isinstance(value, dict | MappingProxyType):
        return "{" + ", ".join(f"{stable(k)}: {stable(v)}" for k, v in value.items()) + "}"
    if isinstance(value, functools.partial):
        return f"{stable(value.func)} with {stable((*value.args, dict(value.keywords)))}"
    if inspect.isclass(value) or inspect.isroutine(value) or isinstance(value, ModuleType):
        return str(getattr(value, "__qualname__", value.__name__)).removeprefix("heatfield.")
    return f"<{type(value).__name__}>"


def signature(function: Callable[..., Any]) -> str:
    """Parameters with their defaults, without annotations and without self.

    >>> signature(lambda a, *, b=0.5: a)
    '(a, *, b=0.5)'
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # of an exception, which Python itself defines
        return "(...)"
    parts, star = [], False
    for i, one in enumerate(parameters):
        if i == 0 and one.name in ("self", "cls") and one.kind is one.POSITIONAL_OR_KEYWORD:
            continue
        if one.kind is one.KEYWORD_ONLY and not star:
            parts.append("*")
        star = star or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        mark = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        default = "" if one.default is one.empty else f"={stable(one.default)}"
        parts.append(f"{mark}{one.name}{default}")
        after = parameters[i + 1].kind if i + 1 < len(parameters) else None
        if one.kind is one.POSITIONAL_ONLY and after is not one.POSITIONAL_ONLY:
            parts.append("/")
    return f"({', '.join(parts)})"


# Python.


def python_names() -> Iterator[tuple[str, str]]:
    """All names of ``__all__``, and of classes what they offer; also classes that are only handed out."""
    top = importlib.import_module("heatfield")
    classes: list[type] = []
    for module in public_modules():
        for name in module.__all__:
            value, key = getattr(module, name), f"python:{module.__name__}.{name}"
            if module is not top and getattr(top, name, None) is value and name in top.__all__:
                yield key, f"is heatfield.{name}"
                continue
            yield key, _described(name, value)
            if inspect.isclass(value):
                classes.append(value)
                yield from ((f"{key}.{member}", text) for member, text in members(value))
    # Classes without a public name that public ones hand out, such as the plan of signatures.
    given = {g for cls in classes for g in _handed_out(cls)} - set(classes)
    for cls in sorted(given, key=lambda cls: cls.__name__):
        yield f"object:{cls.__name__}", "class without a public name"
        yield from ((f"object:{cls.__name__}.{member}", text) for member, text in members(cls))


def public_modules() -> list[ModuleType]:
    """Packages and modules with ``__all__`` whose path has no part that begins with an underscore."""
    found = []
    for name in DISTRIBUTIONS:
        if find_spec(name) is None:
            continue
        package = importlib.import_module(name)
        below = (info.name for info in _public_below(package.__path__, f"{name}."))
        modules = [package, *map(importlib.import_module, below)]
        found += [module for module in modules if hasattr(module, "__all__")]
    return found


def _public_below(path: Iterable[str], prefix: str) -> Iterator[pkgutil.ModuleInfo]:
    for info in pkgutil.iter_modules(path, prefix):
        # `core` is public to nobody but this library.
        if not info.name.rsplit(".", 1)[-1].startswith("_") and info.name != "heatfield.core":
            yield info
            if info.ispkg:
                yield from _public_below(importlib.import_module(info.name).__path__, f"{info.name}.")


def _described(name: str, value: Any) -> str:
    if isinstance(value, ModuleType):
        return "module"
    if inspect.isclass(value):
        kind = "exception" if issubclass(value, BaseException) else "class"
        frozen = getattr(getattr(value, "__dataclass_params__", None), "frozen", False)
        return f"{'frozen ' if frozen else ''}{kind}{signature(value)}"
    if callable(value):
        return f"function{signature(value)}"
    text = stable(value)
    # Registries have entries of their own below; a version changes with every release.
    short = len(text) <= 400 and not name.startswith("__") and "<" not in text
    return f"{type(value).__name__}{' ' + text if short else ''}"


def members(cls: type) -> Iterator[tuple[str, str]]:
    """Public methods, properties, fields and documented attributes that this library itself defines."""
    found: Entries = {}
    for base in reversed(cls.__mro__):
        if not _ours(base):
            continue
        for name, value in vars(base).items():
            text = None if name.startswith("_") else _member(value)
            if text is not None:
                found[name] = text
            elif name in found and value is None:  # a method of a base class that is taken back
                del found[name]
        # `Attributes` of the docstring: those of instances, such as the fitted ones of estimators.
        for name in _documented(base):
            found.setdefault(name, "attribute")
    if dataclasses.is_dataclass(cls):
        for field in dataclasses.fields(cls):
            if not field.name.startswith("_"):
                found[field.name] = "field" + _default(field)
    yield from found.items()


def _ours(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).partition(".")[0] in DISTRIBUTIONS


def _member(value: Any) -> str | None:
    if isinstance(value, property | functools.cached_property):
        return "property" if getattr(value, "fset", None) is None else "property that can be set"
    if isinstance(value, staticmethod | classmethod):
        return f"{type(value).__name__}{signature(value.__func__)}" if _ours(value.__func__) else None
    if inspect.isfunction(value):
        return f"method{signature(value)}" if _ours(value) else None
    inner = getattr(value, "fn", None)  # a method of scikit-learn's `available_if`
    if inspect.isfunction(inner) and _ours(inner):
        return f"method{signature(inner)}, not always there"
    return None


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return f"={stable(field.default)}"
    made = field.default_factory
    return "" if made is dataclasses.MISSING else f"={stable(made())}"


def _documented(cls: type) -> Iterator[str]:
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    section = re.search(r"^Attributes\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}\n|\Z)", text, re.M | re.S)
    for line in section[1].splitlines() if section else ():
        if line[:1].isalpha():
            yield from (n for n in re.split(r",\s*", line.partition(" :")[0]) if n.isidentifier())


def _handed_out(cls: type) -> Iterator[type]:
    """Classes of this library in the annotations of fields, and of what public members return."""
    hints: list[Any] = []
    for base in cls.__mro__:
        if not _ours(base):
            continue
        spaces = vars(sys.modules[base.__module__]) | _for_type_checkers(base.__module__)
        texts = [text for name, text in inspect.get_annotations(base).items() if name[0] != "_"]
        for name, value in vars(base).items():
            function = getattr(value, "fget", None) or getattr(value, "func", None) or value
            function = getattr(function, "__func__", function)
            if not name.startswith("_") and inspect.isfunction(function) and _ours(function):
                texts.append(function.__annotations__.get("return"))
        for text in texts:
            words = re.findall(r"[A-Za-z_]\w*", text) if isinstance(text, str) else ()
            hints += [spaces[word] for word in words if word in spaces]
    for hint in hints:
        if inspect.isclass(hint) and _ours(hint) and not hint.__module__.startswith(_GUESTS):
            yield hint


@functools.cache
def _for_type_checkers(module: str) -> dict[str, Any]:
    """Names that a module imports under ``TYPE_CHECKING``, of this library alone."""
    found = {}
    package = module if hasattr(sys.modules[module], "__path__") else module.rpartition(".")[0]
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for inner in node.body:
                if isinstance(inner, ast.ImportFrom) and inner.level:
                    home = importlib.import_module("." * inner.level + (inner.module or ""), package)
                    found |= {a.asname or a.name: getattr(home, a.name) for a in inner.names}
    return found


# The command.


class _FoundError(Exception):
    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser


def _parser(*words: str) -> argparse.ArgumentParser:
    """The parser of ``heatfield WORDS``, caught where it would read them: verbs load when they are called."""
    from heatfield.cli import main

    def caught(parser: argparse.ArgumentParser, *_: Any, **__: Any) -> typing.NoReturn:
        raise _FoundError(parser)

    with mock.patch.object(argparse.ArgumentParser, "parse_args", caught):
        try:
            main(list(words))
        except _FoundError as found:
            return found.parser
    raise ValueError("heatfield.cli.main reads no words with argparse")


def _verbs(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def commands() -> Iterator[tuple[str, str]]:
    """Verbs, verbs of verbs, and all that they take."""
    top = _parser()
    yield from _options("", top)
    for verb in _verbs(top):
        yield from _command(verb, _verbs(_parser(verb))[verb])


def _command(path: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    yield f"command:{path}", "verb"
    yield from _options(f"{path} ", parser)
    for name, below in _verbs(parser).items():
        yield from _command(f"{path} {name}", below)


def _options(path: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    groups = [[_name(a) for a in group._group_actions] for group in parser._mutually_exclusive_groups]
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction | argparse._SubParsersAction):
            continue
        own = _name(action)
        parts = [", ".join(action.option_strings) or "positional", type(action).__name__.strip("_")]
        if action.nargs != 0:
            parts += [_type(action), f"metavar {stable(action.metavar)}", f"nargs {stable(action.nargs)}"]
            parts.append(f"default {stable(action.default)}")
        if action.choices is not None:
            parts.append(f"choices {stable(list(action.choices))}")
        if action.nargs == 0 and action.default not in (False, argparse.SUPPRESS):
            parts.append(f"default {stable(action.default)}")
        if action.required and action.option_strings:
            parts.append("required")
        if action.help is argparse.SUPPRESS:
            parts.append("hidden")
        for others in (group for group in groups if own in group):
            parts.append(f"excludes {', '.join(o for o in others if o != own)}")
        yield f"command:{path}{own}", "; ".join(parts)


def _name(action: argparse.Action) -> str:
    """The long form of an option; the word that the help shows for a positional."""
    if action.option_strings:
        return max(action.option_strings, key=len)
    return action.metavar if isinstance(action.metavar, str) else action.dest.upper()


def _type(action: argparse.Action) -> str:
    plain = {None: "str", int: "int", float: "float", str: "str", Path: "Path"}
    return plain.get(action.type, "checked")  # type: ignore[call-overload]


# Files.

# Libraries of extras that readers and writers import: hidden while it is asked what needs them.
_OPTIONAL = ("laspy", "lazrs", "pyarrow", "fastavro", "h5py", "fsspec", "morphio", "msgpack", "pye57")
_LAS = (
    b"LASF".ljust(24, b"\0")
    + b"\1\2"
    + bytes(68)
    + struct.pack("<HIIBHI", 227, 227, 0, 0, 20, 0)
    + bytes(116)
)


def formats() -> Iterator[tuple[str, str]]:
    """Formats with their suffixes, and the extra that the error names where a library is missing."""
    from heatfield import io

    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(sys.modules, dict.fromkeys(_OPTIONAL)):
        path = Path(folder, "a")
        path.write_bytes(_LAS)
        for name in io.FORMATS:
            suffixes = " ".join(sorted(s for s, n in io.SUFFIXES.items() if n == name))
            yield f"format:read {name}", f"{suffixes}; {_extra(io.read_cloud, path, format=name)}"
        yield "format:read URL", _extra(io.read_cloud, "memory://a.ply")
        for suffix in io.WRITABLE:
            target = Path(folder, f"b{suffix}")
            yield f"format:write {suffix}", _extra(io.write_points, target, np.eye(3))


def _extra(function: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    try:
        function(*arguments, **options)
    except Exception as error:
        needed = re.search(r"heatfield\[(\w+)\]", str(error))
        return f"extra {needed[1]}" if needed else "no extra"
    return "no extra"


def packaging() -> Iterator[tuple[str, str]]:
    """Extras and dependencies by the names of distributions, and commands that are installed."""
    for name, root in DISTRIBUTIONS.items():
        if not (root / "pyproject.toml").exists():
            continue
        project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
        own = "" if name == "heatfield" else f"{project['name']} "
        for extra, needs in project.get("optional-dependencies", {}).items():
            yield f"extra:{own}{extra}", ", ".join(sorted({_distribution(need) for need in needs}))
        for need in project.get("dependencies", ()):
            yield f"dependency:{own}{_distribution(need)}", "needed to run"
        for script in project.get("scripts", {}):
            yield f"script:{script}", "command"
        yield f"python version:{own}".rstrip(), project["requires-python"]


def _distribution(need: str) -> str:
    """The name and its extras, without versions and markers."""
    return re.match(r"[\w.-]+(\[[\w,. -]+\])?", need)[0].lower()  # type: ignore[index]


# Pictures and pages.

# What `make docs` writes.
_GENERATED = re.compile(
    r"_build/|api/|tutorial/|gallery/|reference/(commands|columns|paper)\.md|.*README\.md"
)


def plots() -> Iterator[tuple[str, str]]:
    """Functions that draw."""
    from heatfield import plot

    for name in plot.__all__:
        yield f"plot:{name}", "picture"


def pages() -> Iterator[tuple[str, str]]:
    """Sources of the documentation, and examples."""
    docs, examples = ROOT / "docs", ROOT / "examples"
    for path in docs.rglob("*.md"):
        if not _GENERATED.match(path.relative_to(docs).as_posix()):
            yield f"page:{path.relative_to(ROOT).as_posix()}", "page"
    for path in examples.rglob("*.py"):
        yield f"example:{path.relative_to(ROOT).as_posix()}", "example"


def features() -> Iterator[tuple[str, str]]:
    """Columns of each variant of the descriptor, by block, with a hash of all names in their order."""
    from heatfield import HFSDescriptor
    from heatfield.features.layout import VARIANT_BLOCKS

    for variant in VARIANT_BLOCKS:
        for n in (2, 3):
            names = HFSDescriptor(variant).fit([np.eye(5, n)]).get_feature_names_out().tolist()
            blocks: dict[str, int] = {}
            for name in names:
                block = name.partition("_")[0]
                blocks[block] = blocks.get(block, 0) + 1
            digest = hashlib.sha256("\n".join(names).encode()).hexdigest()[:12]
            counts = ", ".join(f"{block} {count}" for block, count in blocks.items())
            yield f"features:{variant} n={n}", f"{len(names)} columns ({counts}), names {digest}"


# The bench.


def bench() -> Iterator[tuple[str, str]]:
    """Tables with rows, data sets and shown columns; methods; data sets; the paper's figures."""
    import heatfield_bench as experiments

    for name, title in experiments.TABLES.items():
        yield f"bench:{name}", title
    for name, method in experiments.METHODS.items():
        kind = method.kind.__name__
        recipe = [f"{method.family} {kind}", f"options {stable(method.options)}"]
        if method.family == "descriptor":
            recipe += [f"head {method.head}", f"blocks {stable(method.blocks)}"]
        recipe += [f"{b} {stable(getattr(method, b))}" for b in ("reduced", "smoke") if getattr(method, b)]
        yield f"bench:method {name}", "; ".join(recipe)
    for name, entry in experiments.DATA_SETS.items():
        told = {"paper": entry.paper, "points of networks": entry.points}
        flags = [f"{k} {v}" for k, v in told.items() if v is not None]
        flags += [flag for flag in ("folder", "real", "boundary", "asked") if getattr(entry, flag)]
        yield (
            f"bench:data set {name}",
            "; ".join([entry.title, stable(dataclasses.asdict(entry.protocol)), *flags]),
        )
    yield from _table_rows()
    yield from _published()


def _table_rows() -> Iterator[tuple[str, str]]:
    """Rows of each table with the sets that they are computed on, from the jobs that a run would make."""
    from heatfield_bench import DATA_SETS, tables
    from heatfield_bench._jobs import Context
    from heatfield_bench._results import Store
    from heatfield_bench.tables.dimension import CONDITIONS, ESTIMATORS, MANIFOLDS

    class Everything(Context):
        """All data sets are there, and all libraries."""

        def wants(self, method: Any) -> bool:  # noqa: ARG002
            return True

    with tempfile.TemporaryDirectory() as folder:
        folders = dict.fromkeys(DATA_SETS, Path(folder))
        context = Everything(Store(folder), "paper", folders=folders, sets=list(DATA_SETS))
        for table in tables.TABLES:
            own = tables.table(table)
            rows: dict[str, list[str]] = {}
            if table == "dimension":  # has manifolds of its own
                on = f"{' '.join(CONDITIONS)}: {' '.join(MANIFOLDS)}"
                rows = {name: [on] for name in ESTIMATORS}
            else:
                for job in own.jobs(context):
                    rows.setdefault(job.key.method, []).append(f"{job.key.data} {len(job.splits)}")
            for name, on in rows.items():
                yield f"bench:{table} row {name}", f"data set and splits: {', '.join(dict.fromkeys(on))}"
            names = [label for label, _ in own.rows()]
            shown = {
                "figures": own.columns if table in ("rotation", "runtime") else None,
                "clouds": own.counts if table == "curve" else None,
                "changes": [c.label for c in own.changes] if table == "robustness" else None,
                "rows shown": names if table in ("main", "boundary", "persistence") else None,
            }
            for what, values in shown.items():
                if values is not None:
                    yield f"bench:{table} {what}", stable(tuple(values))


def _published() -> Iterator[tuple[str, str]]:
    """The paper's figures."""
    from heatfield_bench import METHODS, tables
    from heatfield_bench._methods import SETS, SPATIAL
    from heatfield_bench.tables.beside import ALIGNMENT, SUMMARY

    labels = {method: [method] for method in METHODS}
    for label, method in tables.table("scales").rows():
        labels[method].append(label)
    for table in SETS:
        for name, method in METHODS.items():
            own = [row for row in labels[name] if (row == name) != (table == "scales" and name == "HFS-desc")]
            for row in own if not name.endswith(SPATIAL) else ():
                for data, figure in method.published.get(table, {}).items():
                    what = table.replace("_", " ").replace("f1", "F1").replace("speed up", "speed-up")
                    at = "" if data == "median" else f" {data}"
                    yield f"published:{what} {row}{at}", stable(figure)
    for what, flat in (("summary", SUMMARY), ("alignment", ALIGNMENT)):
        for row, figure in flat.items():
            yield f"published:{what} {row}", stable(figure)


# What is kept, and what is different.


def difference(entries: Mapping[str, str], now: Mapping[str, str]) -> Changes:
    """What has to be noted: new and changed values, and null for names that left.

    >>> difference({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "4", "d": "5"})
    {'b': '4', 'c': None, 'd': '5'}
    """
    keys = sorted({*entries, *now})
    return {key: now.get(key) for key in keys if entries.get(key) != now.get(key)}


def unnoted(entries: Mapping[str, str], changes: Changes, now: Mapping[str, str]) -> list[str]:
    """A line per key whose noted value is not that of now.

    >>> unnoted({"a": "1"}, {}, {"a": "2"})
    ['a: 1 -> 2']
    """
    noted = {key: value for key, value in {**entries, **changes}.items() if value is not None}
    return [
        f"{key}: {noted.get(key, 'not there')} -> {value if value is not None else 'not there'}"
        for key, value in difference(noted, now).items()
    ]


def changelog_rows(text: str) -> dict[str, str]:
    """Names or patterns of the tables "Names that changed", with what replaces them.

    >>> changelog_rows(f"{SECTION}\\n| name | why |\\n|---|---|\\n| `python:a.*` | moved to b |\\n### Fixed")
    {'python:a.*': 'moved to b'}
    """
    rows: dict[str, str] = {}
    for section in text.split(f"{SECTION}\n")[1:]:
        own = re.split(r"^##", section, maxsplit=1, flags=re.M)[0]
        rows |= re.findall(r"^\| `([^`]+)` \| *(.*?) *\|$", own, re.M)
    return rows


def unexplained(changes: Iterable[str], rows: Mapping[str, str]) -> list[str]:
    """Changed keys without a row that says something about them."""
    told = [pattern for pattern, reason in rows.items() if reason]
    return [key for key in changes if not any(matches(key, pattern) for pattern in told)]


def dead_rows(changes: Iterable[str], rows: Iterable[str]) -> list[str]:
    """Rows to which no change belongs."""
    keys = list(changes)
    return [pattern for pattern in rows if not any(matches(key, pattern) for key in keys)]


def matches(key: str, pattern: str) -> bool:
    """Whether a row is about a key."""
    return key == pattern or fnmatchcase(key, pattern)


def main() -> None:
    """Write the changes, or where there is no file yet the entries."""
    now = inventory()
    kept = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {"commit": "", "entries": now}
    changes = difference(kept["entries"], now)
    written = {"commit": kept["commit"], "entries": kept["entries"], "changes": changes}
    KEPT.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", "utf-8")
    kinds: dict[str, int] = {}
    for key in now:
        kinds[key.partition(":")[0]] = kinds.get(key.partition(":")[0], 0) + 1
    print(f"{len(now)} entries: {', '.join(f'{kind} {count}' for kind, count in kinds.items())}")
    print(f"{len(changes)} differ from commit {kept['commit'] or '(none)'}")
    rows = changelog_rows(CHANGELOG.read_text("utf-8"))
    for key in unexplained(changes, rows):
        print(f"needs a row in CHANGELOG.md: {key}")
    for pattern in dead_rows(changes, rows):
        print(f"no change belongs to this row of CHANGELOG.md: {pattern}")


if __name__ == "__main__":
    main()
