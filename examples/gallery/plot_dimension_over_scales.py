"""
Dimension over scales
=====================

One cloud, coloured by heat dimension from fine to coarse: filament, sheet and ball are told apart at middle scales.
"""

# sphinx_gallery_thumbnail_number = 1
import heatfield as hf

points, _ = hf.datasets.make_mixed_shape(2000)
hf.plot.dimension_over_scales(points, hf.signatures(points), scales=[1, 2, 3, 4], columns=2)
