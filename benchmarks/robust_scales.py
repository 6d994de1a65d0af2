"""What outliers, missing points and noise cost: trained on clouds as they are, tested on changed ones.

    python -m benchmarks.robust_scales --data FOLDER    # writes benchmarks/results/robust_scales.json

FOLDER holds neurons4, spines3, shapes10, trees8 and cath15. ``HFSClassifier("joint")`` with its own read-out,
five folds; "drop": isolated points are left out, the default; "keep": they stay. Outliers are points that are
added uniformly in the box of a cloud, noise is Gaussian, in shares of the root mean square distance from the
centroid. One thread. A stopped run goes on.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import heatfield as hf
from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, read, write
from heatfield_bench import DATA_SETS
from heatfield_bench._evaluate import NONE, Change, changed, scores
from heatfield_bench._sets import Loaded, Size, load

OUTPUT = RESULTS / "robust_scales.json"
SETS = ("neurons4", "spines3", "shapes10", "trees8", "cath15")
OUTLIERS = (Change("outliers", 0.01), Change("outliers", 0.05))
CHANGES = (NONE, *OUTLIERS, Change("missing", 0.1), Change("missing", 0.3), Change("noise", 0.01))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    parser.add_argument("--sets", default=",".join(SETS), help="some of them (default: all)")
    options = parser.parse_args()
    found = read(OUTPUT, {})
    for way in ("drop", "keep"):
        for name in options.sets.split(","):
            if way not in found.get(name, {}):
                data = load(DATA_SETS[name], options.data / name, Size())
                found.setdefault(name, {})[way] = _measured(data, way)
                found |= machine()
                print(name, way, found[name][way], flush=True)
                write(OUTPUT, found)


def _measured(data: Loaded, way: str) -> dict[str, Any]:
    """By change: accuracy, the mean over classes and folds in percent; and the share of isolated points."""
    model = hf.HFSClassifier("joint", isolated=way, n_jobs=1)
    descriptor = hf.HFSDescriptor(**model.descriptor_options(), n_jobs=1)
    clouds = {change.label: changed(data.clouds, change) for change in CHANGES}
    tables = {label: descriptor.fit_transform(some) for label, some in clouds.items()}
    right: dict[str, list[float]] = {label: [] for label in tables}
    for test in data.tests:
        model.fit_features(tables[NONE.label][~test], data.labels[~test], n_dims=data.n_dims)
        for label, table in tables.items():
            predicted = model.predict_features(table[test])
            right[label].append(scores(data.labels[test], predicted)["macc"])
    return {
        label: {
            "accuracy": round(float(np.mean(right[label])), 2),
            "isolated": round(100.0 * float(np.mean(np.concatenate([*map(hf.isolated_points, some)]))), 3),
        }
        for label, some in clouds.items()
    }


if __name__ == "__main__":
    main()
