"""How soon a large page can be used, how fluid it is, and what a million points cost.

python -m benchmarks.view       # writes benchmarks/results/view.json; needs Chromium

The browser is headless and renders in software (SwiftShader), on the same cores as everything else: the
slowest case. Ready: from the start of loading to the second frame after the first drawing. Frames:
counted over five seconds in which every frame turns the cloud, after two in which the page finds its pace.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import numpy as np

import heatfield as hf
from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, write
from heatfield.cli import main as command
from tests.helpers.chromium import Browser

OUTPUT = RESULTS / "view.json"
ORBIT = """new Promise((done) => {
  const wait = 2000, last = 5000; let first = 0, frames = 0;
  const step = (now) => {
    if (!first) first = now;
    const gone = now - first;
    heatfield.camera.turn(0.03, 0.01); heatfield.moved();
    if (gone > wait) frames++;
    if (gone < wait + last) requestAnimationFrame(step);
    else done({ frames_a_second: 1000 * frames / (gone - wait), points_in_motion: heatfield.scene.drawn });
  };
  requestAnimationFrame(step);
})"""


def forest(m: int) -> np.ndarray:
    """A scene of filaments, crowns and ground."""
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(20):
        tree, _ = hf.datasets.make_branching_tree(m // 25, noise=0.02, random_state=int(rng.integers(1e6)))
        parts.append(tree + np.array([*rng.uniform(-12, 12, size=2), 0.0]))
    ground = rng.uniform(-14, 14, size=(m - sum(map(len, parts)), 3))
    ground[:, 2] = 0.3 * np.sin(0.4 * ground[:, 0]) + 0.02 * rng.normal(size=len(ground))
    return np.concatenate([*parts, ground])


def look(path: Path) -> dict:
    """Load a page and turn the cloud."""
    browser = Browser(1280, 800)
    try:
        browser.open(path)
        browser.wait("window.heatfield && window.heatfield.stats.ready")
        ready = browser.evaluate("heatfield.stats.ready") / 1000
        moving = browser.evaluate(ORBIT)
        browser.evaluate("new Promise((done) => setTimeout(done, 600))")
        started = time.perf_counter()
        browser.evaluate("heatfield.setScale(5)")
        browser.frames(2)
        return {
            "megabytes": round(path.stat().st_size / 1e6, 1),
            "ready_s": round(ready, 2),
            **{key: round(value, 1) for key, value in moving.items()},
            "change_of_scale_s": round(time.perf_counter() - started, 3),
            "problems": len(browser.problems()),
        }
    finally:
        browser.close()


def main() -> None:
    result = {**machine(), "renderer": "SwiftShader, headless Chromium, 1280 x 800", "pages": {}}
    result["load_before"] = round(os.getloadavg()[0], 1)  # the machine may be busy with other work
    with tempfile.TemporaryDirectory() as folder:
        for m in (20_000, 200_000, 1_000_000):
            cloud = Path(folder) / "cloud.npy"
            np.save(cloud, forest(m))
            page = Path(folder) / "view.html"
            started = time.perf_counter()
            assert command(["view", str(cloud), "-o", str(page), "--quiet"]) == 0
            whole = time.perf_counter() - started
            points = np.load(cloud)
            rows = np.random.default_rng(0).permutation(m)[:200_000]
            started = time.perf_counter()
            hf.signatures(points, targets=rows if m > 200_000 else None, tol=1e-5, n_jobs=-1)
            alone = time.perf_counter() - started
            entry = {"command_s": round(whole, 1), "signatures_alone_s": round(alone, 1), **look(page)}
            result["pages"][str(m)] = entry
            print(m, entry, flush=True)
    write(OUTPUT, result)


if __name__ == "__main__":
    main()
