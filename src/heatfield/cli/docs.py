"""``heatfield docs``: open the documentation, or say where it is."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument(
        "page", nargs="?", metavar="PAGE",
        help="a name such as HeatField or plot.pipeline, a page such as guide/view, or a word of its name"
        " or title such as columns (default: the start)",
    )  # fmt: skip
    parser.add_argument(
        "--site", type=Path, metavar="FOLDER", help="the built site (default: that of the clone)"
    )
    parser.add_argument("--where", action="store_true", help="print the address only, open nothing")


def run(options: argparse.Namespace) -> int:
    """Open the page in the browser and print its address."""
    import webbrowser

    from ..workflows.docs import find_page, find_site

    page = find_page(find_site(options.site), options.page).as_uri()
    print(page)
    if not options.where and not webbrowser.open(page):
        print("no browser could be started: open the address above")
    return 0
