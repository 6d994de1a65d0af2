"""The Fourier path: all sums of one scale from Fourier modes, to an error relative to the largest sum.

A Gaussian is band-limited to any tolerance, so on a period that keeps images apart

    W(x) = sum_j exp(-|x - x_j|**2 / 4t) = sum_k c_k exp(i k x),   c_k = G(k) F(k),

with F(k) = sum_j exp(-i k x_j) and G(k) = prod sqrt(4 pi t) / P exp(-t k**2). The moments are
derivatives of W (`modes`), read off one grid (`grid`) that a kernel of a few grid points links with the
points (`kernel`). The energy is Parseval's sum, without a transform.
"""

from .grid import FourierTask, UpsampledGrid, fourier_sums
from .modes import ModeGrid

__all__ = ["FourierTask", "ModeGrid", "UpsampledGrid", "fourier_sums"]
