"""Pictures of the documentation made from data that are not part of this repository, and the site to look at.

    python -m tools.screenshots FOLDER         # writes docs/guide/view_*.png and pipeline.png; needs Chromium
    python -m tools.screenshots --site FOLDER  # the built site, wide and as on a phone, into FOLDER

FOLDER holds neurons4, trees8, cath15 and shapes10.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from benchmarks.lib.results import DOCS
from heatfield.cli import main as command
from tests.helpers.chromium import Browser

NEURON = "neurons4/cortical_principal/C060112A7.swc.gz"
# name: file, options, what to do in the page before the picture is taken
PICTURES = {
    "neuron": (NEURON, ["--budget", "8000"], ["heatfield.setScale(3)", "heatfield.pick(0)"]),
    "tree": ("trees8/ACRU/MLBS00471.las", ["--theme", "dark"], ["heatfield.setScale(3)"]),
    "protein": (
        "cath15/1.20.120/1aueB00.pdb",
        [],
        [
            "document.getElementById('alpha').value = 0.45; document.getElementById('body').checked = true",
            "heatfield.camera.scale(0.85)",
            "heatfield.setScale(1)",
        ],
    ),
    "shape": (
        "shapes10/Insect/D00081.npy",
        [],
        ["heatfield.setScale(2)", "document.getElementById('body').checked = true", "heatfield.setScale(3)"],
    ),
}
PAGES = {
    "start": "index.html",
    "tutorial": "tutorial/plot_1_one_cloud.html",
    "gallery": "gallery/index.html",
    "api": "api/heatfield.signatures.html",
    "columns": "reference/columns.html",
    "paper": "reference/paper.html",
    "search": "search.html?q=junction",
}


def pipeline(root: Path) -> None:
    """One real neuron, from points to a descriptor."""
    import matplotlib as mpl

    mpl.use("Agg")
    import heatfield as hf

    axes = hf.plot.pipeline(
        hf.read_points(root / NEURON, budget=4000), title="A cortical neuron, from points to a descriptor"
    )
    axes.flat[0].figure.savefig(DOCS / "guide" / "pipeline.png", dpi=80, pil_kwargs={"optimize": True})


def viewer(browser: Browser, root: Path) -> None:
    """A neuron, a tree, a protein and a shape."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        for name, (file, options, steps) in PICTURES.items():
            page = Path(folder) / f"{name}.html"
            theme = [] if "--theme" in options else ["--theme", "light"]
            words = ["view", str(root / file), "-o", str(page), "--quiet", *options, *theme]
            assert command(words) == 0
            browser.open(page)
            browser.wait("window.heatfield && window.heatfield.stats.ready")
            for step in steps:
                browser.evaluate(step)
            seen = Image.fromarray(browser.screenshot().astype("uint8"))
            buffer = io.BytesIO()
            # A palette of 128 colours keeps each below 150 kB.
            seen.quantize(128, dither=Image.Dither.NONE).save(buffer, "png", optimize=True)
            (DOCS / "guide" / f"view_{name}.png").write_bytes(buffer.getvalue())
            print(name, len(buffer.getvalue()), "bytes", browser.problems())


def site(browser: Browser, folder: Path) -> None:
    """Pages of the built site; nothing may come from the network, and no page be wider than the window."""
    folder.mkdir(parents=True, exist_ok=True)
    for size, width, height, mobile in (("wide", 1400, 900, False), ("phone", 390, 844, True)):
        browser.resize(width, height, mobile)
        for name, page in PAGES.items():
            path, _, query = page.partition("?")
            browser.events.clear()
            address = (DOCS / "_build" / "html" / path).as_uri()
            browser.call("Page.navigate", url=f"{address}?{query}".rstrip("?"))
            browser.wait("document.readyState === 'complete'")
            if query:
                browser.wait("document.querySelectorAll('#search-results li').length > 0")
            browser.screenshot(folder / f"{name}_{size}.png")
            away = [url for url in browser.requests() if not url.startswith("file:")]
            spill = browser.evaluate(f"document.documentElement.scrollWidth - {width}")
            print(name, size, f"requests away: {away}, wider by: {spill}", browser.problems()[:2])


def main() -> None:
    browser = Browser(1000, 640)
    try:
        if sys.argv[1] == "--site":
            site(browser, Path(sys.argv[2]))
        else:
            viewer(browser, Path(sys.argv[1]))
            pipeline(Path(sys.argv[1]))
    finally:
        browser.close()


if __name__ == "__main__":
    main()
