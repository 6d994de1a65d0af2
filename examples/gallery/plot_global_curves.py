"""
Global curves
=============

Concentration, response and roughness of the heat field over the scales: an orbit that leaves holes beside one that fills the square.
"""

import heatfield as hf

clouds, _ = hf.datasets.make_orbit5k(n_per_class=1, n_points=600)
hf.plot.global_curves([hf.signatures(clouds[1]), hf.signatures(clouds[4])])
