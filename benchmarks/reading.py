"""Read every file under a folder and check what was read by other means.

    python -m benchmarks.reading DATA

PDB: alpha carbons counted by gemmi. LAS: coordinates beside laspy's, to the last digit. SWC: parsed again
by plain Python; each stretch of length L/m must hold the sampled point of its number. NPY: beside numpy.load.
"""

from __future__ import annotations

import argparse
import gzip
import math
import time
from collections import Counter, defaultdict
from pathlib import Path

import gemmi
import laspy
import numpy as np

import heatfield as hf


def alpha_carbons(file: Path) -> int:
    """By gemmi, one place per atom."""
    structure = gemmi.read_pdb(str(file))
    structure.remove_alternative_conformations()
    return sum(a.name == "CA" and a.element == gemmi.Element("C") for c in structure[0] for r in c for a in r)


def arc_length_holds(file: Path, budget: int = 1024) -> bool:
    """Walk the segments in the order of the file; point k must lie on the k-th stretch."""
    with gzip.open(file, "rt", encoding="latin-1") as text:
        lines = [line.split() for line in text if line.strip() and line[0] != "#"]
    place = {w[0]: tuple(map(float, w[2:5])) for w in lines}
    segments = [(place[w[6]], place[w[0]]) for w in lines if w[6] != "-1"]
    total = math.fsum(math.dist(a, b) for a, b in segments)
    points = hf.read_points(file, budget=budget).tolist()
    position, k = 0.0, 0
    on_segment = False
    for a, b in segments:
        length = math.dist(a, b)
        while k < budget and length > 0:
            p = points[k]
            along = math.dist(a, p)
            on_segment = abs(along + math.dist(p, b) - length) < 1e-9 * (1 + total)
            if not on_segment:
                break
            if not k - 1e-6 <= (position + along) * budget / total <= k + 1 + 1e-6:
                return False
            k += 1
        position += length
    return k == budget


def right(file: Path, cloud: hf.Cloud) -> bool:
    """Whether another reader agrees."""
    if cloud.format == "pdb":
        return len(cloud.points) == alpha_carbons(file)
    if cloud.format == "las":
        las = laspy.read(file)
        return np.array_equal(cloud.points, np.stack([las.x, las.y, las.z], axis=1))
    if cloud.format == "swc":
        return arc_length_holds(file)
    return np.array_equal(cloud.points, np.load(file))


def main() -> None:
    """Print one line per format, and every file that differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    files = sorted(
        f for f in parser.parse_args().data.rglob("*") if f.suffix in (".pdb", ".las", ".gz", ".npy")
    )
    count: Counter[str] = Counter()
    points: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    seconds: defaultdict[str, float] = defaultdict(float)
    for file in files:
        started = time.perf_counter()
        cloud = hf.read_cloud(file)
        seconds[cloud.format] += time.perf_counter() - started
        count[cloud.format] += 1
        points[cloud.format] += len(cloud.points)
        if not right(file, cloud):
            wrong[cloud.format] += 1
            print("differs:", file)
    for kind in count:
        rate = count[kind] / seconds[kind]
        print(
            f"{kind:4s} {count[kind]:5d} files, {points[kind]:8d} points, {wrong[kind]} differ, "
            f"{rate:.0f} files per second"
        )
    print(f"{sum(count.values())} files in all")


if __name__ == "__main__":
    main()
