"""
Target dimension
================

Heat dimension has gradients. Every point of a solid ball is asked to see the dimension 2 around it, its density held: the ball becomes a
set of shells. The longer version is ``examples/target_dimension.py``.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import heatfield as hf

rng = np.random.default_rng(0)
start = rng.normal(size=(400, 3))
start *= rng.uniform(size=(400, 1)) ** (1 / 3) / np.linalg.norm(start, axis=1, keepdims=True)
times = torch.tensor([0.02, 0.04], dtype=torch.float64)
layer = hf.nn.HeatFeatures(transition="exact", with_spectrum=False, log_density=True)


def read(points):
    """Log density and dimension, (m, T) each."""
    table = layer(points, scales=times).unflatten(1, (2, 3))
    return table[:, :, 0], table[:, :, 1]


points = torch.tensor(start).requires_grad_()
heat = read(points.detach())[0].mean(dim=0)
optimizer = torch.optim.Adam([points], lr=0.02)
for _ in range(80):
    density, dimension = read(points)
    loss = (dimension - 2).square().mean() + (density - heat).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

figure = plt.figure(figsize=(7, 3.4), layout="constrained")
for k, cloud in enumerate((start, points.detach().numpy())):
    ax = figure.add_subplot(1, 2, k + 1, projection="3d")
    ax.scatter(*cloud.T, s=5, c=read(torch.tensor(cloud))[1][:, 1], vmin=0, vmax=3, cmap="viridis")
    ax.set_title(("a solid ball", "asked for dimension 2")[k], fontsize=10)
    ax.set_axis_off()
