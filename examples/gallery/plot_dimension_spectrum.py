"""
Heat dimension spectrum
=======================

How the points of a cloud divide among point-, filament-, surface- and volume-like, scale by scale.
"""

import heatfield as hf

points, _ = hf.datasets.make_mixed_shape(2000)
hf.plot.dimension_spectrum(hf.signatures(points))
