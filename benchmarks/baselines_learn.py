"""Every network learns four shapes: published sizes, 128 points, one core, two minutes.

    python -m benchmarks.baselines_learn [METHOD ...]       # writes benchmarks/results/baselines_learn.json

Trained on clouds of one random state and tested on those of another. Optimisers, schedules and augmentation
are the published ones; batch size and epochs are chosen for two minutes, and VN-DGCNN's first rate for so few
steps. A second row has its training labels shuffled. Finished rows are kept: run again, the script goes on
where it stopped. Time is that of the processor, training alone, so that other work on the machine counts
little.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
import torch

import heatfield as hf
import heatfield_bench as hb
from benchmarks.lib.machine import machine

OUTPUT = Path(__file__).parent / "results" / "baselines_learn.json"
PER_CLASS, POINTS, TEST_PER_CLASS = 60, 128, 100
# Settings were tried on clouds of the states 0 and 1; those that are tested were never used before. After 80
# epochs PointNet++ SSG had 92.5 % on state 7: it was given 140, tested on a state of its own.
TEST_STATE, TEST_STATES = 7, {"PointNet++ SSG": 8}
LIMIT_SECONDS, LIMIT_ACCURACY = 120.0, 0.95
ROWS: dict[str, tuple[str, dict]] = {
    "PointNet": ("PointNet", {"epochs": 15, "batch_size": 16}),
    "PointNet++ SSG": ("PointNet2", {"epochs": 140, "batch_size": 16}),
    "PointNet++ MSG": ("PointNet2", {"epochs": 40, "batch_size": 16, "grouping": "msg"}),
    "DGCNN": ("DGCNN", {"epochs": 15, "batch_size": 16}),
    "DGCNN-SO(3)": ("DGCNN", {"epochs": 15, "batch_size": 16, "rotation": "so3"}),
    "Point Transformer": ("PointTransformer", {"epochs": 40, "batch_size": 16}),
    "VN-DGCNN": ("VNDGCNN", {"epochs": 8, "batch_size": 16, "learning_rate": 0.02}),
}
SHUFFLED_EPOCHS = 3


def run(row: str) -> dict:
    """Accuracy on unseen clouds, with true and with shuffled labels, and what it took."""
    name, settings = ROWS[row]
    clouds, labels = hf.datasets.make_four_shapes(PER_CLASS, POINTS, random_state=0)
    others, expected = hf.datasets.make_four_shapes(
        TEST_PER_CLASS, POINTS, random_state=TEST_STATES.get(row, TEST_STATE)
    )
    make = getattr(hb.baselines, name)
    make(**settings | {"epochs": 1}, random_state=0).fit(clouds[::20], labels[::20])  # compiles
    started, wall = time.process_time(), time.perf_counter()
    model = make(**settings, random_state=0, progress=True).fit(clouds, labels)
    spent, wall = time.process_time() - started, time.perf_counter() - wall
    score = model.score(others, expected)
    scores = []
    for seed in range(3):
        shuffled = np.random.default_rng(seed).permutation(labels)
        chance = make(**settings | {"epochs": SHUFFLED_EPOCHS}, random_state=seed).fit(clouds, shuffled)
        scores.append(round(chance.score(others, expected), 4))
    return {
        "settings": settings,
        "parameters": make.parameter_count(4, **settings),
        "accuracy": round(score, 4),
        "train_accuracy": round(model.history_[-1]["accuracy"], 4),
        "cpu_seconds": round(spent, 1),
        "wall_seconds": round(wall, 1),
        "holds": bool(score >= LIMIT_ACCURACY and spent <= LIMIT_SECONDS),
        "shuffled_labels": {
            "epochs": SHUFFLED_EPOCHS,
            "accuracies": scores,
            "mean": round(np.mean(scores), 4),
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="METHOD", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--out", type=Path, default=OUTPUT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for row in options.rows or ROWS:
        found = read(options.out)
        if not options.rows and found["results"].get(row, {}).get("settings") == ROWS[row][1]:
            continue
        result = run(row)
        found = read(options.out)
        found["results"][row] = result
        found |= machine()
        found |= {
            "threads": 1,
            "load_average": os.getloadavg()[0],
            "malloc_tuned": "MALLOC_TOP_PAD_" in os.environ,
        }
        found["set"] = {
            "name": "make_four_shapes", "points": POINTS, "train_clouds": 4 * PER_CLASS,
            "test_clouds": 4 * TEST_PER_CLASS,
        }  # fmt: skip
        options.out.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        print(row, result, flush=True)


def read(place: Path) -> dict:
    """What was found so far."""
    return json.loads(place.read_text()) if place.exists() else {"results": {}}


if __name__ == "__main__":
    main()
