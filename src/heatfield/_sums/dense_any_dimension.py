"""The dense path beyond three dimensions: the sums as matrix products, block by block.

Here the n (n+1) / 2 products of coordinates are most of the work, and a matrix
product computes them at the full speed of the machine. Differences are formed first and never
recovered from products of positions, so nothing cancels.
"""

from __future__ import annotations

import numpy as np

from .._base.check import Array
from .._base.exp2 import LOG2_E
from .columns import FIRST, FOURTH, ROOT_SQUARE, ROOT_WEIGHT, SQUARE, WEIGHT
from .pair_kernels import heat

# Numbers in one block of differences: 32 MB in double precision.
_BLOCK = 4_000_000


def dense_sums_any_dimension(
    sources: Array,
    scales: Array,
    first: int,
    last: int,
    *,
    directions: bool,
    fourth_moment: bool,
    dtype: np.dtype,
    sums: Array,
) -> None:
    """Fill ``sums[first:last]`` as `dense_sums` does, for any dimension."""
    n, m = sources.shape
    rows = max(1, min(last - first, _BLOCK // max(1, n * m)))
    upper = np.triu_indices(n)
    for start in range(first, last, rows):
        stop = min(last, start + rows)
        r = (sources[None, :, :] - sources.T[start:stop, :, None]).astype(dtype)  # r: (rows, n, m)
        square = np.einsum("ikj,ikj->ij", r, r)
        root = np.empty_like(square)
        for a in range(scales.shape[1]):
            t = scales[start:stop, a] if scales.shape[0] > 1 else np.full(stop - start, scales[0, a])
            for i in range(stop - start):
                heat(square[i], root[i], m, dtype.type(-LOG2_E / (8.0 * t[i])))
            weight = root * root
            out = sums[start:stop, a]
            out[:, WEIGHT] = weight.sum(axis=1, dtype=np.float64)
            out[:, SQUARE] = np.einsum("ij,ij->i", weight, square)
            out[:, ROOT_WEIGHT] = root.sum(axis=1, dtype=np.float64)
            out[:, ROOT_SQUARE] = np.einsum("ij,ij->i", root, square)
            if fourth_moment:
                out[:, FOURTH] = np.einsum("ij,ij,ij->i", weight, square, square)
            if directions:
                out[:, FIRST : FIRST + n] = (r @ weight[:, :, None])[:, :, 0]
                scaled = r * root[:, None, :]  # g r, whose product with itself is w r r'
                out[:, FIRST + n :] = (scaled @ scaled.transpose(0, 2, 1))[:, upper[0], upper[1]]
