"""
A folder to a report
====================

One command turns a folder of clouds into a page: a map of all clouds, the spectra of the classes, an honest accuracy, the nearest
neighbours of every cloud, and which files are unusual or broken.
"""

# %%
# A folder
# --------
# Four shapes, one folder each, and one file that is cut off.

import tempfile
from pathlib import Path

import heatfield as hf

folder = Path(tempfile.mkdtemp())
clouds, labels = hf.datasets.make_four_shapes(n_per_class=12, n_points=200, random_state=0)
for k, (cloud, label) in enumerate(zip(clouds, labels, strict=True)):
    place = folder / "shapes" / hf.datasets.FOUR_SHAPES[label]
    place.mkdir(parents=True, exist_ok=True)
    hf.write_points(place / f"{k:02d}.ply", cloud)
broken = folder / "shapes" / hf.datasets.FOUR_SHAPES[0] / "broken.ply"
broken.write_bytes((place / f"{k:02d}.ply").read_bytes()[:300])

# %%
# The report
# ----------
# On the command line: ``heatfield report shapes -o report.html --head lda --embedding pca``. A file that cannot be read is listed by the page, and
# the rest is done.

result = hf.report_files(folder / "shapes", folder / "report.html", head="lda", embedding="pca", n_jobs=1)
print(f"{result.path.name}: {result.path.stat().st_size // 1024} kB")
print(f"accuracy {result.scores.accuracy:.2f} in {len(result.scores.folds)} folds")
print(*result.errors, sep="\n")

# %%
# The table behind it
# -------------------
# ``result.table`` holds the features with their names; ``hf.describe_files``, on the command line ``heatfield describe shapes -o shapes.parquet``,
# writes them. A run that is killed is finished by the same call: what is done is not done again.

result.table.write(folder / "shapes.parquet")
found = hf.FeatureTable.read(folder / "shapes.parquet")
print(len(found), "rows,", len(found.columns()), "columns:", list(found.columns())[:6], "...")

# %%
# What a column means: :doc:`/reference/columns`. All options: :doc:`/reference/commands`.
