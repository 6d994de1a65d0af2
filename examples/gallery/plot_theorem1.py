"""
Theorem 1: the window of scales
===============================

The heat dimension of points on a sphere is 2 in a window of scales: below it the points see no neighbours, above it the sphere is
seen as a whole. More points open the window to finer scales. More in :doc:`/theory/theorem1`.
"""

import matplotlib.pyplot as plt
import numpy as np

import heatfield as hf

times = np.geomspace(1e-3, 3.0, 24)
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for count in (250, 1000, 4000):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(count, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    found = hf.signatures(points, times, with_spectrum=False).dimension
    ax.plot(times, np.abs(found - 2).mean(axis=0), label=f"{count:,} points")
ax.set(xscale="log", yscale="log", xlabel="t", ylabel="mean error of the heat dimension")
ax.legend()
