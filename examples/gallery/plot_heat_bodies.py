"""
Heat bodies
===========

Where the heat field is at least half of its largest value on the points: a tube around a filament, a slab around a sheet. As the scale
grows, parts merge.
"""

import matplotlib.pyplot as plt
import numpy as np

import heatfield as hf

points, _ = hf.datasets.make_branching_tree(1200, n_forks=3, noise=0.005)
field = hf.HeatField(points)
figure = plt.figure(figsize=(9, 3.6), layout="constrained")
for k, length in enumerate((0.06, 0.12, 0.25)):
    body = field.heat_body(length**2, alpha=0.25, resolution=110)
    ax = figure.add_subplot(1, 3, k + 1, projection="3d")
    ax.plot_trisurf(*body.vertices.T, triangles=body.faces, color="#d95f02", linewidth=0)
    ax.set_title(f"√t = {length:g}, volume {body.volume:.3g}", fontsize=10)
    ax.set_box_aspect(np.ptp(points, axis=0))
    ax.set_axis_off()
