"""
Features inside a torch network
===============================

Heat field signatures as a layer: invariant features for a network, and gradients back to the points.
"""

# %%
# The layer
# ---------
# ``HeatFeatures`` holds no parameters. It maps points (B, m, n) to features (B, m, (3 + n) T), on any device.

import numpy as np
import torch
from torch import nn

import heatfield as hf

torch.manual_seed(0)
points = torch.randn(4, 128, 3, requires_grad=True)
features = hf.nn.HeatFeatures(n_scales=6, log_density=True)(points)
features.square().mean().backward()
print(features.shape, points.grad.abs().mean())

# %%
# Turning the cloud changes nothing but rounding.

turn, _ = torch.linalg.qr(torch.randn(3, 3))
with torch.no_grad():
    layer = hf.nn.HeatFeatures(n_scales=6, log_density=True)
    print("largest change:", float((layer(points @ turn) - layer(points)).abs().max()))

# %%
# A network of your own
# ---------------------
# Features per point, a shared perceptron, the mean over the points.


class Net(nn.Module):
    """Signatures, a perceptron per point, the mean, a linear read-out."""

    def __init__(self, classes):
        super().__init__()
        self.heat = hf.nn.HeatFeatures(n_scales=6, log_density=True)
        self.norm = nn.BatchNorm1d(36)
        self.perceptron = nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.read_out = nn.Linear(64, classes)

    def forward(self, points):
        found = self.heat(points)
        found = self.norm(found.flatten(0, 1)).view(found.shape)
        return self.read_out(self.perceptron(found).mean(dim=1))


clouds, labels = hf.datasets.make_four_shapes(n_per_class=24, n_points=128, random_state=0)
x = torch.tensor(np.stack(clouds), dtype=torch.float32)
y = torch.tensor(labels)
order = torch.randperm(len(y))
train, test = order[:64], order[64:]
net = Net(4)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for _ in range(12):
    for batch in train.split(16):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x[batch]), y[batch]).backward()
        optimizer.step()
net.eval()
with torch.no_grad():
    right = (net(x[test]).argmax(dim=1) == y[test]).float().mean()
    turned = (net(x[test] @ turn).argmax(dim=1) == y[test]).float().mean()
print(f"test accuracy {100 * right:.0f} %, on turned clouds {100 * turned:.0f} %")

# %%
# The networks of the paper are ready made: :py:class:`heatfield.nn.HFSFull` and :py:class:`heatfield.nn.HFSDGCNN`, or with training and
# saving ``hf.HFSNetworkClassifier("full")``. What gradients to the points are good for: :ref:`sphx_glr_gallery_plot_target_dimension.py`.
