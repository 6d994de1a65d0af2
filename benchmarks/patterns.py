"""Size and power of the pattern test beside Ripley's K and the nearest-neighbour function G.

    python -m benchmarks.patterns [--repeats 200] [--simulations 99] [--sizes 50,100,200]
    python -m benchmarks.patterns --table      # the finished rows as Markdown

The four processes of the paper (`make_processes`) in the unit square, at several mean numbers of points:
parents, the Strauss intensity and the number of cells grow with the number, the Strauss radius and the cells
shrink with the spacing, the radius of clusters stays. Every pattern is tested at level 0.05 against the same
simulations of as many uniform points by the same rank envelope: only the curve differs. K and G are
those of pointpats (needs ``pip install pointpats``), K at the distances of our curves, G at 24 distances up
to twice the mean spacing. The Poisson process gives the size of each test; its binomial band is written
beside it. Every finished pair of process and size is written to benchmarks/results/patterns.json at once;
run again, the script goes on.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pointpats
from scipy.stats import binom

import heatfield as hf
from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, read, write
from heatfield.patterns import Box, rank_envelope
from heatfield.patterns._envelope import _distances, curves

LEVEL = 0.05
SQUARE = Box([0.0, 0.0], [1.0, 1.0])
PROCESSES = ("Poisson", "Matern cluster", "Strauss", "Baddeley-Silverman")


def patterns(size: int, repeats: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Patterns of about ``size`` points."""
    share = size / 200.0
    return hf.datasets.make_processes(
        repeats,
        intensity=size,
        parents=40.0 * share,
        strauss_intensity=225.0 * share,
        strauss_radius=0.025 / share**0.5,
        cells=round(14 * share**0.5),
        random_state=size,
    )


def ripley(points: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Ripley's K for the unit square, without a correction for the edge, which the simulations share.

    pointpats estimates the intensity from the bounding box of the points, which is noise here: undone.
    """
    return pointpats.k(points, support=np.r_[0.0, distances])[1][1:] / np.prod(np.ptp(points, axis=0))


def nearest(points: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """The distribution function of distances to the nearest point."""
    return pointpats.g(points, support=np.r_[0.0, distances])[1][1:]


def statistics(points: np.ndarray, count: int) -> dict[str, np.ndarray]:
    """All curves of one pattern."""
    own = _distances(None, SQUARE, count)
    response, pairs = curves(points, own)
    return {
        "heat response C2": response,
        "heat pairs": pairs,
        "both": np.concatenate([response, pairs]),
        "Ripley K": ripley(points, own),
        "nearest G": nearest(points, np.linspace(0.0, 2.0 / count**0.5, 25)[1:]),
    }


def rejections(points: np.ndarray, simulations: int, seed: list[int]) -> dict[str, bool]:
    """Which tests reject a pattern."""
    rng = np.random.default_rng(seed)
    observed = statistics(points, len(points))
    simulated = [statistics(SQUARE.sample(rng, len(points)), len(points)) for _ in range(simulations)]
    return {
        name: rank_envelope(curve, np.array([one[name] for one in simulated]), LEVEL).p <= LEVEL
        for name, curve in observed.items()
    }


def run(out: Path, sizes: list[int], repeats: int, simulations: int, say: Callable[[str], object]) -> None:
    """Every process at every size."""
    for size in sizes:
        clouds, labels = patterns(size, repeats)
        for label, process in enumerate(PROCESSES):
            key = f"{process}/{size}/{repeats}/{simulations}"
            if key in read(out, {}).get("rejected", {}):
                continue
            chosen = [cloud for cloud, own in zip(clouds, labels, strict=True) if own == label]
            found = [rejections(cloud, simulations, [size, label, i]) for i, cloud in enumerate(chosen)]
            share = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
            band = [float(v) / repeats for v in binom.interval(0.99, repeats, LEVEL)]
            row = {"points": round(float(np.mean([len(c) for c in chosen])), 1), "share": share}
            kept = {**read(out, {}), **machine(), "level": LEVEL, "band_99": band}
            kept.setdefault("rejected", {})[key] = row
            write(out, kept)
            say(f"{process} {size}: {row} (size: {band[0]:.3f} to {band[1]:.3f})")


def table(found: dict) -> str:
    """The finished rows for docs/guide/patterns.md."""
    rows = found["rejected"]
    names = list(next(iter(rows.values()))["share"])
    lines = [
        "| process | mean points | patterns | " + " | ".join(names) + " |",
        "|---|---|---|" + "---|" * len(names),
    ]
    for key, row in rows.items():
        process, _, repeats, _ = key.split("/")
        shares = " | ".join(f"{row['share'][name]:.2f}" for name in names)
        lines.append(f"| {process} | {row['points']:.0f} | {repeats} | {shares} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=200, help="patterns per process and size")
    parser.add_argument("--simulations", type=int, default=99, help="per pattern")
    parser.add_argument("--sizes", default="50,100,200", help="mean numbers of points")
    parser.add_argument("--out", type=Path, default=RESULTS / "patterns.json")
    parser.add_argument(
        "--table", action="store_true", help="print the finished rows as Markdown, run nothing"
    )
    options = parser.parse_args()
    if options.table:
        print(table(read(options.out, {})))
        return
    sizes = [int(size) for size in options.sizes.split(",")]
    run(options.out, sizes, options.repeats, options.simulations, lambda words: print(words, flush=True))


if __name__ == "__main__":
    main()
