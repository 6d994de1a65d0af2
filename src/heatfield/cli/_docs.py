"""``heatfield docs``: open the documentation, or say where it is."""

from __future__ import annotations

import argparse
from pathlib import Path

# Where `make docs` puts the site, below the root of a clone.
_SITE = Path("docs", "_build", "html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "page",
        nargs="?",
        metavar="PAGE",
        help="a name such as HeatField or plot.pipeline, or a page such as guide/view (default: the start)",
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


def find_page(site: Path, name: str | None) -> Path:
    """The start page, the page of a public name, or a page by its path in the site."""
    if name is None:
        return site / "index.html"
    short = name.removeprefix("hf.").removeprefix("heatfield.")
    api = [f"api/heatfield.{short}.html", f"api/heatfield.{short}-class.html"]
    for path in (*api, f"{name.removesuffix('.html')}.html", f"{name.rstrip('/')}/index.html"):
        page = (site / path).resolve()
        # Names are compared letter by letter: on some file systems Signatures would open signatures.
        if (
            page.is_relative_to(site)
            and page.parent.is_dir()
            and page.name in {p.name for p in page.parent.iterdir()}
        ):
            return page
    raise ValueError(f"the documentation has no page {name!r}")
