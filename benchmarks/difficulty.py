"""How hard the reconstructed data sets are: counts, and HFS-desc with linear discriminants, 5 folds.

python -m benchmarks.difficulty       # writes benchmarks/results/difficulty.json
"""

from __future__ import annotations

from sklearn.model_selection import StratifiedKFold, cross_val_score

import heatfield as hf
from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, write

OUTPUT = RESULTS / "difficulty.json"
SETS = {
    "processes": lambda: hf.datasets.make_processes(250),
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
        readout = hf.HFSClassifier("desc", head="lda").fit_features(features, labels, n_dims=2).readout_
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        score = 100 * cross_val_score(readout, features, labels, cv=folds).mean()
        entry = {
            "clouds": len(clouds),
            "least": min(sizes),
            "most": max(sizes),
            "accuracy": round(float(score), 1),
        }
        result["sets"][name] = entry
        print(name, entry, flush=True)
    write(OUTPUT, result)


if __name__ == "__main__":
    main()
