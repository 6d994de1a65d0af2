"""
A laser tile to point columns
=============================

A tile of ground, trunks and crowns becomes a LAS file with heat dimension and local type as columns of every point, ready to be coloured
in any viewer of point clouds.
"""

# %%
# A tile
# ------
# Generated, in metres, at map coordinates as surveys have them.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import heatfield as hf

rng = np.random.default_rng(1)
ground = rng.uniform(0, 20, size=(9000, 2))
ground = np.c_[ground, 0.3 * np.sin(ground[:, 0] / 5) + 0.02 * rng.normal(size=9000)]
parts = [ground]
for place in ([5.0, 6.0], [14.0, 5.0], [9.0, 15.0]):
    height = rng.uniform(0, 6, size=(700, 1))
    parts.append(np.c_[place + 0.04 * rng.normal(size=(700, 2)), height])
    crown = rng.normal(size=(3000, 3))
    crown *= (rng.uniform(size=(3000, 1)) ** (1 / 3)) / np.linalg.norm(crown, axis=1, keepdims=True)
    parts.append(np.r_[place, 7.5] + 2.0 * crown)
names = np.repeat(["ground", *["trunk", "crown"] * 3], [len(part) for part in parts])
points = np.concatenate(parts) + [500_000.0, 5_200_000.0, 300.0]
folder = Path(tempfile.mkdtemp())
hf.write_points(folder / "tile.las", points)

# %%
# Describe every point
# --------------------
# The scales are lengths here, the roots of the times t: we want to look 10 cm to 1.5 m far.

points = hf.read_points(folder / "tile.las")
s = hf.signatures(points, lengths=[0.1, 0.2, 0.4, 0.8, 1.5], tol=1e-5, n_jobs=-1)
kinds = s.local_type(2)
for part in ("ground", "trunk", "crown"):
    words, counts = np.unique(kinds[names == part], return_counts=True)
    print(
        part,
        {w: f"{100 * c / (names == part).sum():.0f} %" for w, c in zip(words.tolist(), counts, strict=True)},
    )

# %%
# Seen from the side, coloured by heat dimension at 40 cm.

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
shown = axes.scatter(points[:, 0], points[:, 2], c=s.dimension[:, 2], s=1, vmin=0, vmax=3, cmap="viridis")
axes.set(aspect="equal", xlabel="easting, m", ylabel="height, m")
figure.colorbar(shown, label="heat dimension at 0.4 m")

# %%
# Back into a LAS file
# --------------------
# Columns become extra dimensions of LAS, which CloudCompare, QGIS and others list as scalar fields.

code = {"point": 0, "filament": 1, "surface": 2, "volume": 3, "junction": 4, "undefined": 5}
columns = {"dimension": s.dimension[:, 2], "local_type": np.array([code[k] for k in kinds], dtype=np.int32)}
hf.write_points(folder / "out.las", points, columns)
cloud = hf.read_cloud(folder / "out.las")
print(cloud)

# %%
# On the command line, for a folder of tiles (a run that is killed goes on where it was); the files with columns
# are then in ``tiles_points/``::
#
#     heatfield describe tiles/ -o tiles.parquet --per-point las --point-channels dimension,local_type --lengths 0.1,0.2,0.4,0.8,1.5
