"""Points per cloud of the reconstructed data sets, beside the published counts.

python -m benchmarks.counts       # writes benchmarks/results/counts.json
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, write
from heatfield.datasets import make_disks_annuli, make_processes

OUTPUT = RESULTS / "counts.json"
FORMS = ("pairs", "annuli", "balanced")
SETS = {
    "processes": make_processes,
    **{f"disks_annuli {form}": partial(make_disks_annuli, form=form) for form in FORMS},
}


def main() -> None:
    result = {**machine(), "sets": {}}
    for name, make in SETS.items():
        sizes = [len(cloud) for cloud in make()[0]]
        entry = {"clouds": len(sizes), "least": min(sizes), "most": max(sizes), "mean": float(np.mean(sizes))}
        result["sets"][name] = entry
        print(name, entry, flush=True)
    write(OUTPUT, result)


if __name__ == "__main__":
    main()
