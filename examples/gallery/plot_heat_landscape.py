"""
Heat landscape
==============

The heat field over the plane, from fine to coarse: at fine scales every point is a peak, then the rings appear, then the whole.
"""

import heatfield as hf

clouds, labels = hf.datasets.make_orbit5k(n_per_class=1, n_points=400)
hf.plot.heat_landscape(clouds[3])
