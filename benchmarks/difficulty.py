"""How hard the reconstructed data sets are: counts, and HFS-desc with linear discriminants, 5 folds.

python -m benchmarks.difficulty       # writes benchmarks/results/difficulty.json
"""

from __future__ import annotations

import numpy as np

import heatfield as hf
from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, write
from heatfield._classifier.cross_validation import cross_validate

OUTPUT = RESULTS / "difficulty.json"
SETS = {
    "processes": hf.datasets.make_processes,  # as it is by default: 1,000 clouds per class
    "disks_annuli pairs": lambda: hf.datasets.make_disks_annuli(100, form="pairs"),
    "disks_annuli annuli": lambda: hf.datasets.make_disks_annuli(80, form="annuli"),
    "disks_annuli balanced": lambda: hf.datasets.make_disks_annuli(80, form="balanced"),
}


def main() -> None:
    result = {**machine(), "sets": {}}
    for name, make in SETS.items():
        clouds, labels = make()
        sizes = [len(cloud) for cloud in clouds]
        features = hf.HFSDescriptor("desc", n_jobs=-1).fit_transform(clouds)
        model = hf.HFSClassifier("desc", head="lda")
        folds = cross_validate(model, features, labels, n_dims=2, n_splits=5, random_state=0)
        score = 100 * np.mean([(fold.predicted == labels[fold.test]).mean() for fold in folds])
        entry = {
            "clouds": len(clouds),
            "least": min(sizes),
            "most": max(sizes),
            "mean": round(float(np.mean(sizes)), 1),
            "accuracy": round(float(score), 1),
        }
        result["sets"][name] = entry
        print(name, entry, flush=True)
    write(OUTPUT, result)


if __name__ == "__main__":
    main()
