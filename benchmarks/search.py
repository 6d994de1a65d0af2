"""Search beside other descriptors, and the index of many rows.

    python -m benchmarks.search --data DATA                       # four sets, one row per (set, method)
    python -m benchmarks.search --rows 1000000 [--queries 1000]   # time of a query
    python -m benchmarks.search --table                           # the scores as Markdown

DATA holds one folder per set. All clouds are drawn down to 1,024 points, tracings by arc length. Every
descriptor gets the same treatment: gaps filled with the median, columns standardised, then the Euclidean
distance of every cloud to all others ("standardised"); and linear discriminants, learned from four fifths of
the clouds, in which the last fifth is sought among those four ("discriminants", five folds). D2 is also
compared as its authors do, by the city block distance of the histograms. A finished row is written at
once to benchmarks/results/search.json; run again, the script goes on where it stopped. Descriptors are kept
in benchmarks/.cache.

The rows of the second part are descriptors of random clouds of 64 points: ellipsoids, shells, bundles of
filaments and clusters whose proportions, noise and number of parts vary without steps, so that neighbours
exist at all distances.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import heatfield as hf
import heatfield_bench as hb
from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, read, write
from heatfield.models.retrieval import across_folds, fit_space, leave_one_out

SETS = ("spines3", "shapes10", "cath15", "neurons4")
BUDGET = 1024
CACHE = Path(__file__).parent / ".cache"
_TOGETHER = 5000


def d2(clouds: list[np.ndarray], pairs: int = 1 << 18, bins: int = 64) -> np.ndarray:
    """Shape distributions (Osada et al. 2002): distances of random pairs over their mean."""
    out = np.empty((len(clouds), bins))
    for row, cloud in zip(out, clouds, strict=True):
        one, other = np.random.default_rng(0).integers(len(cloud), size=(2, pairs))
        length = np.linalg.norm(cloud[one] - cloud[other], axis=1)
        length = length[one != other]
        row[:] = np.histogram(length / length.mean(), bins, range=(0.0, 3.0), density=True)[0]
    return out


METHODS: dict[str, Callable[[list[np.ndarray]], np.ndarray]] = {
    "D2": d2,
    "HFS desc": lambda clouds: hf.HFSDescriptor("desc").fit_transform(clouds),
    "HFS joint": lambda clouds: hf.HFSDescriptor("joint").fit_transform(clouds),
    "FPFH": lambda clouds: hb.baselines.FPFH().fit_transform(clouds),
    "HKS": lambda clouds: hb.baselines.HKS().fit_transform(clouds),
}


def retrieval(data: Path, out: Path, sets: list[str], methods: list[str]) -> None:
    """Every method on every set."""
    for name in sets:
        clouds: list[np.ndarray] = []
        dataset = hf.datasets.load_folder(data / name, budget=BUDGET)
        for method in methods:
            if f"{name}/{method}" in read(out, {"retrieval": {}}).get("retrieval", {}):
                continue
            clouds = clouds or list(dataset.clouds)
            features = described(name, method, clouds)
            row = {
                "clouds": len(features),
                "columns": features.shape[1],
                **scores(features, dataset.labels, method),
            }
            found = {**read(out, {}), **machine()}
            found.setdefault("retrieval", {})[f"{name}/{method}"] = row
            write(out, found)
            for space in ("as published", "standardised", "discriminants"):
                if space in row:
                    s = row[space]
                    print(
                        f"{name:9s} {method:10s} {space:13s} 1-NN {s['nearest']:.3f}  tiers "
                        f"{s['first_tier']:.3f} {s['second_tier']:.3f}  "
                        f"mAP {s['mean_average_precision']:.3f}  P@10 {s['precision_at_10']:.3f}",
                        flush=True,
                    )


def described(name: str, method: str, clouds: list[np.ndarray]) -> np.ndarray:
    """Descriptors of a set; what was computed before is read."""
    place = CACHE / f"search-{name}-{method.replace(' ', '-')}-{BUDGET}.npy"
    if not place.exists():
        CACHE.mkdir(exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", hf.HeatFieldWarning)
            np.save(place, METHODS[method](clouds))
    return np.load(place)


def scores(features: np.ndarray, labels: np.ndarray, method: str) -> dict[str, dict]:
    """Leave one out, and folds in discriminant space."""
    labels = np.asarray(labels)
    found = {
        "standardised": leave_one_out(fit_space(features, None, "euclidean", 0).embed(features), labels),
        "discriminants": across_folds(
            features, labels, lambda x, y: fit_space(x, y, "learned", 0).embed, 5, 0
        ),
    }
    if method == "D2":
        found["as published"] = leave_one_out(features, labels, metric="cityblock")
    return {
        key: {
            k: round(v, 4) if isinstance(v, float) else v
            for k, v in value.as_dict().items()
            if k != "by_class"
        }
        for key, value in found.items()
    }


def random_cloud(rng: np.random.Generator) -> np.ndarray:
    """64 points of a random shape."""
    parts = int(rng.integers(1, 5))
    axes = np.exp(rng.uniform(-3.0, 0.0, size=(parts, 3)))
    kind = rng.uniform()
    points = rng.normal(size=(64, 3))
    if kind < 0.5:
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        points *= rng.uniform(rng.uniform(), 1.0, size=(64, 1))
    member = rng.integers(parts, size=64)
    turns = np.linalg.qr(rng.normal(size=(parts, 3, 3)))[0]
    placed = np.einsum("ijk,ik->ij", turns[member], points * axes[member])
    return (
        placed
        + rng.normal(size=(parts, 3))[member] * rng.uniform(0.0, 1.5)
        + rng.normal(size=(64, 3)) * (10.0 ** rng.uniform(-3.0, -1.0))
    )


def random_rows(count: int) -> np.ndarray:
    """Descriptors (count, 744) in single precision, computed 5,000 at a time and kept."""
    CACHE.mkdir(exist_ok=True)
    parts = CACHE / "search-rows"
    parts.mkdir(exist_ok=True)
    out = np.empty((count, 744), dtype=np.float32)
    for first in range(0, count, _TOGETHER):
        place = parts / f"{first:08d}.npy"
        if not place.exists():
            rng = np.random.default_rng([7, first])
            clouds = [random_cloud(rng) for _ in range(_TOGETHER)]
            found = hf.HFSDescriptor("joint", n_jobs=-1).fit_transform(clouds).astype(np.float32)
            with open(place.with_suffix(".part"), "wb") as file:
                np.save(file, found)
            place.with_suffix(".part").rename(place)
        last = min(count, first + _TOGETHER)
        out[first:last] = np.load(place)[: last - first]
    return out


def many(count: int, queries: int, out: Path) -> None:
    """Time of a query."""
    rows = random_rows(count + queries)
    sought, rows = rows[count:], rows[:count]
    index = hf.HFSIndex("joint").build_features(rows, n_dims=3)
    del rows  # the index has its own, standardised
    started = time.perf_counter()
    index.query_features(sought, 10)
    milliseconds = 1e3 * (time.perf_counter() - started) / queries
    row = {"rows": count, "columns": 744, "queries": queries, "query_ms": round(milliseconds, 3)}
    found = {**read(out, {}), **machine()}
    found.setdefault("many", {})[str(count)] = row
    write(out, found)
    print(row)


def table(found: dict) -> str:
    """The retrieval scores for docs/guide/search.md."""
    keys = ("nearest", "first_tier", "second_tier", "mean_average_precision", "precision_at_10")
    head = "1-NN | first tier | second tier | mAP | P@10 "
    lines = [f"| set | descriptor | {head}| {head.replace('1-NN', '1-NN, discr.')}|", "|" + "---|" * 12]
    for name in ("shapes10", "cath15", "neurons4", "spines3"):
        for method in ("HFS joint", "HFS desc", "D2", "FPFH", "HKS"):
            row = found["retrieval"].get(f"{name}/{method}")
            if row is not None:
                cells = [
                    f"{row[space][key]:.3f}" for space in ("standardised", "discriminants") for key in keys
                ]
                lines.append(f"| {name} ({row['clouds']}) | {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder that holds one folder per set")
    parser.add_argument("--sets", default=",".join(SETS), help=f"default {','.join(SETS)}")
    parser.add_argument("--methods", default=",".join(METHODS), help=f"default {','.join(METHODS)}")
    parser.add_argument("--rows", type=int, help="rows of the index")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=RESULTS / "search.json")
    parser.add_argument("--table", action="store_true", help="print the scores as Markdown, run nothing")
    options = parser.parse_args()
    if options.table:
        print(table(read(options.out, {})))
        return
    if options.data is None and options.rows is None:
        raise SystemExit("give --data FOLDER, --rows N, or both")
    if options.data is not None:
        retrieval(options.data, options.out, options.sets.split(","), options.methods.split(","))
    if options.rows is not None:
        many(options.rows, options.queries, options.out)


if __name__ == "__main__":
    main()
