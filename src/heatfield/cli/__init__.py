"""The command line: one module per verb, loaded when it is called; each calls a function of the library."""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, NoReturn

from heatfield import __version__

BENCH = "heatfield_bench"  # of another distribution

# verb: (module, what it does). A module offers add_arguments(parser) and run(options) -> exit code.
VERBS = {
    "describe": (".describe", "turn files into a table of features, one row per cloud"),
    "survey": (".survey", "turn tiles that are one cloud into tiles with signatures at every point"),
    "train": (".train", "learn to classify files, with cross-validation, and save the model"),
    "predict": (".predict", "classify files with a model that was trained before"),
    "points": (".points", "label every point of files: train on labelled points, or predict"),
    "info": (".info", "say what is in a file, and what describing it would cost"),
    "view": (".view", "make a page to look at one cloud: turn it, colour it, step through the scales"),
    "report": (".report", "make a page about a folder: map, spectra, classes, neighbours, outliers"),
    "bench": (
        f"{BENCH}._command",
        "compute the tables of the paper, and show them beside the published figures",
    ),
    "search": (".search", "index clouds, and find those most like a file"),
    "pattern": (".pattern", "test a point pattern: clustered, regular or random, and at which distances"),
    "demo": (".demo", "describe and classify built-in data, and draw two pictures"),
    "docs": (".docs", "open the documentation, or say where it is"),
}


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one sentence with the way out."""

    called: Parser | None = None  # the parser of the verb, or of the verb's own verb

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is; exit code 2."""
        own = self.called or self
        if message.startswith("unrecognized arguments: -"):
            unknown = message.split()[2].partition("=")[0]
            close = difflib.get_close_matches(unknown, own._option_string_actions, 1)
            message += f" (did you mean {close[0]}?)" if close else ""
        print(f"{own.prog}: {message}; see '{own.prog} --help'", file=sys.stderr)
        raise SystemExit(2)

    def below(self) -> dict[str, Parser]:
        """The parsers of verbs."""
        actions = [action for action in self._actions if isinstance(action, argparse._SubParsersAction)]
        return actions[0].choices if actions else {}


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the command ``heatfield``."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(words)
    except KeyboardInterrupt:
        print("heatfield: stopped", file=sys.stderr)
        return 130
    except (ValueError, OSError, ImportError) as error:
        from ..workflows.files import shown

        print(shown(f"heatfield {words[0]}: {error}"), file=sys.stderr)
        return 2


def _run(words: list[str]) -> int:
    parser = Parser(
        prog="heatfield", description="Heat Field Signatures: multiscale geometry of point clouds."
    )
    parser.add_argument("--version", action="version", version=f"heatfield {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    module = ""
    for verb, (home, summary) in VERBS.items():
        sub = verbs.add_parser(verb, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if verb in words[:1]:  # only the verb that was called loads its module
            if home.startswith(BENCH) and find_spec(BENCH) is None:
                raise ImportError("not installed; pip install heatfield-bench")
            _loaded(home).add_arguments(sub)
            module, parser.called = home, next((sub.below()[w] for w in words if w in sub.below()), sub)
    options = parser.parse_args(words)
    if not module:
        parser.print_help()
        return 0
    from .stop import prompt_stop

    os.environ["MPLBACKEND"] = "Agg"  # pictures need no screen
    with prompt_stop(), _spoken_warnings(options.verb):
        return int(_loaded(module).run(options))


def _loaded(module: str) -> Any:
    return importlib.import_module(module, __name__)


@contextmanager
def _spoken_warnings(verb: str) -> Iterator[None]:
    """The library's warnings as lines of the command."""
    from .._base.check import HeatFieldWarning

    with warnings.catch_warnings():
        plain = warnings.showwarning
        warnings.simplefilter("always", HeatFieldWarning)

        def show(message: Any, category: type[Warning], *rest: Any) -> None:
            if issubclass(category, HeatFieldWarning):
                print(f"heatfield {verb}: {message}", file=sys.stderr)
            else:
                plain(message, category, *rest)

        warnings.showwarning = show  # type: ignore[assignment]
        yield
