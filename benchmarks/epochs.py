"""How many epochs per second: packed batches beside two plain ways to train the same network.

    python -m benchmarks.epochs                      # writes benchmarks/results/epochs.json

All train HFS-full with the same batches from features that are in memory. "loop" joins the clouds of a
batch and pools them one by one in Python; "padded" fills them up to the largest and masks, as a torch
DataLoader with a collate function does; "a quarter" is packed with a quarter of the points of each cloud,
drawn again. They take turns; the best epoch of each counts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import nn

import heatfield as hf
from benchmarks.lib.machine import machine
from benchmarks.lib.results import RESULTS, write
from heatfield.features.points import PointTable
from heatfield.nn import HFSFull
from heatfield.nn.learner import Packed, Scaling

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


def main() -> None:
    result = {**machine(), "threads": torch.get_num_threads(), "batch": BATCH, "sets": {}}
    result["malloc_tuned"] = "MALLOC_TOP_PAD_" in os.environ
    for name, clouds in SETS.items():
        started = time.perf_counter()
        table = hf.HFSNetworkClassifier("full").point_table(clouds)
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
