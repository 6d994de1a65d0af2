"""The command line: one verb a job, each in a module of its own that loads when it is called."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, NoReturn

from heatfield import __version__

BENCH = "heatfield_bench"  # of another distribution

# verb: (module, what it does). A module offers add_arguments(parser) and run(options) -> exit code.
VERBS = {
    "describe": ("._describe", "turn files into a table of features, one row per cloud"),
    "survey": ("._survey", "turn tiles that are one cloud into tiles with signatures at every point"),
    "train": ("._train", "learn to classify files, with cross-validation, and save the model"),
    "predict": ("._predict", "classify files with a model that was trained before"),
    "points": ("._points", "label every point of files: train on labelled points, or predict"),
    "info": ("._info", "say what is in a file, and what describing it would cost"),
    "view": ("._view", "make a page to look at one cloud: turn it, colour it, step through the scales"),
    "report": ("._report", "make a page about a folder: map, spectra, classes, neighbours, outliers"),
    "bench": (
        f"{BENCH}._command",
        "compute the tables of the paper, and show them beside the published figures",
    ),
    "search": ("._search", "index clouds, and find those most like a file"),
    "pattern": ("._pattern", "test a point pattern: clustered, regular or random, and at which distances"),
    "demo": ("._demo", "describe and classify built-in data, and draw two pictures"),
    "docs": ("._docs", "open the documentation, or say where it is"),
}


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one sentence with the way out."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is; exit code 2."""
        print(f"{self.prog}: {message}; see '{self.prog} --help'", file=sys.stderr)
        raise SystemExit(2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the command ``heatfield``."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = Parser(
        prog="heatfield", description="Heat Field Signatures: multiscale geometry of point clouds."
    )
    parser.add_argument("--version", action="version", version=f"heatfield {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    for verb, (module, summary) in VERBS.items():
        sub = verbs.add_parser(verb, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if verb in words[:1]:  # only the verb that was called loads its module
            if module.startswith(BENCH) and find_spec(BENCH) is None:
                print(f"heatfield {verb}: not installed; pip install heatfield-bench", file=sys.stderr)
                return 2
            _loaded(module).add_arguments(sub)
    options = parser.parse_args(words)
    if options.verb is None:
        parser.print_help()
        return 0
    from ._stop import prompt_stop

    try:
        with prompt_stop():
            return int(_loaded(VERBS[options.verb][0]).run(options))
    except KeyboardInterrupt:
        print("heatfield: stopped", file=sys.stderr)
        return 130
    except (ValueError, OSError, ImportError) as error:
        from ._words import in_command_words

        print(f"heatfield {options.verb}: {in_command_words(str(error))}", file=sys.stderr)
        return 2


def _loaded(module: str) -> Any:
    return importlib.import_module(module, __name__)
