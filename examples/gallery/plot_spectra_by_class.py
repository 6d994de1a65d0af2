"""
Spectra by class
================

The heat dimension spectra of the classes of Orbit5k: median and middle half over the clouds of each class.
"""

import numpy as np

import heatfield as hf

clouds, labels = hf.datasets.make_orbit5k(n_per_class=12, n_points=400)
compositions = np.stack([hf.signatures(cloud).hds.composition for cloud in clouds])
hf.plot.spectra_by_class(compositions, labels)
