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
from heatfield.cli import main

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
# ``main`` is the command line: this is ``heatfield report shapes -o report.html --jobs 1 --quiet``. The exit code 1 says that a file could
# not be read; the page lists it, and the rest is done.

code = main(
    [
        "report",
        str(folder / "shapes"),
        "-o",
        str(folder / "report.html"),
        "--embedding",
        "pca",
        "--jobs",
        "1",
        "--quiet",
    ]
)
size = (folder / "report.html").stat().st_size
print(f"exit code {code}, {size // 1024} kB")

# %%
# The table behind it
# -------------------
# ``describe`` writes the features with their names. A run that is killed is finished by the same command: what is done is not done again.

table = folder / "shapes.parquet"
main(["describe", str(folder / "shapes"), "-o", str(table), "--jobs", "1", "--quiet"])

import pyarrow.parquet as pq

found = pq.read_table(table)
print(found.num_rows, "rows,", found.num_columns, "columns:", found.column_names[:6], "...")
print((folder / "shapes.errors.csv").read_text())

# %%
# What a column means: :doc:`/reference/columns`. All options: :doc:`/reference/commands`.
