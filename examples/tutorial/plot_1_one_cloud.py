"""
One cloud, seen
===============

From points to local dimension, tangent directions, junctions and a page to turn the cloud around in.
"""

# %%
# A cloud with parts of every kind: a sheet, a filament that forks, and a solid ball.

import numpy as np

import heatfield as hf

points, parts = hf.datasets.make_mixed_shape(2000)
print(points.shape, sorted(set(parts.tolist())))

# %%
# ``hf.signatures`` does everything at once. The eight scales are chosen from the cloud itself, from a fraction of the distance
# between neighbours to half of the diameter. The result prints itself.

s = hf.signatures(points)
print(s)

# %%
# **Heat dimension.** About 1 on a filament, 2 on a surface, 3 in a volume. At the finest scales no point has neighbours within reach
# (0); at the coarsest the whole cloud is one thing.

hf.plot.dimension_over_scales(points, s, scales=[1, 2, 3, 4])

# %%
# The median per part says the same in numbers: one row per part, one column per scale.

for part in ("filament", "sheet", "ball"):
    print(f"{part:9s}", np.round(np.median(s.dimension[parts == part], axis=0), 2))

# %%
# **Spectrum.** ``s.spectrum`` has one number per direction: 0 where the data extend, -1 where they do not.

for part in ("filament", "sheet", "ball"):
    print(f"{part:9s}", np.round(np.median(s.spectrum[parts == part, 3], axis=0), 2))

# %%
# **Local type.** One word per point. Where filaments meet the word is *junction*, though the dimension is 1 there too.

kinds = s.local_type(3)
for part in hf.datasets.MIXED_SHAPE_PARTS:
    words, counts = np.unique(kinds[parts == part], return_counts=True)
    print(f"{part:9s}", dict(zip(words.tolist(), counts.tolist(), strict=True)))

# %%
# **All signatures** at every scale.

hf.plot.local_signatures(points, s)

# %%
# **A page** to turn the cloud, colour it and step through the scales; it opens offline and can be sent to a colleague. On the command
# line: ``heatfield view cloud.ply -o view.html``.

page = hf.view.view_page(points, name="mixed shape")
print(f"{len(page) // 1024} kB of HTML")

# %%
# Next: :ref:`sphx_glr_tutorial_plot_2_neurons.py`, or what each column of a table means: :doc:`/reference/columns`.
