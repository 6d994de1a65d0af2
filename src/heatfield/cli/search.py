"""``heatfield search``: see `build_index`, `add_to_index`, `remove_from_index`, `query_index`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..options import Features, Reading, Retrieval, Run
from .parsing import add_options, add_paths, add_quiet, add_tables, failed_files, file_size, given, say

_BUILD = (Features, Retrieval, Reading, Run)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    files = "files, folders, patterns in quotes, URLs, or a table of features"

    def action(name: str, words: str) -> argparse.ArgumentParser:
        own = actions.add_parser(name, help=words, description=words[0].upper() + words[1:] + ".")
        if name != "build":
            own.add_argument("index", metavar="INDEX", help="a folder that 'heatfield search build' wrote")
        return own

    build = action("build", "index files, or a table that 'heatfield describe' wrote")
    build.add_argument(
        "paths", nargs="+", metavar="PATH", help=f"{files}; of one folder, folders are classes"
    )
    build.add_argument("-o", "--out", required=True, metavar="INDEX", help="the index, a new folder")
    build.add_argument("--evaluate", action="store_true", help="print how well clouds find their class")
    query = action("query", "find the clouds of an index that are most like files")
    add_paths(query)
    query.add_argument("-k", type=int, default=10, metavar="K", help="hits per file (default 10)")
    query.add_argument("-o", "--out", type=Path, metavar="FILE", help="the table, a .csv (default: printed)")
    query.add_argument("--page", type=Path, metavar="PAGE", help="also a page with thumbnails, a .html")
    add = action("add", "add files to an index, described as those that it was built from")
    add.add_argument("paths", nargs="+", metavar="PATH", help=files)
    add.add_argument("--label", metavar="WORD", help="one class for all that is added")
    for own in (build, add):
        add_tables(own, "labels")
    remove = action("remove", "remove clouds from an index by their names, which a query shows")
    remove.add_argument("names", nargs="+", metavar="NAME", help="names, or patterns of names in quotes")
    for own, groups in ((build, _BUILD), (query, (Run,)), (add, (Run,)), (remove, ())):
        add_options(own, *groups)
        add_quiet(own)


def run(options: argparse.Namespace) -> int:
    """0: done with all files. 1: some could not be used, see NAME.errors.csv."""
    from ..workflows import search

    if options.action == "query":
        return _query(options)
    if options.action == "build":
        done = search.build_index(
            _one(options.paths), options.out, labels=options.labels, **given(options, *_BUILD)
        )
    elif options.action == "add":
        done = search.add_to_index(
            options.index, _one(options.paths), labels=options.labels, label=options.label,
            **given(options, Run),
        )  # fmt: skip
    else:
        done = search.remove_from_index(options.index, options.names)
    place = Path(options.out if options.action == "build" else options.index)
    words = {"build": "indexed", "add": "added", "remove": "removed"}[options.action]
    say(options, f"{len(done.names)} clouds {words} -> {place}\n{done.index!r}")
    if options.action == "build" and options.evaluate:
        print(done.index.evaluate())
    if options.action == "add" and None in done.index.labels and {*done.index.labels} != {None}:
        print("heatfield search: some clouds of the index have no class; see --label", file=sys.stderr)
    files = len(done.names) + len(done.errors)
    return failed_files("search", done.errors, files, place.with_name(place.name + ".errors.csv"))


def _query(options: argparse.Namespace) -> int:
    from ..workflows.files import shown
    from ..workflows.search import query_index

    found = query_index(
        options.index, options.paths, options.out, k=options.k, page=options.page, **given(options, Run)
    )
    files = len(found.files) + len(found.errors)
    if options.out is not None:
        say(options, f"{len(found.files)} of {files} files -> {options.out}")
    else:
        print(shown(str(found)))
    if options.page is not None:
        say(options, f"{options.page}: {file_size(options.page)}; open it in a browser")
    listed = None if options.out is None else options.out.with_suffix(".errors.csv")
    return failed_files("search", found.errors, files, listed)


def _one(paths: list[str]) -> str | list[str]:
    return paths[0] if len(paths) == 1 else paths
