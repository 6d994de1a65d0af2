"""Labels for points beside local covariance features: mean IoU on plots of forest, and points per second.

python -m benchmarks.points              # IoU and speed; writes benchmarks/results/points.json
python -m benchmarks.points --only iou
python -m benchmarks.points --quick      # small plots, nothing written

IoU: trained on some plots of `make_forest`, tested on others, all at the same lengths, with the same reader,
training points and height above the floor. The rival has the features of jakteristics in balls of
1 sqrt(t), and of sqrt(10) sqrt(t), which has the second moment of the Gaussian weights, and both.
Speed: plots side by side, predicted end to end (features and reader) on all cores, beside jakteristics
with a reader of the same kind and size, in turns, best of several.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

import heatfield as hf
from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, read, write
from heatfield import HFSPointClassifier
from heatfield._base.check import Array, thread_count
from heatfield.models.features_at_lengths import BLOCKS
from heatfield.models.points import confusion, mean_iou, scores_of
from heatfield_bench.baselines.local_covariance import FEATURES, covariance_features, local_covariances

OUTPUT = RESULTS / "points.json"
LENGTHS = (0.1, 0.2, 0.5, 1.0, 2.0)
TOL = 1e-4  # of the tables that were measured; the default is 1e-6
LONG = 20.0  # seconds: what takes longer is run once


# A ball of this many sqrt(t) has the same second moment in space as the weights exp(-D^2 / 4t).
SAME_MOMENT = float(np.sqrt(10.0))


class CovariancePointClassifier(HFSPointClassifier):
    """The rival of `HFSPointClassifier`: eigenvalue features of balls, as jakteristics has them.

    The same reader, height above the floor and columns; instead of signatures at a length sqrt(t) the twelve
    features of `LocalCovariance` within the radius ``ratio`` sqrt(t), which has the second moment of the
    Gaussian weights. It cannot be saved.

    >>> import heatfield as hf
    >>> clouds, labels = hf.datasets.make_forest(1, n_points=800)
    >>> model = CovariancePointClassifier(lengths=[0.3, 1.0], iterations=5)
    >>> model.fit(clouds, labels).predict(clouds)[0].shape
    (800,)
    """

    ratio = SAME_MOMENT

    def settings_for(self, points: Sequence[Array]) -> Any:
        return replace(super().settings_for(points), blocks=("height",))  # the one block that it has too

    def features(
        self,
        points: Array,
        settings: Any,
        columns: Mapping[str, Any] | None = None,
        rows: NDArray[np.int64] | None = None,
    ) -> NDArray[np.float32]:
        """Covariance features at all lengths, then height and columns."""
        rest = super().features(points, settings, columns, rows)
        space = np.zeros((len(points), 3))
        space[:, : points.shape[1]] = points
        radii = self.ratio * np.array(settings.lengths)
        table = local_covariances(space, radii, thread_count(self.n_jobs))
        known = covariance_features(table if rows is None else table[rows])
        parts = [known[name][:, a] for a in range(len(settings.lengths)) for name in FEATURES]
        return np.concatenate([np.stack(parts, axis=1).astype(np.float32), rest], axis=1)

    def feature_groups(self, settings: Any) -> list[tuple[str, list[str]]]:
        own = [f"{name}_s{a}" for a in range(len(settings.lengths)) for name in FEATURES]
        return [("covariance", own), *super().feature_groups(settings)]

    def save(self, folder: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        raise ValueError(
            f"cannot save to {str(folder)!r}: a CovariancePointClassifier is for comparison only"
        )


class SameRadius(CovariancePointClassifier):
    """Balls of the radius sqrt(t)."""

    ratio = 1.0


def contenders(iterations: int, jobs: int) -> dict[str, Any]:
    """Models by name, all with the same lengths and the same reader."""
    same = {"lengths": LENGTHS, "iterations": iterations, "tol": TOL, "n_jobs": jobs, "random_state": 0}
    both = sorted({*LENGTHS, *(SAME_MOMENT * length for length in LENGTHS)})
    old = ("density", "dimension", "transition", "spectrum", "shape", "gradient", "height")
    return {
        "HFS": hf.HFSPointClassifier(**same),
        "HFS without fine and direction": hf.HFSPointClassifier(blocks=old, **same),
        "HFS with neighbourhood": hf.HFSPointClassifier(blocks=BLOCKS, **same),
        "covariance, radius sqrt(t)": SameRadius(**same),
        "covariance, same second moment": CovariancePointClassifier(**same),
        "covariance, both": SameRadius(cell=4 * max(LENGTHS), **{**same, "lengths": both}),
    }


def accuracy(train: int, test: int, points: int, iterations: int, jobs: int) -> dict[str, Any]:
    """Scores of all contenders on plots that none of them saw."""
    clouds, labels = hf.datasets.make_forest(train + test, n_points=points, random_state=0)
    out: dict[str, Any] = {
        "train_plots": train, "test_plots": test, "points_per_plot": points, "lengths": list(LENGTHS),
        "iterations": iterations, "rows": {},
    }  # fmt: skip
    names = np.array(hf.datasets.FOREST_CLASSES)
    for name, model in contenders(iterations, jobs).items():
        model.fit(clouds[:train], labels[:train])
        found = model.predict(clouds[train:])
        by_plot = [
            confusion(true, own, model.classes_) for true, own in zip(labels[train:], found, strict=True)
        ]
        row = scores_of(np.sum(by_plot, axis=0), names[model.classes_])
        # Plots are what varies: the difference of two rows, plot by plot, says whether there is one.
        row["mean_IoU_by_plot"] = [mean_iou(matrix) for matrix in by_plot]
        out["rows"][name] = row
        shares = ", ".join(f"{k} {100 * v:.1f}" for k, v in row["IoU"].items() if v is not None)
        print(f"{name:32s} mean IoU {100 * row['mean_IoU']:.1f} %  ({shares})", flush=True)
    return out


def side_by_side(points: int) -> np.ndarray:
    """Plots of 100,000 points in a row."""
    count = max(1, points // 100_000)
    plots, _ = hf.datasets.make_forest(count, n_points=points // count, random_state=7)
    aside = np.array([13.0, 0.0, 0.0])
    return np.concatenate([plot + i * aside for i, plot in enumerate(plots)])


def speed(sizes: list[int], rounds: int, iterations: int) -> dict[str, Any]:
    """Points per second, end to end, ours and jakteristics' in turns, from small to large clouds.

    Plots lie side by side, so that a ball holds as many points in a large cloud as in a small one. Balls of
    the same second moment as the Gaussian weights hold most of a plot: they are measured on the smallest
    cloud only.
    """
    train, labels = hf.datasets.make_forest(2, n_points=20_000, random_state=0)
    ours = hf.HFSPointClassifier(lengths=LENGTHS, iterations=iterations, tol=TOL).fit(train, labels)
    narrow = _by_jakteristics(train, labels, 1.0, iterations)
    wide = _by_jakteristics(train, labels, SAME_MOMENT, iterations)
    out: dict[str, Any] = {"lengths": list(LENGTHS), "rounds": rounds, "clouds": []}
    for size in sorted(sizes):
        cloud = side_by_side(size)
        runs: dict[str, Any] = {
            "HFSPointClassifier": lambda cloud=cloud: ours.predict_proba([cloud]),
            "jakteristics, radius sqrt(t)": lambda cloud=cloud: narrow(cloud),
        }
        if size == min(sizes):
            runs["jakteristics, same second moment"] = lambda cloud=cloud: wide(cloud)
        times: dict[str, list[float]] = {name: [] for name in runs}
        for turn in range(rounds):
            for name in list(runs) if turn % 2 == 0 else list(runs)[::-1]:
                if turn and min(times[name]) > LONG:
                    continue
                started = time.perf_counter()
                runs[name]()
                times[name].append(time.perf_counter() - started)
                rate = len(cloud) / times[name][-1]
                print(f"{len(cloud):,} points, {name}: {rate:,.0f} points per second", flush=True)
        out["clouds"].append(
            {
                "points": len(cloud),
                "points_per_second": {name: round(len(cloud) / min(t)) for name, t in times.items()},
                "seconds": {name: [round(v, 2) for v in t] for name, t in times.items()},
            }
        )
    return out


def _by_jakteristics(train: list[Any], labels: list[Any], ratio: float, iterations: int) -> Any:
    """Probabilities of a cloud by jakteristics' features in balls of ``ratio`` times the lengths."""
    from jakteristics import compute_features

    def features(cloud: np.ndarray) -> np.ndarray:
        names = [name for name in FEATURES if name != "number_of_neighbors"]
        parts = [
            compute_features(cloud, ratio * length, num_threads=-1, feature_names=names) for length in LENGTHS
        ]
        return np.concatenate(parts, axis=1)

    reader = HistGradientBoostingClassifier(
        max_iter=iterations, class_weight="balanced", early_stopping=False
    )
    reader.fit(np.concatenate([features(cloud) for cloud in train]), np.concatenate(labels))
    return lambda cloud: reader.predict_proba(features(cloud))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("iou", "speed"))
    parser.add_argument("--quick", action="store_true", help="small plots, nothing written")
    parser.add_argument("--train", type=int, default=6, help="plots to learn from")
    parser.add_argument("--test", type=int, default=4, help="plots to test on")
    parser.add_argument("--points", type=int, default=50_000, help="points per plot")
    parser.add_argument("--iterations", type=int, default=150)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[100_000, 1_000_000], help="points of the clouds for speed"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=-1, help="threads")
    options = parser.parse_args()
    if options.quick:
        options.train, options.test, options.points, options.iterations = 2, 1, 4000, 40
        options.sizes, options.rounds = [20_000], 1
    result = {**read(OUTPUT, {}), **machine()}
    if options.only != "speed":
        result["iou"] = accuracy(
            options.train, options.test, options.points, options.iterations, options.jobs
        )
    if options.only != "iou":
        result["speed"] = speed(options.sizes, options.rounds, options.iterations)
    if not options.quick:
        write(OUTPUT, result)


if __name__ == "__main__":
    main()
