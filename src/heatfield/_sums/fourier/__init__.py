"""The Fourier path: all sums of one scale from Fourier modes, to an error relative to the largest sum.

A Gaussian is band-limited to any tolerance, so on a period that keeps images apart

    W(x) = sum_j exp(-|x - x_j|**2 / 4t) = sum_k c_k exp(i k x),   c_k = G(k) F(k),

with F(k) = sum_j exp(-i k x_j) and G(k) = prod sqrt(4 pi t) / P exp(-t k**2). The moments are
derivatives of W: sum w r = 2t grad W, sum w r r' = 4t**2 Hess W + 2t I W. They are read off one grid
(`by_grid`). Where more digits are asked for than that can give, and in single precision, finufft
transforms every sum: a factor on c_k for the derivative, two real fields in one complex transform. The
energy is Parseval's sum, without a transform.
"""

from __future__ import annotations

import numpy as np

from ..._base.check import Array
from .by_finufft import finufft_sums
from .by_grid import grid_sums
from .kernel import GRID_EPS
from .modes import FourierTask


def fourier_sums(task: FourierTask) -> tuple[Array, float]:
    """The table of sums (q, columns) of a task, to its ``eps`` times the largest sum.

    The largest sum of w anywhere, which a heavy place outside of the targets may have, is the second result.
    """
    return grid_sums(task) if reads_grid(task.eps, task.dtype) else finufft_sums(task)


def reads_grid(eps: float, dtype: np.dtype) -> bool:
    """Whether the derivatives can be read off one grid to this error."""
    return dtype == np.float64 and eps >= GRID_EPS
