"""
The dictionary of the spectrum
==============================

2tλ is 0 along the data and -1 across: (0, -1, -1) on a filament, (0, 0, -1) on a surface, (0, 0, 0) in a volume. Points in the middle of
each, at one scale.
"""

import matplotlib.pyplot as plt
import numpy as np

import heatfield as hf

rng = np.random.default_rng(0)
figure, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
for k, (ax, name) in enumerate(zip(axes, ("filament", "surface", "volume"), strict=True), start=1):
    points = np.zeros((4000, 3))
    points[:, :k] = rng.uniform(-1, 1, size=(4000, k))
    s = hf.signatures(points, [0.02], transition="exact")
    middle = np.abs(points).max(axis=1) < 0.4
    ax.boxplot(s.spectrum[middle, 0], whis=(5, 95), showfliers=False)
    ax.axhline(0, lw=0.5)
    ax.axhline(-1, lw=0.5)
    ax.set(title=name, xticks=[1, 2, 3], xticklabels=["$2t\\lambda_1$", "$2t\\lambda_2$", "$2t\\lambda_3$"])
