"""Labels that say nothing of the clouds, and how many of them are right by chance."""

import numpy as np
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
