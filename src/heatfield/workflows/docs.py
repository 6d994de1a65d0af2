"""Where the documentation is, and which of its pages a word means."""

from __future__ import annotations

import html
import re
from pathlib import Path

# Where `make docs` puts the site, below the root of a clone.
_SITE = Path("docs", "_build", "html")
# Made by Sphinx and its gallery: indices, the search, and times of the examples.
_NOT_PAGES = re.compile(r"_.*|(.*/)?sg_execution_times|genindex|py-modindex|search")
_MOST = 12  # pages listed at once


def find_site(folder: Path | None = None) -> Path:
    """The folder of the built site: the one given, or that of the clone that is imported."""
    if folder is not None:
        if not (folder / "index.html").is_file():
            raise FileNotFoundError(f"{str(folder)!r} holds no index.html")
        return folder.resolve()
    for root in (Path(__file__).resolve().parents[3], Path.cwd()):
        if (root / _SITE / "index.html").is_file():
            return (root / _SITE).resolve()
    raise FileNotFoundError(
        f"the documentation is not built: 'make docs' in a clone of heatfield writes {_SITE}/index.html; or"
        " name a built site with --site FOLDER"
    )


def find_page(site: Path, name: str | None) -> Path:
    """The start page, the page of a public name, a page by its path, or the only one that a word fits.

    A word that fits none or several is a ValueError that says which pages there are.
    """
    if not name:
        return site / "index.html"
    # Names are compared letter by letter: on some file systems Signatures would open signatures.
    known = {path.relative_to(site).with_suffix("").as_posix(): path for path in site.rglob("*.html")}
    short = name.removeprefix("hf.").removeprefix("heatfield.")
    api = [f"api/{full}{kind}" for full in (f"heatfield.{short}", name) for kind in ("", "-class")]
    for path in (*api, name.removesuffix(".html"), f"{name.rstrip('/')}/index"):
        if path in known:
            return known[path]
    pages = {page: _title(known[page]) for page in known if not _NOT_PAGES.fullmatch(page)}
    return known[_fitting(dict(sorted(pages.items(), key=lambda p: (p[0].startswith("api/"), p))), name)]


def _title(path: Path) -> str:
    """What stands in its ``<title>``, without the name of the site."""
    with open(path, encoding="utf-8", errors="replace") as file:
        found = re.search(r"<title>(.*?)</title>", file.read(8192), re.DOTALL)
    return html.unescape(found[1]).split(" — ")[0].strip() if found else ""


def _fitting(pages: dict[str, str], name: str) -> str:
    """The page of this name or title; else the only one whose path or title holds the word."""
    word = name.lower().strip("/")
    named = {page: (page.lower().removesuffix("/index"), title.lower()) for page, title in pages.items()}
    exact = [page for page, (path, title) in named.items() if word in (path.rpartition("/")[2], title)]
    for found in (exact, [page for page, (path, title) in named.items() if word in path or word in title]):
        if len(found) == 1:
            return found[0]
        if found:
            lines = [f"  {page}  {pages[page]}".rstrip() for page in found[:_MOST]]
            more = [f"  and {len(found) - _MOST} more"] if len(found) > _MOST else []
            listed = "\n".join(lines + more)
            raise ValueError(f"{name!r} fits {len(found)} pages, name one of them:\n{listed}")
    raise ValueError(
        f"the documentation has no page {name!r}; every public name has one (HeatField), and there are:\n"
        + "\n".join(f"  {page}  {title}" for page, title in pages.items() if not page.startswith("api/"))
    )
