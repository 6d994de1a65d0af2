"""Accuracy of learned pooling beside the closed-form descriptor, on the same splits.

    python benchmarks/learned.py [SET ...] [--data FOLDER] [--rows ROW ...] [--splits K] [--cache FOLDER]

Every finished split is written to benchmarks/results/learned.json at once, and training keeps a checkpoint an
epoch in the cache folder: run again, the script goes on where it stopped. A row whose settings change
starts anew. Two settings of the C library save a third of the time on Linux (large tables are not given back
to the system after every step):

    MALLOC_MMAP_THRESHOLD_=17179869184 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from _machine import machine
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from threadpoolctl import threadpool_limits

import heatfield as hf

HERE = Path(__file__).parent
LOG = ("log_global", "hds", "log_density", "dimension", "transition", "spectrum")
MORE = (*LOG, "gradient")
FULL = {"variant": "full"}
# Beyond the paper: logarithms, tau in closed form, the gradient.
BEYOND = {**FULL, "blocks": MORE, "transition": "exact"}

# Protocol: number of splits, share tested (None: 5 folds), score.
SETS = {
    "orbit5k": (lambda _: hf.datasets.make_orbit5k(), 0.3),
    "processes": (lambda _: hf.datasets.make_processes(), 0.2),
    "disks_annuli pairs": (lambda _: hf.datasets.make_disks_annuli(form="pairs"), 0.2),
    "disks_annuli balanced": (lambda _: hf.datasets.make_disks_annuli(form="balanced"), 0.2),
    "disks_annuli annuli": (lambda _: hf.datasets.make_disks_annuli(form="annuli"), 0.2),
    "cath15": (lambda data: hf.datasets.load_folder(data / "cath15"), None),
    "neurons4": (lambda data: hf.datasets.load_folder(data / "neurons4", budget=1024), None),
    "trees8": (lambda data: hf.datasets.load_folder(data / "trees8", budget=1024), None),
}
PAPER = {
    "orbit5k": {"full": 97.5, "desc": 93.2},
    "processes": {"full": 97.5, "desc": 98.3, "simple": 97.3},
    "disks_annuli pairs": {"full": 99.8, "desc": 92.1},
}
DESC, SIMPLE = {"variant": "desc"}, {"variant": "simple"}
ORBITS = {"epochs": 30, "train_points": 256, "whole_epochs": 6}
ROWS: dict[str, dict[str, dict]] = {
    # One step after the other, from the paper's features to ours.
    "orbit5k": {
        "full": {**FULL, **ORBITS},
        "full, log u": {**FULL, **ORBITS, "blocks": LOG},
        "full, log u, exact tau": {**FULL, **ORBITS, "blocks": LOG, "transition": "exact"},
        "full, beyond": {**BEYOND, **ORBITS},
        "full, beyond, 256 points": {**BEYOND, "epochs": 40, "train_points": 256},
        "full, beyond, smoothing": {**BEYOND, **ORBITS, "label_smoothing": 0.1},
        "full, beyond, std": {**BEYOND, **ORBITS, "network": {"pooling": ["mean", "max", "std"]}},
        "full, beyond, attention": {**BEYOND, **ORBITS, "network": {"pooling": ["mean", "max", "attention"]}},
        "full, beyond, 16 scales": {**BEYOND, **ORBITS, "n_scales": 16},
    },
    "cath15": {
        "desc": DESC,
        "full": {**FULL, "epochs": 40},
        "full, beyond": {**BEYOND, "epochs": 40},
        "dgcnn": {"variant": "dgcnn", "epochs": 15},
    },
    "processes": {
        "simple": SIMPLE,
        "desc": DESC,
        "full": {**FULL, "epochs": 20, "train_points": 64, "whole_epochs": 4},
    },
}
for _name in ("neurons4", "trees8"):
    _training = {"epochs": 40, "train_points": 256}
    ROWS[_name] = {"desc": DESC, "full": {**FULL, **_training}, "full, beyond": {**BEYOND, **_training}}
for _name in SETS:
    if _name.startswith("disks"):
        ROWS[_name] = {"desc": DESC, "full": {**FULL, "epochs": 20, "train_points": 128, "whole_epochs": 2}}


def splits(labels: np.ndarray, share: float | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Stratified random splits, or five stratified folds; the same for every row."""
    if share is None:
        yield from StratifiedKFold(5, shuffle=True, random_state=0).split(labels, labels)
    else:
        yield from StratifiedShuffleSplit(20, test_size=share, random_state=0).split(labels, labels)


class Comparison:
    """One set: its clouds are read, and the features of each kind computed, once and only if needed."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        self.name, self.options = name, options
        make, self.share = SETS[name]
        self.clouds, self.labels = make(options.data)
        self.tables: dict[str, object] = {}

    def features(self, settings: dict) -> object:
        """Descriptors, or the table of point features, of all clouds."""
        key = json.dumps([settings.get(k) for k in ("variant", "blocks", "transition", "n_scales")])
        if key not in self.tables:
            self.tables.clear()  # tables are large: one at a time
            model = hf.HFSClassifier(**settings, n_jobs=self.options.jobs)
            if settings["variant"] in ("simple", "desc", "joint"):
                made = hf.HFSDescriptor(settings["variant"], n_jobs=self.options.jobs).fit_transform(
                    self.clouds
                )
            else:
                made = model.point_table(self.clouds, cache=self.options.cache)
            self.tables[key] = made
        return self.tables[key]

    def run(self, row: str, settings: dict, index: int, train: np.ndarray, test: np.ndarray) -> dict:
        """Train on one part, test on the other."""
        features = self.features(settings)
        n = self.clouds[0].shape[1]
        learned = settings["variant"] in ("full", "dgcnn")
        model = hf.HFSClassifier(**settings, random_state=index)
        started = time.perf_counter()
        if learned:
            name = f"{self.name}-{row}-{index}".replace(" ", "_").replace(",", "")
            model.set_params(checkpoint=self.options.cache / f"{name}.ckpt", progress=True)
            model.fit_features(features.take(train), self.labels[train], n_dims=n)
            predicted = model.learner_.logits(features.take(test)).argmax(axis=1)
            predicted = model.classes_[predicted]
        else:
            with threadpool_limits(1):
                model.fit_features(features[train], self.labels[train], n_dims=n)
                predicted = model.readout_.predict(features[test])
        score = accuracy_score if self.share is not None else balanced_accuracy_score
        found = {"accuracy": round(100.0 * score(self.labels[test], predicted), 3)}
        seconds = time.perf_counter() - started
        if learned:
            # Training may have been stopped and resumed: the epochs know how long they took.
            seconds = sum(entry["seconds"] for entry in model.history_)
            found["train_accuracy"] = round(100.0 * model.history_[-1]["accuracy"], 3)
            found["parameters"] = sum(p.numel() for p in model.learner_.network.parameters())
        return found | {"seconds": round(seconds, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(SETS)}; all otherwise")
    parser.add_argument("--data", type=Path, help="folder that holds cath15, neurons4 and trees8")
    parser.add_argument("--rows", nargs="*", help="only these rows")
    parser.add_argument("--splits", type=int, default=3, help="splits of the synthetic sets")
    parser.add_argument("--jobs", type=int, default=1, help="threads for the features")
    parser.add_argument("--cache", type=Path, default=HERE / ".cache")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "learned.json")
    options = parser.parse_args()
    for name in options.sets or SETS:
        if SETS[name][1] is None and not options.data:
            print(f"{name} needs --data: left out")
            continue
        comparison: Comparison | None = None
        for row, settings in ROWS[name].items():
            if options.rows and row not in options.rows:
                continue
            settings = {k: list(v) if isinstance(v, tuple) else v for k, v in settings.items()}
            comparison = comparison or Comparison(name, options)
            run_row(comparison, row, settings, options)


def run_row(comparison: Comparison, row: str, settings: dict, options: argparse.Namespace) -> None:
    """All splits of a row, those done before left as they are."""
    for index, (train, test) in enumerate(splits(comparison.labels, comparison.share)):
        found = json.loads(options.out.read_text()) if options.out.exists() else {"results": {}}
        entry = found["results"].setdefault(comparison.name, {}).setdefault(row, {})
        if entry.get("settings") != settings:
            entry.clear()
            entry |= {"settings": settings, "splits": {}, "clouds": len(comparison.clouds)}
        if index >= options.splits and comparison.share is not None:
            break
        if str(index) in entry["splits"]:
            continue
        entry["splits"][str(index)] = comparison.run(row, settings, index, train, test)
        values = [s["accuracy"] for s in entry["splits"].values()]
        entry["mean"], entry["std"] = round(float(np.mean(values)), 2), round(float(np.std(values)), 2)
        entry["paper"] = PAPER.get(comparison.name, {}).get(row)
        found |= machine()
        found["threads"] = os.environ.get("OMP_NUM_THREADS", "all")
        temporary = options.out.with_suffix(".part")
        temporary.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        temporary.replace(options.out)
        print(
            f"{comparison.name} / {row} / {index}: {entry['splits'][str(index)]}, mean {entry['mean']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
