"""The options that signatures, descriptors and point features share: checked here, and nowhere else."""

from __future__ import annotations

from dataclasses import KW_ONLY, asdict, dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .._base.check import (
    Array,
    as_lengths,
    check_choice,
    check_count,
    check_dtype,
    check_number,
    check_range,
    check_tol,
    thread_count,
)
from ..core.cloud import ArrangedCloud
from ..core.moments import Request
from ..options import Features, Scales, Spectrum, Sums, Threads, choices_of
from .scales import schedule_of


@dataclass(frozen=True)
class SignatureSettings:
    """Options as they were asked for, or a ValueError that repeats the wrong one.

    Two are equal where they give the same numbers: threads do not count.
    """

    own_transition: ClassVar[str] = "difference"  # what transition=None stands for

    n_dims: int
    _: KW_ONLY
    n_scales: int = Scales.n_scales
    c_min: float = Scales.c_min
    c_max: float = Scales.c_max
    lengths: tuple[float, ...] | None = None  # sqrt(t), instead of the cloud's own schedule
    transition: str | None = None
    hds_centers: tuple[float, ...] | None = None
    hds_sigma: float = Spectrum.hds_sigma
    method: str = Sums.method
    tol: float | None = Sums.tol
    dtype: str = Sums.dtype
    n_jobs: int | None = field(default=Threads.n_jobs, compare=False)

    def __post_init__(self) -> None:
        low, high = check_range(self.c_min, self.c_max)
        lengths = as_lengths(self.lengths, least=2)
        transition = self.own_transition if self.transition is None else self.transition
        checked = {
            "n_dims": check_count(self.n_dims, "n_dims", 1),
            "n_scales": check_count(self.n_scales, "n_scales", 2) if lengths is None else len(lengths),
            "lengths": lengths,
            "c_min": low,
            "c_max": high,
            "transition": check_choice(transition, "transition", choices_of(Features, "transition")),
            "hds_centers": _checked_centers(self.hds_centers),
            "hds_sigma": check_number(self.hds_sigma, "hds_sigma", above=0),
            "method": check_choice(self.method, "method", choices_of(Sums, "method")),
            "dtype": check_dtype(self.dtype).name,
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        check_tol(self.tol, self.precision)
        thread_count(self.n_jobs)

    @property
    def exact(self) -> bool:
        """Whether the transition is computed in closed form, from the sums of w D**4."""
        return self.transition == "exact"

    @cached_property
    def centers(self) -> Array:
        """Centres of the heat dimension spectrum: 0..n unless others were asked for."""
        return np.arange(self.n_dims + 1.0) if self.hds_centers is None else np.array(self.hds_centers)

    # Read per cloud, which counts for clouds of a hundred points.
    @cached_property
    def precision(self) -> np.dtype:
        """Of the sums over pairs."""
        return np.dtype(self.dtype)

    @cached_property
    def tolerance(self) -> float:
        """What the fast path promises."""
        return check_tol(self.tol, self.precision)

    @property
    def n_threads(self) -> int:
        """``n_jobs`` as a number of threads."""
        return thread_count(self.n_jobs)

    def times(self, cloud: ArrangedCloud) -> Array:
        """The lengths that were asked for, squared, or the schedule of the cloud, (1, T).

        The schedule is NaN, with a warning, for fewer than two distinct points.
        """
        if self.lengths is not None:
            return np.square(self.lengths)[None, :]
        return schedule_of(cloud, self.n_scales, self.c_min, self.c_max)[None, :]

    def request(self, *, directions: bool, energy: bool, n_threads: int, gradient: bool = False) -> Request:
        """What to sum for these settings, and how accurately."""
        return Request(
            tol=self.tolerance,
            directions=directions,
            fourth_moment=self.exact,
            energy=energy,
            gradient=gradient,
            method=self.method,
            dtype=self.precision,
            n_threads=n_threads,
        )

    def identity(self) -> dict[str, Any]:
        """All that decides the numbers, as JSON values: for file names, and to tell trainings apart."""
        found = asdict(self)
        del found["n_jobs"]
        # Left out where they are the default: files written before these options existed stay valid.
        for name in ("hds_centers", "hds_sigma", "lengths"):
            if found[name] == getattr(type(self), name):
                del found[name]
        return found


def _checked_centers(centers: Any) -> tuple[float, ...] | None:
    if centers is None:
        return None
    try:
        chosen = np.asarray(centers, dtype=np.float64)
    except (TypeError, ValueError):
        chosen = np.empty(0)
    if chosen.ndim != 1 or chosen.size == 0 or not np.isfinite(chosen).all():
        raise ValueError(f"hds_centers must be a list of finite numbers, got {centers!r}")
    return tuple(chosen.tolist())
