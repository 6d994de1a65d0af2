"""Means, spreads, and differences between methods on common splits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from ._protocol import Protocol


@dataclass(frozen=True)
class Mean:
    """Mean and standard deviation over splits (n - 1 in the denominator; NaN of one split)."""

    mean: float
    sd: float
    n: int


@dataclass(frozen=True)
class Difference:
    """A paired difference: how large, its standard error, and the two-sided probability under none."""

    mean: float
    error: float
    p: float
    n: int

    @property
    def clear(self) -> bool:
        """Whether chance is an unlikely cause, at 5 %."""
        return self.p < 0.05

    def clear_of(self, limit: float) -> bool:
        """Whether chance is an unlikely cause of its side of a limit, at 5 %."""
        if self.error == 0.0:
            return self.mean != limit
        ratio = abs(self.mean - limit) / self.error
        return bool(2.0 * (student.sf(ratio, self.n - 1) if self.n > 1 else norm.sf(ratio)) < 0.05)


def mean_of(values: Mapping[int, float]) -> Mean:
    """Over the splits that are done.

    Guide: ``heatfield docs results/experiments``.

    Parameters
    ----------
    values : mapping of int to float
        Scores by split.

    Returns
    -------
    mean : Mean
        With ``mean``, ``sd`` and ``n``.

    Examples
    --------
    >>> mean_of({0: 90.0, 1: 92.0})
    Mean(mean=91.0, sd=1.4142135623730951, n=2)
    """
    numbers = np.array([values[k] for k in sorted(values)])
    if numbers.size == 0:
        return Mean(float("nan"), float("nan"), 0)
    sd = float(numbers.std(ddof=1)) if numbers.size > 1 else float("nan")
    return Mean(float(numbers.mean()), sd, numbers.size)


def difference(a: Mapping[int, float], b: Mapping[int, float], protocol: Protocol) -> Difference:
    """``a`` minus ``b`` over their common splits.

    Training sets of different splits overlap, so that results vary less over splits than over data sets.
    Nadeau and Bengio (2003) correct the variance of the mean from s^2 / n to
    s^2 (1 / n + n_test / n_train).

    Guide: ``heatfield docs results/experiments``.

    Parameters
    ----------
    a, b : mapping of int to float
        Scores by split.
    protocol : Protocol
        Of both.

    Returns
    -------
    difference : Difference
        With ``mean``, ``error``, ``p``, ``n`` and ``clear``.

    Examples
    --------
    >>> from heatfield_bench import Protocol
    >>> folds = Protocol("folds", 5, 0.2, "macc")
    >>> d = difference({0: 91.0, 1: 92.0, 2: 93.0}, {0: 90.0, 1: 90.0, 2: 90.0}, folds)
    >>> d.mean, round(d.error, 4), d.n
    (2.0, 0.7638, 3)
    """
    common = sorted(set(a) & set(b))
    gaps = np.array([a[k] - b[k] for k in common])
    if gaps.size < 2:
        mean = float(gaps.mean()) if gaps.size else float("nan")
        return Difference(mean, float("nan"), float("nan"), gaps.size)
    ratio = protocol.share / (1.0 - protocol.share)
    error = float(np.sqrt(gaps.var(ddof=1) * (1.0 / gaps.size + ratio)))
    mean = float(gaps.mean())
    if error == 0.0:
        return Difference(mean, 0.0, 1.0 if mean == 0.0 else 0.0, gaps.size)
    return Difference(mean, error, float(2.0 * student.sf(abs(mean) / error, gaps.size - 1)), gaps.size)
