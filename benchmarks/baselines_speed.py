"""Seconds per epoch of each network at 1,024 points and 32 clouds per batch.

    python -m benchmarks.baselines_speed [METHOD ...]       # writes benchmarks/results/baselines_speed.json

An epoch has 1,000 clouds: a few steps (forward, backward, optimiser) are timed after one that is not, and the
fastest is scaled to an epoch. The figures beside them were measured before, on another machine of the same
kind (2 threads, C library tuned), for plain torch or for the published code. Give OMP_NUM_THREADS, and on
Linux

    MALLOC_MMAP_THRESHOLD_=17179869184 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
import torch

from benchmarks.lib.machine import machine
from heatfield_bench.networks import DGCNN, VNDGCNN, PointNet, PointNet2, PointTransformer

OUTPUT = Path(__file__).parent / "results" / "baselines_speed.json"
CLOUDS, BATCH, POINTS, STEPS = 1000, 32, 1024, 3
NETWORKS = {
    "PointNet": PointNet,
    "PointNet++ SSG": PointNet2,
    "PointNet++ MSG": lambda n: PointNet2(n, grouping="msg"),
    "DGCNN": DGCNN,
    "Point Transformer": PointTransformer,
    "VN-DGCNN": VNDGCNN,
}
# Seconds per epoch of 1,000 clouds, 2 threads, and of what.
BEFORE = {
    "PointNet": (25.0, "plain torch, with T-nets"),
    "PointNet++ SSG": (73.0, "a published reimplementation, batches of 16"),
    "DGCNN": (109.0, "split-weight EdgeConv; textbook 467"),
    "Point Transformer": (845.0, "another network of 9.6 M parameters, batches of 4"),
}


def surfaces(count: int) -> torch.Tensor:
    """Spheres with a little noise in the unit ball: balls of PointNet++ are as full as on real surfaces."""
    points = np.random.default_rng(0).normal(size=(count, POINTS, 3))
    points /= np.linalg.norm(points, axis=2, keepdims=True)
    points *= np.random.default_rng(1).uniform(0.9, 1.0, points.shape)
    return torch.from_numpy(points.astype(np.float32))


def seconds_per_epoch(name: str) -> dict:
    torch.manual_seed(0)
    network, points, labels = NETWORKS[name](40), surfaces(BATCH), torch.arange(BATCH) % 40
    optimizer = torch.optim.SGD(network.parameters(), 0.01, momentum=0.9)
    times, processor = [], []
    for _ in range(STEPS + 1):
        began, began_processor = time.perf_counter(), time.process_time()
        loss = torch.nn.functional.cross_entropy(network(points), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        times.append(time.perf_counter() - began)
        processor.append(time.process_time() - began_processor)
    scale = CLOUDS / BATCH
    result = {
        "seconds_per_epoch": round(scale * min(times[1:]), 1),
        "cpu_seconds_per_epoch": round(scale * min(processor[1:]), 1),
        "steps": STEPS,
    }
    if name in BEFORE:
        result["before"] = dict(zip(("seconds_per_epoch", "of"), BEFORE[name], strict=True))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("networks", nargs="*", metavar="METHOD", help=f"of {', '.join(NETWORKS)}")
    parser.add_argument("--anew", action="store_true", help="also those that were timed before")
    parser.add_argument("--out", type=Path, default=OUTPUT)
    options = parser.parse_args()
    kind = f"{torch.get_num_threads()} threads"
    for name in options.networks or NETWORKS:
        found = json.loads(options.out.read_text()) if options.out.exists() else {"results": {}}
        done = found["results"].setdefault(kind, {})
        if name in done and not options.anew and not options.networks:
            continue
        done[name] = {**seconds_per_epoch(name), "load_average": round(os.getloadavg()[0], 1)}
        found |= machine()
        found |= {"clouds": CLOUDS, "batch": BATCH, "points": POINTS}
        found["malloc_tuned"] = "MALLOC_TOP_PAD_" in os.environ
        options.out.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        print(kind, name, done[name], flush=True)


if __name__ == "__main__":
    main()
