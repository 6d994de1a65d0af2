"""
Pipeline
========

All steps from points to a descriptor in one figure.
"""

import heatfield as hf

points, _ = hf.datasets.make_branching_tree(1500, n_forks=5)
hf.plot.pipeline(points)
