"""Screenshots of the viewer for docs: a neuron, a tree, a protein and a shape.

python -m tools.screenshots FOLDER     # writes docs/guide/view_*.png; needs Chromium

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

# name: file, options, what to do in the page before the picture is taken
PICTURES = {
    "neuron": (
        "neurons4/cortical_principal/C060112A7.swc.gz",
        ["--budget", "8000"],
        ["heatfield.setScale(3)", "heatfield.pick(0)"],
    ),
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
        [
            "heatfield.setScale(2)",
            "document.getElementById('body').checked = true",
            "heatfield.setScale(3)",
        ],
    ),
}


def main() -> None:
    from PIL import Image

    root = Path(sys.argv[1])
    browser = Browser(1000, 640)
    try:
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
    finally:
        browser.close()


if __name__ == "__main__":
    main()
