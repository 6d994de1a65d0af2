"""How hard the reconstructed data sets are: counts, and HFS-desc with linear discriminants, 5 folds.

python -m benchmarks.difficulty       # writes benchmarks/results/difficulty.json
"""

from __future__ import annotations

import numpy as np

import heatfield as hf
from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, write
from heatfield.models.read_out import split_folds

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
        found = []
        for train, test in split_folds(labels, 5):
            model.fit_features(features[train], labels[train], n_dims=2)
            found.append((model.predict_features(features[test]) == labels[test]).mean())
        entry = {
            "clouds": len(clouds),
            "least": min(sizes),
            "most": max(sizes),
            "mean": round(float(np.mean(sizes)), 1),
            "accuracy": round(100 * float(np.mean(found)), 1),
        }
        result["sets"][name] = entry
        print(name, entry, flush=True)
    write(OUTPUT, result)


if __name__ == "__main__":
    main()
