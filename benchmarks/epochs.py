"""How many epochs per second: packed batches beside two plain ways to train the same network.

    python -m benchmarks.epochs                      # writes benchmarks/results/epochs.json
    python -m benchmarks.epochs --against OLD/python # only its "trees": this version and another one
    python -m benchmarks.epochs --profile            # only its "profile": where the time goes, one thread

All train HFS-full with the same batches from features that are in memory. "loop" joins the clouds of a
batch and pools them one by one in Python; "padded" fills them up to the largest and masks, as a torch
DataLoader with a collate function does; "a quarter" is packed with a quarter of the points of each cloud,
drawn again. They take turns; the best epoch of each counts.

The profile sets an epoch beside its floor, which is its matrix products alone, of the same shapes by the same
library. What is left is data movement: normalising, cutting off, pooling, and the sums of their gradients.

Versions are compared by the library's own training loop, in fresh processes that take turns, with one and
with two threads; the other one also with the C library tuned by environment variables, as its guide asked
for. Features are random numbers: an epoch does not depend on them. The first round compiles.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import nn

import heatfield as hf
from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, read, write
from heatfield._features.point_features import PointSettings
from heatfield._features.point_table import PointTable
from heatfield.nn import HFSFull
from heatfield.nn._batches import Packed, Scaling
from heatfield.nn._layer_kernels import TILE
from heatfield.nn._learner import Learner
from heatfield.nn._training import Training

OUTPUT = RESULTS / "epochs.json"
BATCH, ROUNDS = 32, 5


def clouds_of(sizes: np.ndarray) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(m, 3)) for m in sizes]


SETS = {
    "128 clouds of 1,000 points": clouds_of(np.full(128, 1000)),
    "640 clouds of 40 to 300 points": clouds_of(np.random.default_rng(1).integers(40, 300, 640)),
}


class Loop(nn.Module):
    """The same network, pooled cloud by cloud."""

    def __init__(self, net: HFSFull) -> None:
        super().__init__()
        self.net = net

    def forward(self, clouds: list[torch.Tensor], whole: torch.Tensor) -> torch.Tensor:
        outputs = self.net.points(torch.cat(clouds))
        pooled = [torch.cat([h.mean(dim=0), h.amax(dim=0)]) for h in outputs.split([len(c) for c in clouds])]
        return self.net.head(torch.cat([whole, torch.stack(pooled)], dim=1))


class Padded(Loop):
    """The same network on clouds filled up with zeros; batch norm sees the real points only."""

    def forward(self, clouds: list[torch.Tensor], whole: torch.Tensor) -> torch.Tensor:
        points, mask = hf.nn.pad_clouds(clouds)
        outputs = points.new_zeros((*mask.shape, 256))
        outputs[mask] = self.net.points(points[mask])
        mean = outputs.sum(dim=1) / mask.sum(dim=1, keepdim=True)
        most = outputs.masked_fill(~mask[:, :, None], -torch.inf).amax(dim=1)
        return self.net.head(torch.cat([whole, mean, most], dim=1))


def epoch(step: Callable[[np.ndarray], torch.Tensor], network: nn.Module, labels: torch.Tensor) -> float:
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)
    order = np.random.default_rng(0).permutation(len(labels))
    started = time.perf_counter()
    for chosen in np.split(order, range(BATCH, len(order), BATCH)):
        loss = nn.functional.cross_entropy(step(chosen), labels[torch.from_numpy(chosen)])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return time.perf_counter() - started


def ways(table: PointTable) -> dict[str, tuple[Callable[[np.ndarray], torch.Tensor], nn.Module]]:
    data = Packed(table, Scaling.of_points(table, 1e-9), Scaling.of_whole(table, 1e-9), torch.device("cpu"))
    each = [data.batch(np.array([i]))[0] for i in range(len(table))]
    nets = [HFSFull(48, 96, 5) for _ in range(4)]
    rng, quarter = np.random.default_rng(0), int(table.sizes().mean()) // 4
    loop, padded = Loop(nets[1]), Padded(nets[2])

    def packed(chosen: np.ndarray) -> torch.Tensor:
        rows, whole, _, starts = data.batch(chosen)
        return nets[0](rows, whole, starts)

    def some(chosen: np.ndarray) -> torch.Tensor:
        rows, whole, _, starts = data.batch(chosen, quarter, rng)
        return nets[3](rows, whole, starts)

    return {
        "packed": (packed, nets[0]),
        "a quarter": (some, nets[3]),
        "loop": (lambda chosen: loop([each[i] for i in chosen], data.whole[torch.from_numpy(chosen)]), loop),
        "padded": (
            lambda chosen: padded([each[i] for i in chosen], data.whole[torch.from_numpy(chosen)]),
            padded,
        ),
    }


CHILD = """
import json, resource, sys
import numpy as np
import torch
from heatfield._features.point_features import PointSettings
from heatfield._features.point_table import PointTable
from heatfield.nn._learner import Learner
from heatfield.nn._training import Training

threads, epochs = int(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(threads)
rng, recipe, found = np.random.default_rng(0), PointSettings(3), {}
for count, points in ((128, 1000), (1000, 128)):
    name = f"{count:,} clouds of {points:,} points"
    width, total = len(recipe.point_names), count * points
    rows = rng.standard_normal((total, width), dtype=np.float32)
    whole, xyz = rng.normal(size=(count, len(recipe.whole_names))), np.zeros((total, 3), np.float32)
    starts = np.arange(0, total + 1, points)
    table = PointTable(rows, starts, whole, xyz, np.zeros(width), np.ones(width), recipe)
    learner = Learner("full", recipe, 5, None, torch.device("cpu"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    learner.fit(table, np.arange(count) % 5, None, Training(epochs=epochs, seed=0))
    faults = (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // epochs
    seconds = min(entry["seconds"] for entry in learner.history)
    found[name] = {"seconds": seconds, "page_faults": faults, "loss": learner.history[-1]["loss"]}
print(json.dumps(found))
"""
TUNED = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 34),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 34),
    "MALLOC_TOP_PAD_": str(1 << 28),
}


def child(python: Path, threads: int, epochs: int, variables: dict[str, str]) -> dict[str, Any]:
    """The best epoch of every set by the library of an interpreter."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "PYTHONPATH"))}
    own = {**plain, **variables, "OMP_NUM_THREADS": str(threads)}
    words = [str(python), "-P", "-c", CHILD, str(threads), str(epochs)]
    done = subprocess.run(words, env=own, stdout=subprocess.PIPE, text=True, check=True, cwd="/")
    return json.loads(done.stdout.splitlines()[-1])


def versions(old: Path, rounds: int, epochs: int, first: int) -> dict[str, Any]:
    """Epochs per second of two versions, and how many times faster this one is."""
    other = old.absolute()
    trees = {"old": (other, {}), "old, tuned": (other, TUNED), "new": (Path(sys.executable), {})}
    best: dict[str, dict[str, dict[str, Any]]] = {}
    for turn in range(first, rounds + 1):
        for threads in (1, 2):
            for tree, (python, variables) in trees.items():
                found = child(python, threads, epochs if turn else 1, variables)
                for name, entry in found.items() if turn else ():
                    kept = best.setdefault(f"{name}, threads: {threads}", {})
                    if tree not in kept or entry["seconds"] < kept[tree]["seconds"]:
                        kept[tree] = entry
        print(f"round {turn} of {rounds}", file=sys.stderr, flush=True)
    for name, kept in best.items():
        new = kept["new"]["seconds"]
        ratios = {f"{tree} over new": round(kept[tree]["seconds"] / new, 3) for tree in ("old", "old, tuned")}
        if name.endswith("2"):
            one = best[name[:-1] + "1"]
            ratios |= {f"{tree}, two threads": round(one[tree]["seconds"] / kept[tree]["seconds"], 3)
                       for tree in kept}  # fmt: skip
        best[name] = {**kept, "ratios": ratios}
        print(name, kept, ratios, flush=True)
    return {**machine(), "rounds": rounds, "epochs": epochs, "rows": best}


def training_table(count: int, points: int) -> PointTable:
    """Clouds whose features are random numbers; CHILD says the same, for trees that have no such function."""
    rng, recipe = np.random.default_rng(0), PointSettings(3)
    width, total = len(recipe.point_names), count * points
    rows = rng.standard_normal((total, width), dtype=np.float32)
    whole, xyz = rng.normal(size=(count, len(recipe.whole_names))), np.zeros((total, 3), np.float32)
    starts = np.arange(0, total + 1, points)
    return PointTable(rows, starts, whole, xyz, np.zeros(width), np.ones(width), recipe)


def products_alone(rows: int, widths: list[int]) -> float:
    """Seconds of the matrix products of one epoch, tile by tile: forward, by the weights, by the inputs."""
    rng = np.random.default_rng(0)
    tiles = [rng.standard_normal((TILE, width), dtype=np.float32) for width in widths]
    weights = [rng.standard_normal((b, a), dtype=np.float32) for a, b in pairwise(widths)]
    started = time.perf_counter()
    for _ in range(rows // TILE):
        for k, weight in enumerate(weights):
            tiles[k] @ weight.T
            tiles[k + 1].T @ tiles[k]
            if k:
                tiles[k + 1] @ weight
    return (time.perf_counter() - started) * rows / (rows // TILE * TILE)


def in_bfloat16(rounds: int) -> dict[str, float]:
    """What bfloat16 would save: of one product, and of a step of training by torch's mixed precision."""
    best: dict[str, float] = {}

    def take(name: str, work: Callable[[], object]) -> None:
        started = time.perf_counter()
        work()
        best[name] = min(best.get(name, np.inf), time.perf_counter() - started)

    torch.manual_seed(0)
    rows, whole, labels = torch.randn(32_000, 48), torch.randn(32, 96), torch.arange(32) % 5
    starts = torch.arange(0, 32_001, 1000)
    network = HFSFull(48, 96, 5)

    def step(mixed: bool) -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mixed):
            loss = nn.functional.cross_entropy(network(rows, whole, starts), labels)
        loss.backward()

    def products(kind: torch.dtype) -> None:
        a, b = torch.ones(TILE, 128, dtype=kind), torch.ones(128, 256, dtype=kind)
        for _ in range(200):
            a @ b

    for _ in range(4 * rounds):
        for kind in (torch.float32, torch.bfloat16):
            take(f"products {kind}", lambda kind=kind: products(kind))
            take(f"step {kind}", lambda kind=kind: step(kind == torch.bfloat16))
    single, half = torch.float32, torch.bfloat16
    return {
        "products_times_faster": round(best[f"products {single}"] / best[f"products {half}"], 2),
        "step_times_faster": round(best[f"step {single}"] / best[f"step {half}"], 2),
    }


def profile(rounds: int, epochs: int) -> dict[str, Any]:
    """Of both sets: the best epoch, its matrix products alone, and the share of every operation of torch."""
    torch.set_num_threads(1)
    found = {}
    for count, points in ((128, 1000), (1000, 128)):
        table, labels = training_table(count, points), np.arange(count) % 5

        def train(table: PointTable = table, labels: np.ndarray = labels) -> tuple[Learner, float]:
            learner = Learner("full", table.recipe, 5, None, torch.device("cpu"))
            learner.fit(table, labels, None, Training(epochs=epochs, seed=0))
            return learner, min(entry["seconds"] for entry in learner.history)

        learner, _ = train()  # compiles
        linear = [m for m in learner.network.points if isinstance(m, nn.Linear)]
        widths = [linear[0].in_features, *(m.out_features for m in linear)]
        best, floor = np.inf, np.inf
        with threadpool_limits(1):
            for _ in range(rounds):
                best = min(best, train()[1])
                floor = min(floor, products_alone(count * points, widths))
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
                train()
        events = seen.key_averages()
        total = sum(event.self_cpu_time_total for event in events)
        shares = {event.key: round(event.self_cpu_time_total / total, 4) for event in events}
        ordered = sorted(shares.items(), key=lambda item: -item[1])[:8]
        found[f"{count:,} clouds of {points:,} points"] = entry = {
            "seconds": round(best, 4),
            "products_alone_seconds": round(floor, 4),
            "over_products": round(best / floor, 3),
            "widths": widths,
            "share_by_operation": dict(ordered),
        }
        print(count, points, entry, flush=True)
    return {**machine(), "rounds": rounds, "epochs": epochs, "rows": found, "bfloat16": in_bfloat16(rounds)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, help="interpreter of another version")
    parser.add_argument("--profile", action="store_true", help="where the time of an epoch goes")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=4, help="per set and process")
    parser.add_argument("--compiled", action="store_true", help="leave out the round that compiles")
    options = parser.parse_args()
    if options.profile:
        write(OUTPUT, {**read(OUTPUT, {}), "profile": profile(options.rounds, options.epochs)})
        return
    if options.against is not None:
        found = versions(options.against, options.rounds, options.epochs, int(options.compiled))
        write(OUTPUT, {**read(OUTPUT, {}), "trees": found})
        return
    result = {**read(OUTPUT, {}), **machine(), "threads": torch.get_num_threads(), "batch": BATCH, "sets": {}}
    result["malloc_tuned"] = "MALLOC_TOP_PAD_" in os.environ
    for name, clouds in SETS.items():
        hf.HFSClassifier("full").point_table(clouds[:2])  # compiles
        started = time.perf_counter()
        table = hf.HFSClassifier("full").point_table(clouds)
        features = time.perf_counter() - started
        labels = torch.arange(len(clouds)) % 5
        found: dict[str, list[float]] = {}
        for _ in range(ROUNDS):
            for way, (step, network) in ways(table).items():
                found.setdefault(way, []).append(epoch(step, network, labels))
        best = {way: min(times) for way, times in found.items()}
        entry = {way: {"epochs_a_second": round(1.0 / seconds, 4)} for way, seconds in best.items()}
        entry["features_seconds"] = round(features, 3)
        entry["plain_over_packed"] = {way: round(best[way] / best["packed"], 2) for way in ("loop", "padded")}
        result["sets"][name] = entry
        print(name, entry, flush=True)
    write(OUTPUT, result)


if __name__ == "__main__":
    main()
