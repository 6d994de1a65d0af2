"""
Weights
=======

``HeatField`` takes a weight per point: masses of atoms, intensities of returns, or areas of samples. Right: the points of the right half
count three times as much.
"""

import matplotlib.pyplot as plt
import numpy as np

import heatfield as hf

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, size=400)
points = np.c_[np.cos(angle), np.sin(angle)] + 0.05 * rng.normal(size=(400, 2))
side = np.linspace(-1.5, 1.5, 120)
places = np.stack(np.meshgrid(side, side), axis=-1)
figure, axes = plt.subplots(1, 2, figsize=(7, 3.4), layout="constrained")
for ax, weights in zip(axes, (None, np.where(points[:, 0] > 0, 3.0, 1.0)), strict=True):
    values = hf.HeatField(points, weights).value(places.reshape(-1, 2), 0.01).reshape(120, 120)
    ax.contourf(side, side, values, levels=20, cmap="OrRd")
    ax.set(aspect="equal", xticks=[], yticks=[], title="no weights" if weights is None else "weights")
