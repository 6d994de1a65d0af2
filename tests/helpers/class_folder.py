"""A folder of files in two classes, as the commands take it."""

from pathlib import Path

import numpy as np

import heatfield as hf


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
