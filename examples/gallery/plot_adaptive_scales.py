"""
Adaptive scales
===============

Two filaments, one sampled thirty times as densely as the other. One time for all points is too fine for one of them; with
``adaptive_scales`` every point has times that follow the distance to its neighbours.
"""

import matplotlib.pyplot as plt
import numpy as np

import heatfield as hf

rng = np.random.default_rng(0)
dense, sparse = rng.uniform(size=(1500, 1)), rng.uniform(size=(50, 1))
points = np.concatenate([dense * [1.0, 0.0], sparse * [1.0, 0.0] + [0.0, 1.0]])
part = np.repeat([0, 1], [1500, 50])
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
choices = (("one schedule", hf.scale_schedule(points)), ("adaptive", hf.adaptive_scales(points)))
for ax, (title, scales) in zip(axes, choices, strict=True):
    s = hf.signatures(points, scales)
    for k, name in enumerate(("1,500 points", "50 points")):
        ax.plot(np.median(s.dimension[part == k], axis=0), "o-", label=name)
    ax.axhline(1, lw=0.5, color="k")
    ax.set(title=title, xlabel="scale, fine to coarse", ylabel="median heat dimension")
axes[1].legend()
