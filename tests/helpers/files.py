"""Clouds, tiles, forged models and pages as files."""

import json
import re
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

import heatfield as hf
from heatfield.models import saving


def write_two_classes(folder, per_class, points, ending):
    """Balls and spheres of so many points, one folder per class; returns the folder."""
    rng = np.random.default_rng(0)
    for name in ("ball", "sphere"):
        Path(folder, name).mkdir(parents=True)
        for k in range(per_class):
            cloud = rng.normal(size=(points, 3))
            if name == "sphere":
                cloud /= np.linalg.norm(cloud, axis=1, keepdims=True)
            hf.write_points(Path(folder, name, f"{k}{ending}"), cloud)
    return Path(folder)


ORIGIN = np.array([412_000.0, 5_318_000.0, 600.0])


def landscape(m, seed=0, size=200.0):
    """Hills with trees, to the millimetre, in map coordinates; with isolated points, copies, a dense spot."""
    rng = np.random.default_rng(seed)
    k = m - 400
    ground = rng.random((k, 2)) * size
    height = 6 * np.sin(ground[:, 0] / 37) * np.cos(ground[:, 1] / 53)
    trees = rng.random((40, 2)) * size
    which = rng.integers(40, size=k)
    crown = trees[which] + rng.normal(size=(k, 2)) * 1.5
    in_tree = rng.random(k) < 0.4
    inside = ((crown >= 0) & (crown < size)).all(axis=1) & in_tree
    plane = np.where(inside[:, None], crown, ground)
    up = np.where(inside, 8 + 3 * rng.normal(size=k), height)
    points = np.c_[plane, up]
    isolated = np.c_[rng.random((50, 2)) * size, 60 + 300 * rng.random(50)]
    dense = [0.31 * size, 0.62 * size, 3.0] + 0.05 * rng.normal(size=(250, 3))
    copies = points[rng.integers(k, size=100)]
    return np.round(np.concatenate([points, isolated, dense, copies]), 3) + ORIGIN


def cut(points, side, size=200.0):
    """The number of the tile that each point belongs to: half-open squares."""
    cell = np.floor((points[:, :2] - ORIGIN[:2]) / (size / side)).astype(int).clip(0, side - 1)
    return cell[:, 1] * side + cell[:, 0]


def write_tiles(folder, points, number, suffix=".parquet"):
    """One file per tile; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for k in range(number.max() + 1):
        path = folder / f"tile{k:02d}{suffix}"
        mine = number == k
        hf.write_points(path, points[mine], {"id": np.flatnonzero(mine)})
        paths.append(path)
    return paths


def read_back(folder, paths, m, suffix=None):
    """All columns of the tiles that were written, each point in its row of the cloud."""
    table = {}
    for path in paths:
        cloud = hf.read_cloud(folder / (path.stem + (suffix or path.suffix)))
        rows = cloud.columns["id"].astype(int)
        for name, column in cloud.columns.items():
            table.setdefault(name, np.full(m, np.nan))[rows] = column
    return table


def forged(folder, change):
    """Change metadata and tensors of a model and make its checksums fit, as somebody with intent would."""
    metadata = json.loads((folder / "model.json").read_text())
    tensors = {k: v.copy() for k, v in load_file(folder / "model.safetensors").items()}
    change(metadata, tensors)
    saving.write_model(folder, "unknown", metadata, tensors)
    return folder


def put(name, place, value):
    def change(_metadata, tensors):
        tensors[name][place] = value

    return change


def said(*path, value):
    def change(metadata, _tensors):
        inner = metadata
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value

    return change


def header(path):
    """The data in the head of a page."""
    return json.loads(re.search(r'id="header">(.*?)</script>', Path(path).read_text(), re.S)[1])
