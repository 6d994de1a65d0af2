"""
A number of each cloud
======================

How thick is it, how rough, how old? Where clouds carry a number instead of a class, a regressor reads it out of the same signatures. Here:
the thickness of rings, whatever their direction.
"""

# %%
# Rings, thin and thick
# ---------------------
# Points on a torus whose tube has between a tenth and two thirds of the ring's radius, turned in any direction, with noise.

import matplotlib.pyplot as plt
import numpy as np

import heatfield as hf

rng = np.random.default_rng(0)


def ring(ratio, m):
    """Points, even by area, on a torus of radius 1 with a tube of radius ``ratio``; turned, with noise."""
    tube = rng.uniform(0, 2 * np.pi, 4 * m)
    tube = tube[rng.uniform(0, 1 + ratio, 4 * m) < 1 + ratio * np.cos(tube)][:m]
    around = rng.uniform(0, 2 * np.pi, len(tube))
    out = 1 + ratio * np.cos(tube)
    points = np.stack([out * np.cos(around), out * np.sin(around), ratio * np.sin(tube)], axis=1)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return points @ turn + 0.02 * rng.normal(size=points.shape)


ratios = rng.uniform(0.1, 0.65, 240)
clouds = [ring(ratio, int(rng.integers(250, 500))) for ratio in ratios]

shown = np.argsort(ratios)[[0, 80, 160, 239]]
figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained", subplot_kw={"projection": "3d"})
for ax, k in zip(axes, shown, strict=True):
    _, axis = np.linalg.eigh(np.cov(clouds[k].T))  # look along the axis of the ring, a little from the side
    ax.scatter(*(clouds[k] @ axis[:, ::-1]).T, s=2)
    ax.set(title=f"ratio {ratios[k]:.2f}", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), zlim=(-1.2, 1.2))
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.view_init(elev=50)

# %%
# Fit
# ---
# ``head="auto"`` compares ridge regression and support vectors on clouds held out, and chooses how strongly they are regularised.

train, test = np.arange(240) < 160, np.arange(240) >= 160
model = hf.HFSRegressor().fit([c for c, k in zip(clouds, train, strict=True) if k], ratios[train])
print(model.choice())

# %%
# Predict
# -------
# Clouds that it has never seen. The mean error is below a hundredth of the ring's radius; the noise of each point is two hundredths.

unseen = [c for c, k in zip(clouds, test, strict=True) if k]
predicted = model.predict(unseen)
error = float(np.abs(predicted - ratios[test]).mean())
print(f"R² {model.score(unseen, ratios[test]):.3f}, mean error {error:.3f}")

figure, ax = plt.subplots(figsize=(4.6, 4.4), layout="constrained")
ax.plot([0.1, 0.65], [0.1, 0.65], color="0.7", lw=1)
ax.scatter(ratios[test], predicted, s=14)
ax.set(xlabel="radius of the tube over that of the ring", ylabel="predicted", aspect="equal")

# %%
# Which signatures tell it?
# -------------------------
# Features are computed once; then any number of models is fitted to some of their columns, here block by block.

from sklearn.metrics import r2_score

descriptor = hf.HFSDescriptor("desc")
rows = descriptor.fit_transform(clouds)
for block, columns in descriptor.layout().columns.items():
    alone = hf.HFSRegressor("desc", head="ridge", blocks=(block,))
    alone.fit_features(rows[train, columns], ratios[train], n_dims=3)
    print(f"{block:10s} R² {r2_score(ratios[test], alone.predict_features(rows[test, columns])):.3f}")

# %%
# Measurements of one specimen
# ----------------------------
# Several scans of one ring are nearly the same cloud. Name the ring with ``groups``, and no ring is on both sides of the folds that
# choose head and strength; without, the choice is made by scans of rings that are known already.

specimens = rng.uniform(0.1, 0.65, 20)
scans = [ring(ratio, 300) for ratio in specimens for _ in range(4)]
named = np.repeat(np.arange(20), 4)
for groups in (None, named):
    grouped = hf.HFSRegressor().fit(scans, specimens[named], groups=groups)
    print("by scan:    " if groups is None else "by specimen:", grouped.choice())

# %%
# ``hf.HFSNetworkRegressor("full")`` learns the pooling instead. How models are saved, and all options: :doc:`/guide/learning`.
