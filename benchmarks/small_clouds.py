"""Many small clouds: milliseconds per cloud by the batch and one by one, and files per second of `describe`.

    python -m benchmarks.small_clouds --data FOLDER...    # minutes; writes results/small_clouds.json

Both ways describe the same clouds in the same run, in turns; the best round counts. One by one is
batches of one cloud in as many threads. Files per second are what the command itself counts: reading,
describing and writing the table, in a new process whose compiled code is cached. Without ``--data`` the
figures of the last run are kept.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import heatfield as hf
from benchmarks.lib.clouds import make_cloud
from benchmarks.lib.machine import cores, load_average, machine
from benchmarks.lib.race import Shot, race
from benchmarks.lib.results import RESULTS, read, write
from heatfield._base.threads import pieces, run_pieces
from heatfield.features.describe import describe_clouds
from heatfield.features.layout import DescriptorSettings

OUTPUT = RESULTS / "small_clouds.json"
VARIANTS = ("simple", "desc", "joint")
DTYPES = ("float64", "float32")
SIZES = {128: 512, 256: 128, 1024: 16}  # points, and clouds per shot


def in_batches(points: np.ndarray, variant: str, dtype: str, threads: int) -> Shot:
    """As users call it."""
    descriptor = hf.HFSDescriptor(variant, dtype=dtype, n_jobs=threads).fit([points])
    return lambda count: descriptor.transform([points] * count)


def one_by_one(points: np.ndarray, variant: str, dtype: str, threads: int) -> Shot:
    """A batch for every cloud."""
    settings = DescriptorSettings(points.shape[1], variant=variant, dtype=dtype)

    def shot(count: int) -> None:
        run_pieces(lambda *_: describe_clouds([points], settings), pieces(count, 1), threads)

    return shot


def measure_clouds(rounds: int) -> list[dict[str, Any]]:
    """Every size, variant, precision and number of threads."""
    rows = []
    for m, count in SIZES.items():
        points = make_cloud("sphere", m)
        for variant in VARIANTS:
            for dtype in DTYPES:
                threads = (1, 2) if cores() > 1 else (1,)
                shots: dict[str, Shot] = {}
                for number in threads:
                    shots[f"batch {number}"] = in_batches(points, variant, dtype, number)
                    shots[f"single {number}"] = one_by_one(points, variant, dtype, number)
                times = race(shots, rounds, 0.0, clouds=max(8, count // (4 if variant == "joint" else 1)))
                best = {name: entry["best_ms"] for name, entry in times.items()}
                for number in threads:
                    rows.append(
                        {
                            "m": m, "variant": variant, "dtype": dtype, "threads": number,
                            "ms": round(best[f"batch {number}"], 4),
                            "times_one_by_one": round(best[f"single {number}"] / best[f"batch {number}"], 3),
                            "times_one_thread": round(best["batch 1"] / best[f"batch {number}"], 3),
                        }
                    )  # fmt: skip
                    print(*rows[-1].values(), flush=True)
    return rows


def measure_files(data: Path, rounds: int) -> list[dict[str, Any]]:
    """Files per second of the command, with one job and with as many as there are cores."""
    rows = []
    for jobs in sorted({1, cores()}):
        found = []
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                words = ["describe", str(data), "-o", f"{folder}/table.npz", "--n-jobs", str(jobs)]
                command = [sys.executable, "-P", "-m", "heatfield", *words]
                said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            files = int(re.findall(r"(\d+) of \d+ clouds", said)[0])
            seconds, share = (
                float(re.findall(r"([\d.]+) s,", said)[0]),
                re.findall(r"(\d+) % of the work", said),
            )
            rate = float(re.findall(r"([\d.]+) clouds per second", said)[0])
            found.append(
                {
                    "folder": data.name,
                    "jobs": jobs,
                    "files": files,
                    "files_a_second": rate,
                    "seconds": seconds,
                }
            )
            found[-1]["percent_reading"] = int(share[0]) if share else None
        rows.append(max(found, key=lambda row: row["files_a_second"]))
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, nargs="+", help="folders of small files for `describe`")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--only-files", action="store_true", help="keep the figures of clouds of the last run"
    )
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    last = read(options.output, {})
    result: dict[str, Any] = machine()
    result["clouds"] = last.get("clouds", []) if options.only_files else measure_clouds(options.rounds)
    result["describe"] = last.get("describe", [])
    if options.data is not None:
        result["describe"] = [row for data in options.data for row in measure_files(data, options.rounds)]
    result["load_average"] = load_average()
    # Ours is at most one process with a thread per core.
    result["busy"] = bool(result["load_average"] and result["load_average"][0] > cores() + 1)
    write(options.output, result)


if __name__ == "__main__":
    main()
