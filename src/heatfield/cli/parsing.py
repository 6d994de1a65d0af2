"""Parsers made from the options: one flag per option, with its name, check and help text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

from .._base.summary import plural

# How the text of an option is parsed, by its type without "None".
_READ: dict[str, Callable[[str], Any]] = {"int": int, "float": float}


def add_options(parser: argparse.ArgumentParser, *groups: type, leave_out: Iterable[str] = ()) -> None:
    """A flag for every option of the groups; those that are not given are not in the result."""
    known = set(leave_out)
    for group in groups:
        shown = parser.add_argument_group(_title(group))
        for entry in fields(group):
            if entry.metadata["on_command"] and entry.name not in known:
                known.add(entry.name)
                _add_option(shown, entry)


def given(parsed: argparse.Namespace, *groups: type) -> dict[str, Any]:
    """The options of the groups that were given."""
    names = {entry.name for group in groups for entry in fields(group)}
    found = {name: value for name, value in vars(parsed).items() if name in names}
    if "progress" in names and getattr(parsed, "quiet", False):
        found["progress"] = False
    return found


def _title(group: type) -> str:
    return (group.__doc__ or "").partition("\n")[0].rstrip(".").lower()


def flag_of(name: str) -> str:
    """The flag of an option."""
    return "--" + name.replace("_", "-")


def _add_option(parser: Any, entry: Field[Any]) -> None:
    kind, default = str(entry.type).replace(" | None", ""), entry.default
    text = entry.metadata["text"].rstrip(".").replace("%", "%%")
    text = text[0].lower() + text[1:] if text[1:2].islower() else text
    if default is not None and not isinstance(default, bool):
        text += f" (default {default})"
    more: dict[str, Any] = {"help": text, "default": argparse.SUPPRESS, "dest": entry.name}
    if kind == "bool":
        action = "store_true" if default is False else argparse.BooleanOptionalAction
        parser.add_argument(flag_of(entry.name), action=action, **more)
        return
    if entry.metadata["choices"]:
        more["choices"] = entry.metadata["choices"]
    elif kind == "Sequence[float] | str":
        more |= {
            "type": lambda text: text if text.isalpha() else listed(text, float),
            "metavar": "A,B,..",
        }
    elif kind.startswith("Sequence["):
        one = {"Sequence[float]": float}.get(kind, str)
        more |= {"type": lambda text: listed(text, one), "metavar": "A,B,.."}
    elif kind.startswith("str | Sequence"):
        more |= {"type": lambda text: text.split(",") if "," in text else text, "metavar": "A,B,.."}
    else:
        more |= {"type": _READ.get(kind, str), "metavar": {"int": "N", "float": "X"}.get(kind, "TEXT")}
    parser.add_argument(flag_of(entry.name), **more)


def listed(text: str, one: Callable[[str], Any]) -> list[Any]:
    """Comma-separated words or numbers."""
    found = []
    for word in text.split(","):
        try:
            found.append(one(word.strip()))
        except ValueError:
            problem = f"must be comma-separated numbers, got {word.strip()!r} in {text!r}"
            raise argparse.ArgumentTypeError(problem) from None
    return found


def add_paths(parser: argparse.ArgumentParser, name: str = "paths") -> None:
    """The files that a verb reads."""
    words = "files, folders, quoted glob patterns or URLs"
    parser.add_argument(name, nargs="+", metavar=name.upper().removesuffix("S"), help=words)


def add_out(
    parser: Any, metavar: str, words: str, default: str | None = None, *, required: bool = False
) -> None:
    """Where a verb writes to."""
    words += f" (default {default})" if default else ""
    parser.add_argument(
        "-o", "--out", type=Path, metavar=metavar, help=words, default=default, required=required
    )


def add_tables(parser: argparse.ArgumentParser, *names: str) -> None:
    """Tables with the classes and the groups of files."""
    words = {
        "labels": "table with the columns file and label (default: each folder is a class)",
        "groups": "table with the columns file and group; a group is never split between training and test",
    }
    for name in names:
        parser.add_argument(f"--{name}", type=Path, metavar="CSV", help=words[name])


# --- what verbs print ----------------------------------------------------------------


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """The flag that silences a verb; results and errors are still printed."""
    parser.add_argument("--quiet", action="store_true", help="print no progress and no summary")


def say(options: argparse.Namespace, text: str) -> None:
    """Print a line of the summary."""
    if text and not options.quiet:
        print(text, flush=True)


def file_size(path: str | Path) -> str:
    """``0.2 MB``; below a tenth of one, ``41 kB``."""
    size = Path(path).stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"


def done_of(done: int, errors: Sequence[Any], word: str, where: object, resumed: int = 0) -> str:
    """``3 of 4 clouds -> t.csv; 2 were already done``."""
    again = f"; {resumed} {'was' if resumed == 1 else 'were'} already done" if resumed else ""
    return f"{done} of {plural(done + len(errors), word)} -> {where}{again}"


def failed_files(verb: str, errors: Sequence[Any], files: int, path: Any = None) -> int:
    """Say what failed; the exit code."""
    if not errors:
        return 0
    if path is None:
        for error in errors:
            print(f"heatfield {verb}: {error}", file=sys.stderr)
    where = "" if path is None else f", see {path}"
    print(f"heatfield {verb}: {len(errors)} of {plural(files, 'file')} failed{where}", file=sys.stderr)
    return 1
