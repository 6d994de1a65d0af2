"""
How many scales?
================

Cross-validated accuracy with 2, 4 and 8 diffusion times on a small draw of Orbit5k.
"""

from sklearn.model_selection import cross_val_score

import heatfield as hf

clouds, labels = hf.datasets.make_orbit5k(n_per_class=24, n_points=300)
counts = (2, 4, 8)
scores = [
    cross_val_score(hf.HFSClassifier("desc", head="lda", n_scales=count), clouds, labels, cv=4)
    for count in counts
]
hf.plot.accuracy_by_scales(counts, {"desc, lda": scores}, chance=0.2)
