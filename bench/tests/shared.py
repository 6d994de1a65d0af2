"""What tests share: labels by chance, and whether Open3D can be loaded."""

import numpy as np
import pytest
from scipy.stats import binom


def coin_labels(count, seed):
    """A label per cloud, by a fair coin."""
    return np.random.default_rng(seed).choice(["heads", "tails"], count)


def chance_band(count, outside=1e-3):
    """Fewest and most right ones of so many labels by a coin.

    Whatever a classifier that does not know the labels predicts, the number that is right is binomial with
    probability 1/2: outside of the band with a probability of at most ``outside``.
    """
    return int(binom.ppf(outside / 2, count, 0.5)), int(binom.ppf(1 - outside / 2, count, 0.5))


try:
    import open3d  # noqa: F401

    _missing = None
except (ImportError, OSError) as error:  # not installed, or without a library of the system
    _missing = f"Open3D cannot be loaded ({error}): pip install 'heatfield-bench[open3d]'"

needs_open3d = pytest.mark.skipif(_missing is not None, reason=_missing or "")
