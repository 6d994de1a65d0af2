"""Why noise and outliers move the descriptor: the scales follow the mean distance to the nearest point.

    python -m benchmarks.robust_scales --data FOLDER    # writes benchmarks/results/robust_scales.json

Trained on clouds as they are, tested on changed ones, five folds. "own": each cloud has the scales of the
paper's schedule, t_min from its mean distance to the nearest point. "clean": a changed cloud has the scales
of the cloud before the change, which nobody knows outside an experiment; it tells how much is due to the
scales. "median": the schedule with the median distance in place of the mean, in training and in the test.
Read out by support vectors, which need no seed. One thread.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.spatial import KDTree
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import heatfield as hf
from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, read, write
from heatfield_bench import DATA_SETS
from heatfield_bench._evaluate import NONE, ROBUSTNESS, changed
from heatfield_bench._sets import Size, load

OUTPUT = RESULTS / "robust_scales.json"
WAYS = ("own", "clean", "median")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a folder of neurons4 or another data set")
    parser.add_argument("--name", default="neurons4", help="of the data set (default neurons4)")
    options = parser.parse_args()
    data = load(DATA_SETS[options.name], options.data, Size())
    found = {**read(OUTPUT, {}), **machine()}
    rows = found.setdefault(options.name, {})
    clean = [_lengths(cloud) for cloud in data.clouds]
    train = {"own": _described(data.clouds, clean)}
    train |= {"clean": train["own"], "median": _described(data.clouds, [_by_median(c) for c in data.clouds])}
    for change in (NONE, *ROBUSTNESS):
        clouds = changed(data.clouds, change)
        lengths = {"own": map(_lengths, clouds), "clean": clean, "median": map(_by_median, clouds)}
        rows[change.label] = {}
        for way in WAYS:
            tested = _described(clouds, list(lengths[way]))
            rows[change.label][way] = _score(train[way], tested, data.labels, data.tests)
        print(change.label, rows[change.label], flush=True)
        write(OUTPUT, found)


def _lengths(cloud: np.ndarray) -> np.ndarray:
    return np.sqrt(hf.scale_schedule(cloud))


def _by_median(cloud: np.ndarray) -> np.ndarray:
    """The paper's schedule, from the median distance to the nearest distinct point."""
    places = np.unique(cloud, axis=0)
    nearest = KDTree(places).query(places, k=2)[0][:, 1]
    own = _lengths(cloud)
    return np.geomspace(own[0] * np.median(nearest) / nearest.mean(), own[-1], len(own))


def _described(clouds: list[np.ndarray], lengths: list[np.ndarray]) -> np.ndarray:
    return np.vstack(
        [
            hf.HFSDescriptor("desc", lengths=own).fit_transform([c])
            for c, own in zip(clouds, lengths, strict=True)
        ]
    )


def _score(train: np.ndarray, test: np.ndarray, labels: np.ndarray, folds: list[np.ndarray]) -> float:
    """Mean accuracy over classes and folds, in percent."""
    scores = []
    for held_out in folds:
        model = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), SVC(C=10.0))
        right = model.fit(train[~held_out], labels[~held_out]).predict(test[held_out]) == labels[held_out]
        scores.append(np.mean([right[labels[held_out] == label].mean() for label in np.unique(labels)]))
    return round(100.0 * float(np.mean(scores)), 2)


if __name__ == "__main__":
    main()
