"""
Proteins: nearest folds
=======================

Which known structures are nearest to a new one? No protein is shipped with the library: chains of C-alpha atoms are generated with the
geometry of helices and strands, in three made-up folds. With your own: ``hf.datasets.load_folder("folds")`` reads PDB and mmCIF.
"""

# %%
# Chains of three folds
# ---------------------
# A helix advances 1.5 Å and turns 100° per residue at a radius of 2.3 Å; a strand advances 3.3 Å in a zigzag.

import numpy as np

import heatfield as hf

rng = np.random.default_rng(0)


def helix(count):
    """C-alpha atoms of a helix along z."""
    turn = np.deg2rad(100.0) * np.arange(count)
    return np.c_[2.3 * np.cos(turn), 2.3 * np.sin(turn), 1.5 * np.arange(count)]


def strand(count):
    """C-alpha atoms of a strand along z."""
    return np.c_[0.9 * (-1.0) ** np.arange(count), np.zeros(count), 3.3 * np.arange(count)]


def protein(fold):
    """A bundle of helices, a sheet of strands, or strands with helices packed on them; turned, moved and shaken."""
    pieces = []
    if fold != "sheet":
        offsets = [(0, 0), (9, 0), (0, 9), (9, 9)] if fold == "bundle" else [(0, 10), (10, 10)]
        pieces += [helix(rng.integers(16, 22)) + [x, y, 0] for x, y in offsets]
    if fold != "bundle":
        pieces += [strand(rng.integers(6, 9)) + [4.8 * k, 0, 0] for k in range(7 if fold == "sheet" else 4)]
    atoms = np.concatenate(pieces) + rng.normal(scale=0.4, size=(sum(map(len, pieces)), 3))
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return atoms @ turn + rng.normal(scale=50.0, size=3)


folds = ("bundle", "sheet", "mixed")
labels = np.repeat(folds, 15)
clouds = [protein(fold) for fold in labels]
print(len(clouds), "chains of", min(map(len, clouds)), "to", max(map(len, clouds)), "residues")

# %%
# Descriptors and neighbours
# --------------------------
# Columns are standardised, so that each counts alike. Orientation and place do not matter: the signatures are invariant.

from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

describe = make_pipeline(hf.HFSDescriptor("desc"), StandardScaler())
table = describe.fit_transform(clouds)
nearest = NearestNeighbors(n_neighbors=6).fit(table)
_, found = nearest.kneighbors(table)
same = labels[found[:, 1:]] == labels[:, None]
print(f"of the five nearest chains {100 * same.mean():.0f} % have the same fold")

# %%
# A new chain.

new = protein("mixed")
distance, rows = nearest.kneighbors(describe.transform([new]))
for d, row in zip(distance[0], rows[0], strict=True):
    print(f"{d:6.2f}  chain {row:2d}, {labels[row]}")

# %%
# What the scales see
# -------------------
# At √t of about 1.2 Å the chain is seen as a filament. At 2 to 3 Å a bundle of helices has a dimension above 2, a sheet one below 2; its
# third eigenvalue stays at -1: it is flat at every scale.

for k in (0, 15):
    s = hf.signatures(clouds[k])
    print(labels[k])
    print("  √t           ", np.sqrt(s.scales).round(1))
    print("  dimension    ", np.median(s.dimension, axis=0).round(2))
    print("  3rd of 2tλ   ", np.median(s.spectrum[:, :, 2], axis=0).round(2))
    hf.plot.dimension_over_scales(clouds[k], s, scales=[1, 2, 3, 4], title=labels[k])

# %%
# On the command line: ``heatfield describe folds/ -o folds.parquet`` for the table, ``heatfield report folds/`` for a page with the neighbours
# of every structure.
