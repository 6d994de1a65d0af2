"""
A million points
================

Sums over all pairs of a million points would take hours. The fast path takes seconds per scale and promises a tolerance at *every*
point. Here with 200,000 points, so that the page is built quickly; the call is the same for ten million.
"""

# %%
# The same call as for a small cloud
# ----------------------------------

import time

import numpy as np

import heatfield as hf

rng = np.random.default_rng(0)
sphere = rng.normal(size=(200_000, 3))
sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
times = np.geomspace(0.005, 0.2, 5) ** 2

start = time.perf_counter()
s = hf.signatures(sphere, times, tol=1e-5, n_jobs=-1)
print(f"{len(sphere):,} points, {len(times)} scales: {time.perf_counter() - start:.1f} s")

# %%
# What was done
# -------------
# ``s.plan`` says which path was taken at every scale, and why. Fine scales are summed over neighbours, coarse ones by Fourier transform.

print(s.plan)

# %%
# Is the promise kept?
# --------------------
# The exact sums at a few hundred points, as targets in the whole cloud.

some = rng.choice(len(sphere), 300, replace=False)
exact = hf.HeatField(sphere, method="dense")
error = np.abs(s.density[some] / exact.value(sphere[some], times) - 1).max(axis=0)
print("largest relative error of the density per scale:", [f"{e:.0e}" for e in error])
assert error.max() <= 1e-5

# %%
# The dimension of a sphere is 2 wherever the scale is above the spacing of the points and below the radius.

print(
    "mean heat dimension per √t:",
    dict(zip(np.sqrt(times).round(3).tolist(), s.dimension.mean(axis=0).round(3).tolist(), strict=True)),
)

# %%
# Read more in :doc:`/theory/fast`: what is promised for each output, and how the error is bounded. On the command line:
# ``heatfield info FILE`` tells beforehand what a file would cost, ``heatfield describe`` takes ``--tol``, and tiles that are too much for a
# table are read with ``--budget``.
