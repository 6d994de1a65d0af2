"""The paper's accuracies: Orbit5k, and protein domains where a folder of them is given.

    python -m benchmarks.accuracy [--data FOLDER] [--splits 20] [--jobs 2]

Every finished split is written to benchmarks/results/accuracy.json at once; run again,
the script continues where it stopped. A setting that changes starts its rows again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from threadpoolctl import threadpool_limits

import heatfield as hf
from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, read, write

PAPER = {
    "orbit5k": {"simple/mlp": 89.3, "desc/mlp": 93.2},
    "cath15": {},  # the paper's SCOP set is another one of the same size
}
GOALS = {
    "orbit5k": {"simple/mlp": 88.6, "desc/mlp": 92.7, "joint/mlp": 96.0},
    "cath15": {"simple/mlp": 46.0, "desc/mlp": 57.0, "joint/mlp": 60.0, "joint/auto": 64.0},
}
ROWS = {
    "orbit5k": ("simple/mlp", "desc/mlp", "joint/mlp"),
    "cath15": ("simple/mlp", "desc/mlp", "joint/mlp", "desc/lda", "joint/lda", "joint/svm", "joint/auto"),
}


def protein_domains(folder: Path) -> tuple[list[np.ndarray], np.ndarray]:
    """C-alpha clouds at native resolution, one folder per class."""
    clouds, labels = [], []
    for path in sorted(folder.glob("*/*.pdb")):
        clouds.append(hf.read_points(path))
        labels.append(path.parent.name)
    if not clouds:
        raise SystemExit(f"no .pdb files under {folder}")
    return clouds, np.array(labels)


def splits(name: str, labels: np.ndarray, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """20 stratified 70/30 splits for Orbit5k, 5 stratified folds for the proteins."""
    if name == "orbit5k":
        yield from StratifiedShuffleSplit(count, test_size=0.3, random_state=0).split(labels, labels)
    else:
        yield from StratifiedKFold(5, shuffle=True, random_state=0).split(labels, labels)


def one_split(
    name: str,
    variant: str,
    head: str,
    features: np.ndarray,
    labels: np.ndarray,
    n: int,
    index: int,
    parts: tuple[np.ndarray, np.ndarray],
) -> tuple[int, dict]:
    """Train on one part, test on the other."""
    train, test = parts
    model = hf.HFSClassifier(variant, head=head, random_state=index)
    started = time.perf_counter()
    with threadpool_limits(1):
        model.fit_features(features[train], labels[train], n_dims=n)
        predicted = model.predict_features(features[test])
    score = accuracy_score if name == "orbit5k" else balanced_accuracy_score
    return index, {
        "accuracy": round(100.0 * score(labels[test], predicted), 3),
        "seconds": round(time.perf_counter() - started, 2),
        "head": model.head_,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder that holds cath15, one folder per class in it")
    parser.add_argument("--splits", type=int, default=20, help="splits of Orbit5k")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS / "accuracy.json")
    options = parser.parse_args()

    found = read(options.out, {"results": {}})
    found.update(machine())
    sets = {"orbit5k": lambda: hf.datasets.make_orbit5k()}
    if options.data:
        sets["cath15"] = lambda: protein_domains(options.data / "cath15")
    else:
        print("no --data folder: protein domains are left out")

    for name, make in sets.items():
        clouds, labels = make()
        n = clouds[0].shape[1]
        table = found["results"].setdefault(name, {})
        for variant in dict.fromkeys(row.split("/")[0] for row in ROWS[name]):
            started = time.perf_counter()
            features = hf.HFSDescriptor(variant, n_jobs=options.jobs).fit_transform(clouds)
            seconds = time.perf_counter() - started
            for row in (r for r in ROWS[name] if r.startswith(variant + "/")):
                entry = table.setdefault(row, {"splits": {}})
                entry["columns"] = features.shape[1]
                entry["clouds"] = len(clouds)
                entry["describe_seconds"] = round(seconds, 1)
                run_row(name, row, features, labels, n, entry, found, options)
    print(f"\nresults in {options.out}")


def run_row(name: str, row: str, features, labels, n: int, entry: dict, found: dict, options) -> None:
    """All splits of one row of the table, those already done left as they are."""
    variant, head = row.split("/")
    todo = [
        (i, parts)
        for i, parts in enumerate(splits(name, labels, options.splits))
        if str(i) not in entry["splits"]
    ]
    with ProcessPoolExecutor(options.jobs) as pool:
        futures = [
            pool.submit(one_split, name, variant, head, features, labels, n, i, parts) for i, parts in todo
        ]
        for future in as_completed(futures):
            i, result = future.result()
            entry["splits"][str(i)] = result
            values = [s["accuracy"] for s in entry["splits"].values()]
            entry["mean"], entry["std"] = round(float(np.mean(values)), 2), round(float(np.std(values)), 2)
            entry["paper"] = PAPER[name].get(row)
            entry["goal"] = GOALS[name].get(row)
            write(options.out, found, sort_keys=True)
    goal = entry.get("goal")
    verdict = "" if goal is None else ("reached" if entry["mean"] >= goal else "MISSED") + f" (goal {goal})"
    shown = f"{entry['mean']:6.2f} ± {entry['std']:.2f}  {len(entry['splits'])} splits"
    print(f"{name:8s} {row:12s} {shown}  {verdict}", flush=True)


if __name__ == "__main__":
    main()
