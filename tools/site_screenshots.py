"""Screenshots of the built site, wide and phone-sized, to look at.

python -m tools.site_screenshots FOLDER     # needs Chromium and a built site
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.lib.results import DOCS
from tests.helpers.chromium import Browser

SITE = DOCS / "_build" / "html"
PAGES = {
    "start": "index.html",
    "tutorial": "tutorial/plot_1_one_cloud.html",
    "gallery": "gallery/index.html",
    "api": "api/heatfield.signatures.html",
    "columns": "reference/columns.html",
    "theory": "theory/signatures.html",
    "paper": "reference/paper.html",
    "search": "search.html?q=junction",
}
SIZES = {"wide": (1400, 900, False), "phone": (390, 844, True)}


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    browser = Browser(1400, 900)
    try:
        for size, (width, height, mobile) in SIZES.items():
            browser.resize(width, height, mobile)
            for name, page in PAGES.items():
                path, _, query = page.partition("?")
                browser.events.clear()
                browser.call("Page.navigate", url=f"{(SITE / path).as_uri()}?{query}".rstrip("?"))
                browser.wait("document.readyState === 'complete'")
                if query:
                    browser.wait("document.querySelectorAll('#search-results li').length > 0")
                browser.screenshot(folder / f"{name}_{size}.png")
                # Nothing may come from the network, and no page may be wider than the window.
                away = [url for url in browser.requests() if not url.startswith("file:")]
                spill = browser.evaluate(f"document.documentElement.scrollWidth - {width}")
                found = browser.evaluate("document.querySelectorAll('#search-results li').length")
                facts = f"requests away: {away}, wider by: {spill}, found: {found}"
                print(name, size, facts, browser.problems()[:2])
    finally:
        browser.close()


if __name__ == "__main__":
    main()
