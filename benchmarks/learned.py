"""Accuracy of learned pooling beside the closed-form descriptor, on the same splits.

    python -m benchmarks.learned [SET ...] [--data FOLDER] [--rows ROW ...] [--splits K] [--cache FOLDER]

Every finished split is written to benchmarks/results/learned.json at once, and training keeps a checkpoint
per epoch in the cache folder: run again, the script continues where it stopped. A row whose settings change
starts again. Two settings of the C library save a third of the time on Linux (large tables are not given
back to the system after every step):

    MALLOC_MMAP_THRESHOLD_=17179869184 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from threadpoolctl import threadpool_limits

import heatfield as hf
from benchmarks.lib.learned_rows import PAPER_BLOCKS, ROWS, SETS, settings_of
from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, read, write


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
        self.tables: dict[str, tuple[str, object]] = {}

    def features(self, settings: dict) -> object:
        """Descriptors, or the table of point features, of all clouds."""
        if settings["variant"] in ("simple", "desc", "joint"):
            return self._kept("table", settings["variant"], lambda: self._describe(settings["variant"]))
        kind = {k: settings.get(k) for k in ("transition", "n_scales")}
        # One table for all rows that differ only in which of its columns they see.
        alike = [s for s in ROWS[self.name].values() if {k: s.get(k) for k in kind} == kind]
        learned = [s for s in alike if s.get("variant") in ("full", "dgcnn")]
        blocks = sorted({b for s in learned for b in s.get("blocks") or PAPER_BLOCKS})
        whole = self._kept(
            "table", json.dumps(kind), lambda: self._point_table(settings | {"blocks": blocks})
        )
        chosen = settings.get("blocks") or PAPER_BLOCKS
        return self._kept("chosen", json.dumps([kind, chosen]), lambda: whole.with_blocks(chosen))

    def _kept(self, what: str, key: str, make: Callable[[], object]) -> object:
        """Tables are large: one of each is held."""
        if self.tables.get(what, ("",))[0] != key:
            if what == "table":
                self.tables.clear()
            self.tables.pop(what, None)
            self.tables[what] = (key, make())
        return self.tables[what][1]

    def _describe(self, variant: str) -> np.ndarray:
        return hf.HFSDescriptor(variant, n_jobs=self.options.jobs).fit_transform(self.clouds)

    def _point_table(self, settings: dict) -> object:
        model = hf.HFSClassifier(**settings, n_jobs=self.options.jobs)
        return model.point_table(self.clouds, cache=self.options.cache)

    def run(self, row: str, settings: dict, index: int, train: np.ndarray, test: np.ndarray) -> dict:
        """Train on one part, test on the other."""
        if "committee" in settings:
            members = [(r, settings_of(self.name, r)) for r in settings["committee"]]
            votes = [self.trained(r, s, index, train, test)[1] for r, s in members]
            return {"accuracy": self.score(np.mean(votes, axis=0), test)}
        if settings["variant"] in ("full", "dgcnn"):
            model, probabilities = self.trained(row, settings, index, train, test)
            return {
                "accuracy": self.score(probabilities, test),
                "train_accuracy": round(100.0 * model.history_[-1]["accuracy"], 3),
                "parameters": sum(p.numel() for p in model.learner_.network.parameters()),
                # Training may have been stopped and resumed: the epochs know how long they took.
                "seconds": round(sum(entry["seconds"] for entry in model.history_), 1),
            }
        features, started = self.features(settings), time.perf_counter()
        model = hf.HFSClassifier(**settings, random_state=index)
        with threadpool_limits(1):
            model.fit_features(features[train], self.labels[train], n_dims=self.clouds[0].shape[1])
            probabilities = model.predict_proba_features(features[test])
        seconds = round(time.perf_counter() - started, 1)
        return {"accuracy": self.score(probabilities, test), "seconds": seconds}

    def trained(
        self, row: str, settings: dict, index: int, train: np.ndarray, test: np.ndarray
    ) -> tuple[hf.HFSClassifier, np.ndarray]:
        """A network of a learned row, from its checkpoint if it has been trained, and what it says."""
        features = self.features(settings)
        name = f"{self.name}-{row}-{index}".replace(" ", "_").replace(",", "")
        model = hf.HFSClassifier(**settings, random_state=index, progress=True)
        model.set_params(checkpoint=self.options.cache / f"{name}.ckpt")
        model.fit_features(features.take(train), self.labels[train], n_dims=self.clouds[0].shape[1])
        return model, model.predict_proba_features(features.take(test))

    def score(self, probabilities: np.ndarray, test: np.ndarray) -> float:
        """Accuracy in percent, over folds the mean over classes."""
        predicted = np.unique(self.labels)[probabilities.argmax(axis=1)]
        score = accuracy_score if self.share is not None else balanced_accuracy_score
        return round(100.0 * float(score(self.labels[test], predicted)), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(SETS)}; all otherwise")
    parser.add_argument("--data", type=Path, help="folder that holds cath15, neurons4 and trees8")
    parser.add_argument("--rows", nargs="*", help="only these rows")
    parser.add_argument("--splits", type=int, default=3, help="splits of the synthetic sets")
    parser.add_argument("--jobs", type=int, default=1, help="threads for the features")
    parser.add_argument("--cache", type=Path, default=RESULTS.parent / ".cache")
    parser.add_argument("--out", type=Path, default=RESULTS / "learned.json")
    options = parser.parse_args()
    for name in options.sets or SETS:
        if SETS[name][1] is None and not options.data:
            print(f"{name} needs --data: left out")
            continue
        comparison: Comparison | None = None
        for row in ROWS[name]:
            if options.rows and row not in options.rows:
                continue
            comparison = comparison or Comparison(name, options)
            run_row(comparison, row, settings_of(name, row), options)


def run_row(comparison: Comparison, row: str, settings: dict, options: argparse.Namespace) -> None:
    """All splits of a row, those done before left as they are."""
    for index, (train, test) in enumerate(splits(comparison.labels, comparison.share)):
        if index >= options.splits and comparison.share is not None:
            break
        if str(index) in entry_of(read(options.out, {"results": {}}), comparison, row, settings)["splits"]:
            continue
        result = comparison.run(row, settings, index, train, test)
        found = read(options.out, {"results": {}})  # again: another row may have been written meanwhile
        entry = entry_of(found, comparison, row, settings)
        entry["splits"][str(index)] = result
        values = [s["accuracy"] for s in entry["splits"].values()]
        entry["mean"], entry["std"] = round(float(np.mean(values)), 2), round(float(np.std(values)), 2)
        found |= machine()
        found["threads"] = os.environ.get("OMP_NUM_THREADS", "all")
        write(options.out, found, sort_keys=True)
        print(f"{comparison.name} / {row} / {index}: {result}, mean {entry['mean']}", flush=True)


def entry_of(found: dict, comparison: Comparison, row: str, settings: dict) -> dict:
    """The entry of a row, emptied if it belongs to other settings."""
    entry = found["results"].setdefault(comparison.name, {}).setdefault(row, {})
    if entry.get("settings") != settings:
        entry.clear()
        entry |= {"settings": settings, "splits": {}, "clouds": len(comparison.clouds)}
    return entry


if __name__ == "__main__":
    main()
