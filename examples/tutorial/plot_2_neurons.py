"""
Neurons to classes
==================

From files of traced neurons to a classifier with a cross-validated accuracy, and to the columns that tell the classes apart.

No reconstruction is shipped with the library, so three kinds of branching trees are made and written as SWC files, the format of traced
neurons. With your own, start at *Read*: a folder with one folder per class.
"""

# %%
# Make the files
# --------------
# A tree grows by steps. *Straight* cells keep their direction, *tortuous* ones turn at every step, *bushy* ones fork often.

import tempfile
from pathlib import Path

import numpy as np

import heatfield as hf

KINDS = {"straight": (0.10, 0.03), "tortuous": (0.60, 0.03), "bushy": (0.25, 0.10)}  # turning, chance to fork


def grow(turning, forking, rng, nodes=240):
    """Rows of an SWC file: id, type, x, y, z, radius, parent."""
    rows, tips = [(1, 1, 0.0, 0.0, 0.0, 2.0, -1)], []
    for direction in rng.normal(size=(3, 3)):
        tips.append((1, np.zeros(3), direction / np.linalg.norm(direction)))
    while len(rows) < nodes:
        parent, place, direction = tips.pop(0)
        for _ in range(2 if rng.random() < forking else 1):
            turned = direction + turning * rng.normal(size=3)
            turned /= np.linalg.norm(turned)
            end = place + 4.0 * turned
            rows.append((len(rows) + 1, 3, *end, 0.5, parent))
            tips.append((len(rows), end, turned))
    return rows


root = Path(tempfile.mkdtemp()) / "cells"
rng = np.random.default_rng(0)
for kind, settings in KINDS.items():
    (root / kind).mkdir(parents=True)
    for k in range(20):
        lines = (" ".join(map(str, row)) for row in grow(*settings, rng))
        (root / kind / f"{k:02d}.swc").write_text("\n".join(lines) + "\n")

# %%
# Read
# ----
# ``budget`` samples a skeleton evenly by length: 300 points per cell, wherever the person who traced it clicked.

cells = hf.datasets.load_folder(root, budget=300)
print(cells)

# %%
# One cell per class, coloured by heat dimension.

for kind in cells.classes:
    first = int(np.flatnonzero(cells.labels == cells.classes.index(kind))[0])
    cloud = cells.clouds[first]
    hf.plot.dimension_over_scales(cloud, hf.signatures(cloud), scales=[2, 3, 4], title=kind)

# %%
# Classify
# --------
# A scikit-learn estimator: cross-validation works as usual. ``lda`` is the quickest head; ``head="auto"`` tries all.

from sklearn.model_selection import cross_val_score

model = hf.HFSClassifier("desc", head="lda", random_state=0)
scores = cross_val_score(model, cells.clouds, cells.labels, cv=5)
print(f"accuracy {100 * scores.mean():.0f} % ± {100 * scores.std():.0f}")

# %%
# Which columns tell them apart?
# ------------------------------
# The ratio of the variance between classes to that within, column by column. The names are explained in :doc:`/reference/columns`.

from sklearn.feature_selection import f_classif

descriptor = hf.HFSDescriptor("desc").fit(cells.clouds)
table = descriptor.transform(cells.clouds)
vary = table.std(axis=0) > 1e-9 * np.abs(table).max(axis=0)
ratio = np.zeros(table.shape[1])
ratio[vary] = f_classif(table[:, vary], cells.labels)[0]
for column in np.argsort(-ratio)[:5]:
    print(f"{ratio[column]:8.0f}  {descriptor.get_feature_names_out()[column]}")

# %%
# Save, and use it elsewhere
# --------------------------
# A saved model is numbers and JSON; loading it runs no code.

model.fit(cells.clouds, cells.labels).save(root.parent / "model")
again = hf.HFSClassifier.load(root.parent / "model")
print([cells.classes[k] for k in again.predict(cells.clouds[::15])])

# %%
# The same on the command line::
#
#     heatfield train cells/ -o model --variant desc --head lda --budget 300
#     heatfield predict model new_cells/ -o labels.csv
#     heatfield report cells/ -o report.html --budget 300
