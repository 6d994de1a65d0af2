"""Whether ``auto`` and ``fast`` give what ``dense`` gives, to the tolerance, on real clouds.

    python -m benchmarks.real_clouds DATA [--minutes 8]

DATA holds one folder per set. Every cloud is taken whole, none is sampled down; from each set an even
sample by size is drawn, the largest cloud always among them, and the sets take turns until the time is up.
For every output the worst error over all clouds, points and scales is given in units of what is promised
(docs/theory/fast.md): 1 would be the limit. Writes benchmarks/results/real_clouds.json.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

import heatfield as hf
from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, write
from heatfield.channels import BOUNDS, RELATIVE

SUFFIXES = (".pdb", ".swc.gz", ".las", ".npy")
TOLERANCES = (1e-6, 1e-9)


def errors(found: hf.Signatures, exact: hf.Signatures, tol: float) -> dict[str, float]:
    """The worst error of each output over what is promised for it."""
    out = {}
    for name, factor in BOUNDS.items():
        error = np.abs(getattr(found, name) - getattr(exact, name))
        if name in RELATIVE:
            error = error / getattr(exact, name)
        out[name] = float(error.max() / (factor * tol))
    return out


def files_of(folder: Path, count: int) -> tuple[list[Path], int]:
    """An even sample of a set by the size of its files, the largest first, and how many there are."""
    files = sorted(
        (p for p in folder.rglob("*") if p.name.endswith(SUFFIXES)), key=lambda p: p.stat().st_size
    )
    if not files:
        return [], 0
    picked = np.unique(np.linspace(0, len(files) - 1, min(count, len(files))).round().astype(int))
    # Small and large in turn, so that the time running out does not leave one kind out.
    order = [len(picked) - 1, *np.random.default_rng(0).permutation(len(picked) - 1)]
    return [files[picked[i]] for i in order], len(files)


def compare(path: Path, table: dict) -> int:
    """Add one cloud to the table of a set; how many points it has."""
    points = hf.read_points(path, nodes=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hf.HeatFieldWarning)
        exact = hf.signatures(points, method="dense", transition="exact")
        if not np.isfinite(exact.scales).all():
            return 0
        for tol in TOLERANCES:
            for method in ("auto", "fast"):
                found = hf.signatures(points, method=method, tol=tol, transition="exact")
                entry = table.setdefault(f"{method} tol={tol:g}", {"worst": dict.fromkeys(BOUNDS, 0.0)})
                for name, error in errors(found, exact, tol).items():
                    entry["worst"][name] = max(entry["worst"][name], error)
                for way in found.plan.methods:
                    entry.setdefault("scales", {}).setdefault(way, 0)
                    entry["scales"][way] += 1
    return len(points)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path, help="folder that holds one folder per set")
    parser.add_argument("--clouds", type=int, default=150, help="at most this many clouds per set")
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--out", type=Path, default=RESULTS / "real_clouds.json")
    options = parser.parse_args()

    sets = {}
    for folder in sorted(p for p in options.data.iterdir() if p.is_dir()):
        files, total = files_of(folder, options.clouds)
        if files:
            sets[folder.name] = {"files": files, "total": total, "sizes": [], "table": {}}
    if not sets:
        raise SystemExit(f"no files ending in {', '.join(SUFFIXES)} under {options.data}")
    started = time.perf_counter()
    for turn in range(options.clouds):
        for entry in sets.values():
            if turn < len(entry["files"]) and time.perf_counter() - started < 60.0 * options.minutes:
                entry["sizes"].append(compare(entry["files"][turn], entry["table"]))

    found = {**machine(), "minutes": round((time.perf_counter() - started) / 60.0, 1), "sets": {}}
    for name, entry in sets.items():
        sizes = [m for m in entry["sizes"] if m]
        found["sets"][name] = {
            "clouds_in_set": entry["total"],
            "clouds_compared": len(sizes),
            "points": {"least": min(sizes), "median": float(np.median(sizes)), "most": max(sizes)},
            "error_over_promise": entry["table"],
        }
        print(f"{name}: {len(sizes)} of {entry['total']} clouds, up to {max(sizes):,} points")
        for way, result in entry["table"].items():
            worst = ", ".join(f"{key} {value:.2g}" for key, value in result["worst"].items())
            print(f"  {way:15s} {worst}  {result['scales']}")
    write(options.out, found, sort_keys=True)
    limit = max(
        e
        for s in found["sets"].values()
        for r in s["error_over_promise"].values()
        for e in r["worst"].values()
    )
    print(f"worst error {limit:.3g} of what is promised; results in {options.out}")
    if limit > 1.0:
        raise SystemExit("the promise is broken")


if __name__ == "__main__":
    main()
