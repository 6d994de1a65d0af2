"""
2-D point patterns
==================

Clustered, regular or random? Four point processes in the unit square, what their signatures look like, and how well they are told apart.
"""

# %%
# Four processes
# --------------
# Poisson (random), Matérn (clustered), Strauss (regular), and Baddeley-Silverman, whose pair statistics are those of Poisson.

import matplotlib.pyplot as plt
import numpy as np

import heatfield as hf

clouds, labels = hf.datasets.make_processes(n_per_class=40, strauss_steps=8000, random_state=0)
figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
for k, ax in enumerate(axes):
    ax.scatter(*clouds[40 * k].T, s=4)
    ax.set(title=hf.datasets.PROCESS_CLASSES[k], aspect="equal", xticks=[], yticks=[])

# %%
# Dimension over the scales
# -------------------------
# At the same scale a clustered pattern has neighbours where a regular one has none: its heat dimension rises earlier.
# Scales are shared by all patterns, as lengths in units of the square.

times = np.geomspace(0.005, 0.2, 8) ** 2
curves = np.array([hf.signatures(cloud, times).dimension.mean(axis=0) for cloud in clouds])
hf.plot.class_curves(curves, np.array(hf.datasets.PROCESS_CLASSES)[labels])

# %%
# Is this pattern random?
# -----------------------
# An envelope test: 99 random patterns of the same number of points give the range that chance allows. Where the pattern leaves it,
# it is not random at that scale.

pattern = clouds[60]  # clustered
rng = np.random.default_rng(0)
chance = np.array(
    [hf.signatures(rng.uniform(size=pattern.shape), times).dimension.mean(axis=0) for _ in range(99)]
)
own = hf.signatures(pattern, times).dimension.mean(axis=0)
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.fill_between(np.sqrt(times), chance.min(axis=0), chance.max(axis=0), alpha=0.3, label="99 random patterns")
ax.plot(np.sqrt(times), own, "o-", color="#d95f02", label="the pattern")
ax.set(xscale="log", xlabel="√t, in sides of the square", ylabel="mean heat dimension")
ax.legend()

# %%
# Told apart
# ----------

from sklearn.model_selection import cross_val_predict

found = cross_val_predict(hf.HFSClassifier("desc", head="lda"), clouds, labels, cv=5)
print(f"accuracy {100 * (found == labels).mean():.0f} %")
matrix = np.zeros((4, 4), dtype=int)
np.add.at(matrix, (labels, found), 1)
hf.plot.confusion_matrix(matrix, hf.datasets.PROCESS_CLASSES)
