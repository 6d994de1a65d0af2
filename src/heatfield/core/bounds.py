"""What the fast path promises at every point, as multiples of ``tol``: the contract, in one place.

Entries of `channels` name these numbers, tests and benchmarks import them; docstrings of `signatures`,
`HFSDescriptor` and `HeatField` repeat them (a test compares). "Relative" is to the exact value itself,
"absolute" to 1. The dense path is exact to rounding and needs no tolerance.
"""

from __future__ import annotations

DENSITY = 1.0  # relative
ENERGY = 1.0  # relative
DIMENSION = 4.0  # absolute; off the data relative to 1 + d
RESPONSE = 4.0  # absolute
SPECTRUM = 16.0  # absolute
# Absolute; in closed form. By finite differences it has the error of the dimension over the step.
TRANSITION = 16.0
# Of the mean of a field around a point, in units of the field's range.
MEAN = 4.0
# Of the neighbourhood block: the square of a deviation, in units of the field's range squared.
DEVIATION_SQUARED = 16.0
# Of a column of the orientation block, over the smallest size of what it compares.
ORIENTATION = 64.0
