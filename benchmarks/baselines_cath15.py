"""Networks of the baselines on protein domains: 15 CATH topologies, 128 points, one fold.

    python -m benchmarks.baselines_cath15 --data FOLDER [METHOD ...] [--epochs 250] [--cache FOLDER]

The set stands in for SCOP, which the HFS paper has: 97 domains a class, C-alpha atoms, at most 128 drawn, the
first of five stratified folds. 250 epochs, as the paper's longest. Every finished method is written to
benchmarks/results/baselines_cath15.json at once, and training keeps a checkpoint per epoch in the cache
folder: run again, the script goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold

import heatfield as hf
import heatfield_bench as hb
from benchmarks.lib.machine import machine

HERE = Path(__file__).parent
POINTS, EPOCHS = 128, 250
# The HFS paper's mean accuracy over classes on SCOP, with the standard deviation over five folds.
PAPER = {
    "PointNet": "33.9 ± 3.9",
    "DGCNN": "35.1 ± 2.7",
    "PointTransformer": "35.7 ± 2.5",
    "PointNet2": "19.4 ± 1.6",
}
METHODS = ("DGCNN", "PointNet", "PointTransformer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("methods", nargs="*", metavar="METHOD", help=f"of {', '.join(PAPER)}")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds cath15")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--cache", type=Path, default=HERE / ".cache")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "baselines_cath15.json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    clouds, labels = hf.datasets.load_folder(options.data / "cath15", budget=POINTS)
    train, test = next(StratifiedKFold(5, shuffle=True, random_state=0).split(labels, labels))
    for name in options.methods or METHODS:
        settings = {"epochs": options.epochs, "n_points": POINTS, "random_state": 0}
        if read(options.out)["results"].get(name, {}).get("settings") == settings:
            continue
        model = getattr(hb.baselines, name)(
            **settings, progress=True, checkpoint=options.cache / f"cath15-{name}-{options.epochs}.ckpt"
        )
        model.fit([clouds[i] for i in train], labels[train])
        predicted = model.predict([clouds[i] for i in test])
        found = read(options.out)  # again: another method may have been written meanwhile
        found["results"][name] = {
            "settings": settings,
            "mean_class_accuracy": round(100.0 * balanced_accuracy_score(labels[test], predicted), 2),
            "train_accuracy": round(100.0 * model.history_[-1]["accuracy"], 2),
            "train_clouds": len(train),
            "test_clouds": len(test),
            "seconds": round(sum(entry["seconds"] for entry in model.history_), 1),
            "paper_on_scop": PAPER.get(name),
        }
        found |= machine()
        temporary = options.out.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
        temporary.replace(options.out)
        print(name, found["results"][name], "chance", round(100 / len(np.unique(labels)), 1), flush=True)


def read(place: Path) -> dict:
    """What was found so far."""
    return json.loads(place.read_text()) if place.exists() else {"results": {}}


if __name__ == "__main__":
    main()
