"""``heatfield search``: an index of clouds, and which of them are most like the files given."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._reading import add_reading
from ._scales import add_scales


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    build = actions.add_parser(
        "build", help="index files, or a table of features",
        description="Index files, or a table that 'heatfield describe' wrote.",
    )  # fmt: skip
    build.add_argument(
        "paths", nargs="+", metavar="PATH",
        help="files, folders, patterns in quotes, or a table of features; of one folder, folders are classes",
    )  # fmt: skip
    build.add_argument(
        "-o", "--out", type=Path, required=True, metavar="INDEX", help="the index, a new folder"
    )
    build.add_argument("--labels", type=Path, metavar="CSV", help="classes from a table: file,label")
    build.add_argument(
        "--metric", choices=("euclidean", "cosine", "learned"), default="euclidean",
        help="distance of standardised descriptors (default euclidean); learned: of linear discriminants",
    )  # fmt: skip
    build.add_argument(
        "--search", choices=("auto", "exact", "approximate"), default="auto",
        help="auto: approximate from 50,000 clouds on, where faiss is installed",
    )  # fmt: skip
    build.add_argument(
        "--recall", type=float, default=0.95, metavar="R",
        help="share of the ten nearest that an approximate search must find (default 0.95)",
    )  # fmt: skip
    build.add_argument(
        "--variant", choices=("simple", "desc", "joint"), help="the descriptor (default joint)"
    )
    add_scales(build)
    build.add_argument(
        "--evaluate", action="store_true", help="say how well clouds find others of their class"
    )
    add_reading(build, seed="of sampling and of the approximate index", budget=1024)
    query = actions.add_parser(
        "query", help="find the clouds of an index that are most like files",
        description="Find the clouds of an index that are most like files.",
    )  # fmt: skip
    query.add_argument(
        "index", type=Path, metavar="INDEX", help="a folder that 'heatfield search build' wrote"
    )
    query.add_argument("paths", nargs="+", metavar="PATH", help="files, folders, or patterns in quotes")
    query.add_argument("-k", type=int, default=10, metavar="K", help="hits per file (default 10)")
    query.add_argument("-o", "--out", type=Path, metavar="FILE", help="the table, a .csv (default: printed)")
    query.add_argument("--page", type=Path, metavar="PAGE", help="also a page with thumbnails, a .html")
    add = actions.add_parser(
        "add", help="add files, or a table of features, to an index",
        description="Add files, or a table that 'heatfield describe' wrote, to an index. They are read, "
        "described and standardised as those that it was built from; a name that is in it is refused.",
    )  # fmt: skip
    add.add_argument("index", type=Path, metavar="INDEX", help="a folder that 'heatfield search build' wrote")
    add.add_argument(
        "paths", nargs="+", metavar="PATH", help="files, folders, patterns in quotes, or a table of features"
    )
    add.add_argument("--labels", type=Path, metavar="CSV", help="classes from a table: file,label")
    add.add_argument("--label", metavar="WORD", help="instead: one class for all that is added")
    remove = actions.add_parser(
        "remove", help="remove clouds from an index",
        description="Remove clouds from an index by their names, which are those that a query shows.",
    )  # fmt: skip
    remove.add_argument(
        "index", type=Path, metavar="INDEX", help="a folder that 'heatfield search build' wrote"
    )
    remove.add_argument("names", nargs="+", metavar="NAME", help="names, or patterns of names in quotes")
    remove.add_argument("--quiet", action="store_true", help="no summary")
    for action in (build, query, add):
        action.add_argument("--jobs", type=int, default=-1, help="processes or threads (default: all cores)")
        action.add_argument("--quiet", action="store_true", help="no progress bar, no summary")


def run(options: argparse.Namespace) -> int:
    """0: done with all files. 1: some could not be used, see the .errors.csv. 2: nothing could start."""
    if options.action == "build":
        from ._search_build import build

        return build(options)
    if options.action == "query":
        from ._search_query import query

        return query(options)
    from . import _search_change

    return _search_change.add(options) if options.action == "add" else _search_change.remove(options)
