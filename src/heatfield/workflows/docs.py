"""Where the documentation is, and which of its pages a word means."""

from __future__ import annotations

import difflib
import html
import re
from pathlib import Path
from typing import NamedTuple

# Where `make docs` puts the site, below the root of a clone.
_SITE = Path("docs", "_build", "html")
# Made by Sphinx and its gallery: indices, the search, and times of the examples.
_NOT_PAGES = {f"{name}.html" for name in ("genindex", "py-modindex", "search")}
_TIMES = "sg_execution_times"
_CLOSE = 0.75  # share of common letters from which a word counts as a misspelt name
_MOST = 12  # pages listed at once


class Page(NamedTuple):
    """A page as it is asked for, such as ``guide/view``, and its title."""

    name: str
    title: str

    def words(self) -> set[str]:
        """What the page may be called, in small letters."""
        last = self.name.removesuffix("/index").rpartition("/")[2].removesuffix("-class")
        dotted = {last, last.removeprefix("heatfield."), last.rpartition(".")[2]}
        plain = {re.sub(r"^plot_(\d+_)?", "", word) for word in dotted}  # tutorials and gallery
        return {word.lower() for word in (self.name, self.title, *dotted, *plain) if word}


def find_site(folder: Path | None = None) -> Path:
    """The folder of the built site: the one given, or that of the clone that is imported."""
    if folder is not None:
        if not (folder / "index.html").is_file():
            raise FileNotFoundError(f"{str(folder)!r} holds no index.html")
        return folder.resolve()
    for place in (Path(__file__).resolve().parents[3], Path.cwd()):
        if (place / _SITE / "index.html").is_file():
            return (place / _SITE).resolve()
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
    return _named(site, name) or site / f"{_fitting(_pages(site), name).name}.html"


def _named(site: Path, name: str) -> Path | None:
    """A public name, or the path of a page."""
    short = name.removeprefix("hf.").removeprefix("heatfield.")
    api = [f"api/{full}{kind}.html" for full in (f"heatfield.{short}", name) for kind in ("", "-class")]
    for path in (*api, f"{name.removesuffix('.html')}.html", f"{name.rstrip('/')}/index.html"):
        page = (site / path).resolve()
        # Names are compared letter by letter: on some file systems Signatures would open signatures.
        inside = page.is_relative_to(site) and page.parent.is_dir()
        if inside and page.name in {p.name for p in page.parent.iterdir()}:
            return page
    return None


def _pages(site: Path) -> list[Page]:
    """All pages with their titles, those of public names last."""
    found = []
    for path in site.rglob("*.html"):
        inner = path.relative_to(site)
        if not inner.parts[0].startswith("_") and inner.as_posix() not in _NOT_PAGES and inner.stem != _TIMES:
            found.append(Page(inner.with_suffix("").as_posix(), _title(path)))
    return sorted(found, key=lambda page: (page.name.startswith("api/"), page.name))


def _title(path: Path) -> str:
    """What stands in its ``<title>``, without the name of the site."""
    with open(path, encoding="utf-8", errors="replace") as file:
        found = re.search(r"<title>(.*?)</title>", file.read(8192), re.DOTALL)
    return html.unescape(found[1]).split(" — ")[0].strip() if found else ""


def _fitting(pages: list[Page], name: str) -> Page:
    """The page of this name or title; else the only one with such a beginning, part or spelling."""
    word = name.lower().strip("/")
    last = word.rpartition("/")[2]
    ways = (
        lambda known: known == word,
        lambda known: known.startswith(word),
        lambda known: word in known,
        lambda known: "/" not in known and difflib.SequenceMatcher(None, last, known).ratio() >= _CLOSE,
    )
    for way in ways:
        found = [page for page in pages if any(map(way, page.words()))]
        if len(found) == 1:
            return found[0]
        if found:
            raise ValueError(f"{name!r} fits {len(found)} pages, name one of them:\n{_listed(found)}")
    own = [page for page in pages if not page.name.startswith("api/")]
    raise ValueError(
        f"the documentation has no page {name!r}; every public name has one (HeatField), and there are:\n"
        + _listed(own, len(own))
    )


def _listed(pages: list[Page], most: int = _MOST) -> str:
    """A line per page."""
    width = max((len(page.name) for page in pages[:most]), default=0)
    lines = [f"  {page.name:<{width}}  {page.title}".rstrip() for page in pages[:most]]
    return "\n".join([*lines, *([f"  and {len(pages) - most} more"] if len(pages) > most else [])])
