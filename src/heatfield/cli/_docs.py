"""``heatfield docs``: open the documentation, or say where it is."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._docs_pages import find_page

# Where `make docs` puts the site, below the root of a clone.
_SITE = Path("docs", "_build", "html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "page",
        nargs="?",
        metavar="PAGE",
        help="a name such as HeatField or plot.pipeline, a page such as guide/view, or a word of its name"
        " or title such as columns (default: the start)",
    )
    parser.add_argument(
        "--site", type=Path, metavar="FOLDER", help="the built site (default: that of the clone)"
    )
    parser.add_argument("--where", action="store_true", help="print the address only, open nothing")


def run(options: argparse.Namespace) -> int:
    """Open the page in the browser and print its address."""
    import webbrowser

    page = find_page(find_site(options.site), options.page)
    print(page.as_uri())
    if not options.where and not webbrowser.open(page.as_uri()):
        print("no browser could be started: open the address above")
    return 0


def find_site(folder: Path | None = None) -> Path:
    """The folder of the built site: the one given, or that of the clone that is imported."""
    if folder is not None:
        if not (folder / "index.html").is_file():
            raise FileNotFoundError(f"--site {str(folder)!r} holds no index.html")
        return folder.resolve()
    root = Path(__file__).resolve().parents[3]
    for place in (root, Path.cwd()):
        if (place / _SITE / "index.html").is_file():
            return (place / _SITE).resolve()
    raise FileNotFoundError(
        f"the documentation is not built: 'make docs' in a clone of heatfield writes {_SITE}/index.html; or"
        " name a built site with --site FOLDER"
    )
