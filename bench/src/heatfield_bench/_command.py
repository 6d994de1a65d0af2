"""``heatfield bench``: the paper's tables, computed cell by cell and shown beside the published figures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from heatfield.cli.parsing import add_options, add_quiet, flag_of, given, say
from heatfield.options import Run

from .tables import TABLES

if TYPE_CHECKING:
    from . import Grid

# Words of `run`, which are given on where they were given.
_ASKED = ("sets", "methods", "splits", "features", "again")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "tables:\n" + "\n".join(f"  {name:12s} {title}" for name, title in TABLES.items())
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="which tables (default: all, see below)")
    parser.add_argument(
        "--budget",
        help="smoke (minutes, no conclusions), reduced (networks with few epochs) or paper (default smoke)",
    )  # fmt: skip
    parser.add_argument(
        "--data", action="append", default=[], metavar="NAME=FOLDER",
        help="folder of a data set; an unknown NAME is your own data, one folder per class (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--groups", action="append", default=[], metavar="NAME=TABLE",
        help="table with the columns file, group: no group of that data set is on both sides of a split",
    )  # fmt: skip
    parser.add_argument(
        "--results", type=Path, default=Path("heatfield-experiments"),
        help="folder of the results; a run goes on with what is there (default heatfield-experiments)",
    )  # fmt: skip
    parser.add_argument(
        "--features",
        type=Path,
        metavar="FOLDER",
        help="folder that keeps features of descriptors between runs",
    )
    parser.add_argument(
        "--sets", nargs="+", metavar="NAME", help="only these data sets (the table dimension has none)"
    )
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="only these methods")
    parser.add_argument(
        "--splits", type=int, metavar="N",
        help="only the first N splits or folds; a later run computes the others",
    )  # fmt: skip
    parser.add_argument(
        "--show", action="store_true", help="compute nothing, write the page and print TABLEs at a budget"
    )
    parser.add_argument("--again", action="store_true", help="compute again what is done already")
    add_options(parser, Run)
    add_quiet(parser)
    parser.set_defaults(help_of=parser)


def run(options: argparse.Namespace) -> int:
    """0: all cells are there, or help was printed. 1: some failed. 2: the options are wrong."""
    actions = [action for action in options.help_of._actions if action.dest != "help"]
    if all((getattr(options, action.dest, None) or action.default) == action.default for action in actions):
        options.help_of.print_help()
        return 0
    options.budget = options.budget or "smoke"
    from . import run as compute
    from ._findings import findings
    from ._page import markdown, page_place, write_page
    from .tables import table

    for name in options.tables:
        table(name)  # an unknown one is said before anything is done
    page_place(options.results, options.budget)
    failed = 0
    grids = _shown(options) if options.show else []
    if not options.show:
        asked = {name: getattr(options, name) for name in _ASKED}
        counts = compute(
            options.tables or None, budget=options.budget, data=_places(options.data, "--data", "FOLDER"),
            groups=_places(options.groups, "--groups", "TABLE"),
            results=options.results, **asked, **given(options, Run),
        )  # fmt: skip
        failed = counts["failed"]
        say(options, "{computed} cells computed, {before} were there, {failed} failed".format(**counts))
    page = write_page(options.results, budget=options.budget)
    if options.show:
        say(options, markdown(grids, findings(options.results, budget=options.budget)))
    if not options.quiet:
        print(f"page -> {page}", file=sys.stderr)
    return 1 if failed else 0


def _shown(options: argparse.Namespace) -> list[Grid]:
    """The tables that are there; options that would have no effect are refused, and no table is an error."""
    from . import show
    from ._results import Store

    asked = {name: getattr(options, name) for name in (*_ASKED, "data", "groups")} | given(options, Run)
    for name, value in asked.items():
        if value is not None and value is not False and value != []:
            raise ValueError(f"--show computes nothing: leave out {flag_of(name)}")
    if not options.results.is_dir():
        raise ValueError(f"there is no folder {str(options.results)!r}; run without --show first")
    found = show(options.tables or None, budget=options.budget, results=options.results)
    if found:
        return found
    of = f" of {', '.join(options.tables)}" if options.tables else ""
    kept = sorted({record.key.budget for record in Store(options.results).records()})
    there = f"there are records of the budgets {', '.join(kept)}" if kept else "run without --show first"
    raise ValueError(f"{str(options.results)!r} has no result{of} at the budget {options.budget}; {there}")


def _places(words: list[str], flag: str, what: str) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for word in words:
        name, sign, place = word.partition("=")
        if not sign or not name or not place:
            raise ValueError(f"{flag} must be NAME={what}, got {word!r}")
        if name in found:
            raise ValueError(f"{flag} gives {name} twice: {str(found[name])!r} and {place!r}")
        found[name] = Path(place)
    return found
