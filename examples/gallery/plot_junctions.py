"""
Junctions
=========

Where filaments meet, the heat dimension is 1 as on each of them, but neighbours lie along several directions.
``local_type`` finds these points without a skeleton. Circles: the true forks.
"""

import matplotlib.pyplot as plt
import numpy as np

import heatfield as hf

points, forks = hf.datasets.make_branching_tree(2000, n_forks=5, noise=0.01, random_state=1)
s = hf.signatures(points, np.array([0.07, 0.14]) ** 2)
junction = s.local_type(1) == "junction"
figure, ax = plt.subplots(figsize=(5, 5), layout="constrained")
ax.scatter(points[:, 0], points[:, 2], s=2, color="#bbbbbb")
ax.scatter(points[junction, 0], points[junction, 2], s=5, color="#c51b7d", label="junction")
ax.scatter(forks[:, 0], forks[:, 2], s=260, facecolors="none", edgecolors="k", label="fork")
ax.set(aspect="equal")
ax.legend(loc="best")
ax.set_axis_off()
