"""Where a feature stops being a signal: what round-off alone changes when a cloud is rotated.

Round-off is relative to a feature's magnitude. Numbers that are differences of quantities of order one
have the round-off of 1, however small they are; the others are exact relative to themselves.
"""

from __future__ import annotations

import numpy as np

# A feature that varies less than this over the training set, relative to its
# magnitude, is constant up to round-off: a thousand times what rotating a cloud changes.
ROUND_OFF = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-3}
