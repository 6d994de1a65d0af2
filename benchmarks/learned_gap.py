"""Why learned pooling can be behind the closed-form descriptor: accuracy against training clouds.

    python -m benchmarks.learned_gap        # writes benchmarks/results/learned_gap.json

Balanced disks and annuli, where the class is a count of shapes and nothing simpler gives it away, from a
draw of its own (random state 1): the same 1,000 test clouds, and 1,000 to 8,000 training clouds. HFS-desc has
the network of the tables, HFS-full 40 epochs of 256 points per cloud, drawn anew in every epoch; it predicts
from all points. "whole" takes all points in the last 6 epochs, which is the default: a maximum over all
points is larger than one over 256, and the network has then seen such maxima. To tell that reason from
others, the network without whole epochs also predicts from 256 drawn points, as it was trained (mean of five
draws). A finished row is written at once; run again, the script goes on where it stopped. One thread.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

import heatfield as hf
from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, read, write
from heatfield.features.points import PointTable
from heatfield.nn.learner import _drawn
from heatfield_bench import DATA_SETS, METHODS
from heatfield_bench._evaluate import layout_of, read_out

OUTPUT = RESULTS / "learned_gap.json"
SIZES, TEST = (1000, 2000, 4000, 8000), 1000
EPOCHS, POINTS = 40, 256
WAYS: dict[str, dict[str, int]] = {"full": {"whole_epochs": 0}, "whole": {"whole_epochs": 6}}


def main() -> None:
    torch.set_num_threads(1)
    found = {**read(OUTPUT, {}), **machine(), "epochs": EPOCHS, "points": POINTS, "test_clouds": TEST}
    rows = found.setdefault("rows", {})
    clouds, labels = hf.datasets.make_disks_annuli(
        n_per_class=(SIZES[-1] + TEST) // 5, form="balanced", random_state=1
    )
    truth = np.asarray(labels)
    order = np.random.default_rng(0).permutation(len(clouds))
    test, rest = order[:TEST], order[TEST:]
    features = hf.HFSDescriptor("desc").fit_transform(clouds)
    table = hf.HFSNetworkClassifier("full").point_table(clouds)
    print(f"{len(clouds)} clouds described", flush=True)
    method = METHODS["HFS-desc"]
    recipe = method.plan(DATA_SETS["disks_annuli_balanced"], "paper").recipe
    tested = np.isin(np.arange(len(clouds)), test)
    for count in SIZES:
        row = rows.setdefault(str(count), {})
        if {*WAYS} <= {*row} and "of_drawn_points" in row["full"]:
            continue
        train = np.isin(np.arange(len(clouds)), rest[:count])
        ((said, _),) = read_out(
            recipe, layout_of(method, 2), [features], truth, [tested], [0], trains=[train]
        )
        desc = said[0] == truth[tested]
        row["desc"] = round(100.0 * float(desc.mean()), 2)
        for way, options in WAYS.items():
            if way in row and (way != "full" or "of_drawn_points" in row[way]):
                continue
            model = hf.HFSNetworkClassifier(
                "full", epochs=EPOCHS, train_points=POINTS, random_state=0, progress=False, **options
            ).fit_features(table.take(train), truth[train], n_dims=2)
            right = model.predict_features(table.take(tested)) == truth[tested]
            gap = 100.0 * (right.astype(float) - desc)
            row[way] = {
                "accuracy": round(100.0 * float(right.mean()), 2),
                "minus_desc": round(float(gap.mean()), 2),
                "standard_error": round(float(gap.std() / np.sqrt(TEST)), 2),
                "on_training_clouds": round(100.0 * model.history_[-1]["accuracy"], 2),
            }
            if way == "full":
                row[way]["of_drawn_points"] = _of_drawn_points(model, table.take(tested), truth[tested])
            print(count, way, row[way], flush=True)
            write(OUTPUT, found)


def _of_drawn_points(model: hf.HFSNetworkClassifier, table: PointTable, truth: np.ndarray) -> float:
    """Accuracy from as many points per cloud as training draws; the features still come from all points."""
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(5):
        at, starts = _drawn(table.starts, np.arange(len(table)), POINTS, rng)
        part = replace(table, rows=table.rows[at], coordinates=table.coordinates[at], starts=starts)
        shares.append(float((model.predict_features(part) == truth).mean()))
    return round(100.0 * float(np.mean(shares)), 2)


if __name__ == "__main__":
    main()
