"""The box in which the bifiltrations of a data set are looked at, fixed on its training clouds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from heatfield._base.check import Array, check_choice
from heatfield._base.threads import pieces, run_pieces

from ._bifiltration import COMPLEXES, Bifiltration, bifiltration, codensities, distinct

# Bandwidth, and the largest radius of a Rips complex, as shares of the side of a cloud's bounding box.
BANDWIDTH, RIPS_RADIUS = 0.1, 0.15
# The largest radius of alpha complexes leaves out the last of the simplices: those on the hull are huge.
SHARE = 0.95


@dataclass(frozen=True)
class Frame:
    """Complex, dimension of points and of simplices, bandwidth, largest radius, range of codensity."""

    kind: str
    n_dims: int
    dimension: int
    bandwidth: float
    max_radius: float
    low: float
    high: float

    def bifiltration(self, cloud: Array) -> Bifiltration:
        """Of a cloud, with both values from 0 to 1 over the box; what enters beyond it is left out."""
        found = bifiltration(
            cloud, self.kind, self.dimension, bandwidth=self.bandwidth, max_radius=self.max_radius
        )
        return found.within(self.max_radius, self.high).scaled(self.max_radius, self.low, self.high)

    def facts(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @classmethod
    def checked(cls, facts: dict[str, Any]) -> Frame:
        """From plain values that may come from anywhere."""
        check_choice(facts["kind"], "complex", COMPLEXES)
        for name in ("n_dims", "dimension"):
            if type(facts[name]) is not int or not 1 <= facts[name] <= 1000:
                raise ValueError(f"{name} of the saved frame must be a small number, got {facts[name]!r}")
        for name in ("bandwidth", "max_radius", "low", "high"):
            if type(facts[name]) is not float or not math.isfinite(facts[name]):
                raise ValueError(f"{name} of the saved frame must be a finite number, got {facts[name]!r}")
        if facts["bandwidth"] <= 0 or facts["max_radius"] <= 0 or facts["high"] < facts["low"]:
            raise ValueError("the saved frame is empty")
        return cls(**{name: facts[name] for name in cls.__dataclass_fields__})


def check_frame(model: Any, n_dims: int) -> None:
    """A ValueError where the options of the bifiltration are wrong; nothing is computed."""
    check_choice(model.complex, "complex", COMPLEXES)
    degrees(model)
    if model.complex == "alpha" and n_dims > 3:
        raise ValueError(
            f"complex='alpha' is for points of up to 3 coordinates, got {n_dims}: pass complex='rips'"
        )
    for name in ("bandwidth", "max_radius"):
        value = getattr(model, name)
        if value is None:
            continue
        number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not number or not 0.0 < value < np.inf:
            raise ValueError(f"{name} must be a positive number, or None for one of the data, got {value!r}")


def degrees(model: Any) -> tuple[int, ...]:
    """Degrees of homology, as asked for."""
    try:
        found = tuple(int(d) for d in model.degrees if int(d) == d)
    except (TypeError, ValueError):
        found = ()
    if (
        not found
        or len(found) != len(model.degrees)
        or len({*found}) != len(found)
        or not {*found} <= {0, 1, 2}
    ):
        raise ValueError(f"degrees must be some of 0, 1 and 2, each once, got {model.degrees!r}")
    return found


def fit_frame(model: Any, clouds: Sequence[Array], threads: int, progress: str | None) -> Frame:
    """The frame of a training set: whatever the user did not fix is taken from the clouds."""
    n_dims, dimension = clouds[0].shape[1], max(degrees(model)) + 1
    sides = np.array([np.ptp(cloud, axis=0).max() if len(cloud) else 0.0 for cloud in clouds])
    side = float(np.median(sides[sides > 0.0])) if (sides > 0.0).any() else 1.0
    bandwidth = BANDWIDTH * side if model.bandwidth is None else float(model.bandwidth)
    fixed = RIPS_RADIUS * side if model.complex == "rips" else None
    fixed = fixed if model.max_radius is None else float(model.max_radius)
    ends = np.full((len(clouds), 3), np.nan)  # lowest and highest codensity, nearly largest radius

    def work(first: int, last: int) -> None:
        for i in range(first, last):
            points, counts = distinct(clouds[i])
            if len(points):
                values = codensities(points, counts, bandwidth)
                ends[i, 0], ends[i, 1] = values.min(), values.max()
            if fixed is None:
                whole = bifiltration(
                    clouds[i], model.complex, dimension, bandwidth=bandwidth, max_radius=np.inf
                )
                if len(whole.radius[-1]):
                    ends[i, 2] = np.quantile(whole.radius[-1], SHARE)

    run_pieces(work, pieces(len(clouds), 1), threads, progress)
    known = np.isfinite(ends)
    low = float(ends[known[:, 0], 0].min()) if known[:, 0].any() else 0.0
    high = float(ends[known[:, 1], 1].max()) if known[:, 1].any() else 1.0
    if fixed is None:
        fixed = float(np.median(ends[known[:, 2], 2])) if known[:, 2].any() else side
    return Frame(model.complex, n_dims, dimension, bandwidth, fixed, low, high)
