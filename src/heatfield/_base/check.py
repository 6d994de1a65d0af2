"""Checks of the input, made once by the public functions, with errors that repeat what was given."""

from __future__ import annotations

import os
import re
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .point_objects import coordinates_of

Array = NDArray[np.float64]

# The declared range of lengths: beyond it their squares leave the range of float64.
LEAST_LENGTH, GREATEST_LENGTH = 1e-140, 1e140
LENGTHS = "1e-140 and 1e140"
# The declared range of the powers of t in densities and energies, times the pairs that are summed: where
# results are in double precision, and in single.
GREATEST_POWER, GREATEST_SINGLE_POWER = 1e300, 1e36
# Arrays of files with more columns are points only where that is asked for.
MOST_DIMENSIONS = 8
# How far apart the weights of points may be.
GREATEST_RATIO = 1e280


class HeatFieldWarning(UserWarning):
    """Something could be computed only in part, or looks like a mistake.

    Guide: ``heatfield docs theory/choices``.

    Examples
    --------
    >>> import warnings, heatfield as hf
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     scales = hf.scale_schedule([[1.0, 2.0]], n_scales=2)
    >>> found[0].category.__name__, scales.tolist()
    ('HeatFieldWarning', [nan, nan])
    """


def as_points(points: ArrayLike, name: str = "points") -> Array:
    """A finite (m, n) float64 array, or a ValueError that names what is wrong and where.

    Of a data frame the columns x, y, z (or x0, x1, ...) are the coordinates where it has them, else all; of
    objects of other libraries see `point_objects`.
    """
    if isinstance(points, (str, bytes, os.PathLike)):
        raise ValueError(f"{name} is {_describe(points)}: a file is read by heatfield.read_points(path)")
    if getattr(points, "requires_grad", False) is True:
        raise ValueError(
            f"{name} requires a gradient, which would be lost here: heatfield.nn.HeatFeatures keeps it; "
            "without it pass points.detach()"
        )
    points = coordinates_of(points)
    if hasattr(points, "columns") and hasattr(points, "to_numpy"):
        chosen = find_coordinates([str(column) for column in points.columns])
        table = points.to_numpy()
        points = table[:, chosen] if chosen else table
        if chosen and table.dtype == object:  # numbers beside words
            points = np.array(table[:, chosen].tolist()).reshape(-1, len(chosen))
    if isinstance(points, np.ma.MaskedArray):
        masked = np.atleast_2d(np.asarray(np.ma.getmaskarray(points)))
        if masked.any():
            rows = np.asarray(masked.reshape(len(masked), -1).any(axis=1))
            raise ValueError(
                f"{name} has masked values in {int(rows.sum())} of {len(rows)} rows, the first in row "
                f"{int(rows.argmax())}; pass the other rows only"
            )
    try:
        array = np.asarray(points)
        if array.dtype == object or array.dtype.kind not in "fiub":
            raise TypeError
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an (m, n) array of numbers, got {_describe(points)}") from None
    if array.ndim != 2:
        raise ValueError(f"{name} must have shape (m, n), m points in n dimensions, got shape {array.shape}")
    m, n = array.shape
    if n == 0:
        raise ValueError(f"{name} must have at least one coordinate per point, got shape {array.shape}")
    if m == n > MOST_DIMENSIONS and array.dtype.kind in "iub":
        raise ValueError(
            f"{name} is a square array {array.shape} of {array.dtype}, which looks like an image; if it is "
            f"{m} points in {n} dimensions, pass floats"
        )
    array = np.ascontiguousarray(array, dtype=np.float64)
    # The corners of the box are finite only if all points are; most clouds need no second look.
    low, high = corners(array)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        bad = ~np.isfinite(array)
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"{name} has {array[row, column]} in row {row}, column {column} "
            f"({int(bad.any(axis=1).sum())} of {m} rows are not finite)"
        )
    check_dimension(m, n, name)
    if m in (2, 3) and n >= 10:
        warnings.warn(
            f"{name} has shape ({m}, {n}), read as {m} points in {n} dimensions; "
            f"if it is {n} points in {m} dimensions, pass its transpose",
            HeatFieldWarning,
            stacklevel=3,
        )
    check_extent(low, high, name, least=LEAST_LENGTH)
    return array


class OutOfRangeError(ValueError):
    """Numbers of one cloud that leave the declared range; ``problem`` is the message without its name."""

    def __init__(self, problem: str, cloud: int | None = None) -> None:
        super().__init__(problem if cloud is None else f"clouds[{cloud}]: {problem}")
        self.problem, self.cloud = problem, cloud


def corners(points: Array) -> tuple[Array, Array]:
    """The box around points (m, n): its lowest and highest corner, both 0 where there are none."""
    if len(points) == 0:
        return np.zeros(points.shape[1]), np.zeros(points.shape[1])
    return points.min(axis=0), points.max(axis=0)


def check_extent(low: Array, high: Array, name: str = "points", least: float = 0.0) -> None:
    """The corners of points that span a length of the declared range, or nothing."""
    with np.errstate(over="ignore"):
        extent = float((high - low).max())
    if extent > 0.0 and not least < extent < GREATEST_LENGTH:
        raise OutOfRangeError(f"{name} spans {extent:.3g}; change the unit so that it lies between {LENGTHS}")


def time_range(m: Any, n: int, *, single: bool = False, energy: bool = True) -> tuple[Any, float]:
    """Least (by the points m, a number or an array) and greatest time at which `check_times` is content."""
    greatest = GREATEST_SINGLE_POWER if single else GREATEST_POWER
    power = 1.0 / max(0.5 * n + energy, 1.0)  # in one dimension t itself must be a number too
    least = (np.maximum(m, 1.0) ** (1 + energy) / greatest) ** power / (4.0 * np.pi)
    return least, greatest**power / (4.0 * np.pi)


def check_times(times: Array, m: int, n: int, *, single: bool = False, energy: bool = True) -> None:
    """Diffusion times at which densities and energies of m points are numbers of the results' precision.

    The density has the factor (4 pi t)**(-n/2), the Dirichlet energy, a sum over m**2 pairs, 1/t more.
    ``single``: results are in single precision; without ``energy`` only densities are asked for.
    """
    least, most = time_range(m, n, single=single, energy=energy)
    low, high = float(times.min()), float(times.max())
    if not least <= low <= high <= most:
        raise OutOfRangeError(
            f"diffusion times from {low:.3g} to {high:.3g}: in {n} dimensions the heat density leaves the "
            f"range of {'single' if single else 'double'} precision; change the unit of length so that "
            f"sqrt(t) lies between {np.sqrt(least):.3g} and {np.sqrt(most):.3g}"
        )


def check_dimension(m: int, n: int, name: str) -> None:
    """Fewer points than dimensions, and many of these, is a table that lies on its side."""
    if 0 < m < n and n > 16:
        raise ValueError(
            f"{name} has shape ({m}, {n}): {m} points in {n} dimensions; more than 16 dimensions need "
            f"at least as many points. If it is {n} points in {m} dimensions, pass its transpose"
        )


# What may stand around x, y, z in the name of a column: "Position X [nm]", "coord_x", "x_um", "X (µm)".
_COORDINATE = re.compile(
    r"(?P<prefix>(?:position|pos|coordinates?|coords?|location|loc|points?)[ _.:-]*)?(?P<axis>[xyz])"
    r"(?P<suffix>[ _.-]?(?:position|pos|coordinate|coord))?"
    r"(?:\s*[\[(](?P<unit>[^\[\]()]{0,20})[\])]|"
    r"[ _](?P<bare>[nuµμmck]?m|px|pix|pixels?|voxels?|angstrom|[åÅ]))?",
    re.I,
)


def find_coordinates(names: Sequence[str]) -> list[int]:
    """Where x, y, z (in any case, also with a prefix or a unit) or x0, x1, ... stand; empty if they do not.

    Examples
    --------
    >>> find_coordinates(["t", "Position Y [nm]", "Position X [nm]"]), find_coordinates(["x0", "y0", "x1"])
    ([2, 1], [])
    """
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        first.setdefault(name.strip().lower(), i)
    plain = _axes(first)
    if plain:
        return plain
    numbered: list[int] = []
    while f"x{len(numbered)}" in first:
        numbered.append(first[f"x{len(numbered)}"])
    if numbered:  # x0, y0, x1, y1 are several points in one row
        return [] if first.keys() & {"y0", "y1"} else numbered
    forms: dict[tuple[str, str], dict[str, int]] = {}
    units: dict[tuple[str, str], set[str]] = {}
    for name, i in first.items():
        found = _COORDINATE.fullmatch(name)
        if found is not None:
            form = ((found["prefix"] or "").strip(" _.:-"), (found["suffix"] or "").strip(" _.-"))
            forms.setdefault(form, {}).setdefault(found["axis"].lower(), i)
            units.setdefault(form, set()).add((found["unit"] or found["bare"] or "").strip())
    for form, axes in forms.items():
        if _axes(axes):
            return _axes(axes) if len(units[form]) == 1 else []
    return []


def _axes(first: dict[str, int]) -> list[int]:
    """The columns of x, y, z, of x, y, or of x alone."""
    plain = [first[c] for c in "xyz" if c in first]
    whole = len(plain) == 3 or ("x" in first and ("y" in first or "z" not in first))
    return plain if whole else []


def as_clouds(clouds: Any, name: str = "clouds") -> list[Array]:
    """A list of (m_i, n) arrays with one n; every complaint names the cloud by its index."""
    if isinstance(clouds, (str, bytes, os.PathLike)):
        raise ValueError(f"{name} is {_describe(clouds)}: files are read by heatfield.read_points(path)")
    held = coordinates_of(clouds)
    if held is not clouds and getattr(clouds, "ndim", None) is None:
        raise ValueError(
            f"{name} must be a list of clouds, got one {type(clouds).__name__}; for a single cloud pass [it]"
        )
    if isinstance(clouds, Iterator):
        clouds = list(clouds)
    if not hasattr(clouds, "__len__"):
        raise ValueError(f"{name} must be a list of (m, n) arrays, got {_describe(clouds)}")
    # One array, data frame or tensor; an array of objects is a list of clouds.
    if getattr(clouds, "ndim", 0) == 2 and getattr(getattr(clouds, "dtype", None), "kind", "") != "O":
        kind = "array" if isinstance(clouds, np.ndarray) else type(clouds).__name__
        raise ValueError(
            f"{name} must be a list of (m, n) arrays, got one {kind} "
            f"of shape {tuple(clouds.shape)}; "
            "for a single cloud pass [points]"
        )
    if len(clouds) == 0:
        raise ValueError(f"{name} is empty: at least one cloud is needed")
    checked = [as_points(cloud, f"{name}[{i}]") for i, cloud in enumerate(clouds)]
    n = checked[0].shape[1]
    for i, cloud in enumerate(checked):
        if cloud.shape[1] != n:
            raise ValueError(
                f"{name}[{i}] has {cloud.shape[1]} coordinates per point, {name}[0] has {n}; all must agree"
            )
    return checked


def as_scales(scales: ArrayLike, m: int, name: str = "scales") -> Array:
    """Diffusion times as (1, T) or, where every point has its own, (m, T)."""
    try:
        array = np.asarray(scales, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {_describe(scales)}") from None
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[0] != m):
        raise ValueError(
            f"{name} must have shape (T,) or (m, T) with m = {m} points, got shape {array.shape}"
        )
    table = np.ascontiguousarray(np.atleast_2d(array))
    if table.shape[1] == 0:
        raise ValueError(f"{name} is empty: at least one diffusion time is needed")
    bad = ~(np.isfinite(table) & (table > 0))
    if bad.any():
        index = np.argwhere(bad)[0]
        where = f"{name}[{index[1]}]" if array.ndim == 1 else f"{name}[{index[0]}, {index[1]}]"
        raise ValueError(f"{name} must be positive and finite, got {where} = {table[tuple(index)]}")
    falling = (np.diff(table, axis=1) <= 0).any(axis=1)
    if falling.any():
        row = int(falling.argmax())
        where = "" if array.ndim == 1 else f"row {row}: "
        shown = np.array2string(table[row], precision=4, threshold=12)
        raise ValueError(f"{name} must increase, got {where}{shown}")
    return table


def check_count(value: Any, name: str, least: int) -> int:
    """An integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value)


def check_range(c_min: Any, c_max: Any) -> tuple[float, float]:
    """The multipliers of the schedule: 0 < c_min < c_max."""
    try:
        low, high = float(c_min), float(c_max)
    except (TypeError, ValueError):
        low = high = np.nan
    if not (0.0 < low < high < np.inf):
        raise ValueError(f"c_min and c_max must satisfy 0 < c_min < c_max, got {c_min!r} and {c_max!r}")
    return low, high


def as_lengths(lengths: object, least: int = 1) -> tuple[float, ...] | None:
    """Lengths sqrt(t) in the unit of the points: positive, increasing, at least so many; None stays None.

    Examples
    --------
    >>> as_lengths([0.1, 1])
    (0.1, 1.0)
    """
    if lengths is None:
        return None
    try:
        found = np.asarray(lengths, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty((0, 0))
    if found.ndim != 1 or not ((found > 0.0) & (found < np.inf)).all():
        raise ValueError(f"lengths must be a list of positive numbers, got {lengths!r}")
    if found.size < least:
        raise ValueError(f"lengths must hold at least {least}, got {lengths!r}")
    if (np.diff(found) <= 0.0).any():
        raise ValueError(f"lengths must increase, got {lengths!r}")
    if not LEAST_LENGTH < found[0] <= found[-1] < GREATEST_LENGTH:
        raise ValueError(f"lengths must lie between {LENGTHS}, got {lengths!r}")
    return tuple(found.tolist())


def check_number(
    value: Any,
    name: str,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
) -> float:
    """A finite number within bounds."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    inside = number and np.isfinite(value) and (above is None or value > above)
    if not inside or (least is not None and value < least) or (below is not None and value >= below):
        bounds = [
            f"{words} {bound:g}"
            for words, bound in (("above", above), ("of at least", least), ("below", below))
            if bound is not None
        ]
        raise ValueError(f"{name} must be a number {' and '.join(bounds)}, got {value!r}")
    return float(value)


def check_choice(value: Any, name: str, choices: Sequence[str]) -> str:
    """One of a few words."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return str(value)


def check_dtype(dtype: Any) -> np.dtype[Any]:
    """float64 or float32."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise ValueError(f"dtype must be 'float64' or 'float32', got {dtype!r}")
    return found


# Below these, rounding alone may break the promise.
LEAST_TOL = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 1e-5}


def check_tol(tol: Any, dtype: np.dtype[Any]) -> float:
    """A tolerance within reach of the precision; None is 1e-6, or 1e-5 in single precision."""
    least = LEAST_TOL[dtype]
    if tol is None:
        return max(1e-6, least)
    check_number(tol, "tol", above=0, below=1)
    if tol < least:
        raise ValueError(f"tol={tol:g} is out of reach in {dtype}: at least {least:g}")
    return float(tol)


def check_targets(targets: Any, m: int, n: int) -> np.ndarray | None:
    """Indices (q,) into the cloud, or places (q, n); None for all points."""
    if targets is None:
        return None
    array = np.asarray(targets)
    if array.ndim == 2:
        places = as_points(array, "targets")
        if places.shape[1] != n:
            raise ValueError(f"targets must have {n} coordinates like the points, got shape {array.shape}")
        return places
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"targets must be indices (q,) of points or places (q, {n}), "
            f"got {array.dtype} of shape {array.shape}"
        )
    bad = (array < 0) | (array >= m)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"targets[{row}] = {array[row]} is not an index of {m} points")
    return array.astype(np.int64)


def thread_count(n_jobs: Any) -> int:
    """n_jobs as in scikit-learn: None is 1, -1 all cores that this process may use."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be a positive integer, -1 for all cores, or None for one, got {n_jobs!r}"
        )
    if n_jobs > 0:
        return int(n_jobs)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return max(1, cores + 1 + int(n_jobs))


def _describe(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


# --- warnings ------------------------------------------------------------------------

# How modules begin that are not the caller's: scikit-learn wraps `transform` and `fit_transform`.
_INNER = (__name__.partition(".")[0], "sklearn")
_changing = threading.Lock()
_inside: list[warnings.catch_warnings] = []


def warn_caller(message: str) -> None:
    """Warn at the first line outside of this library, however deep inside it something was noticed."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_INNER):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, HeatFieldWarning, stacklevel=level)


@contextmanager
def quiet(category: type[Warning] = HeatFieldWarning) -> Iterator[None]:
    """No warnings of a category in the block, which several threads may be in at a time.

    Filters belong to the whole process: they are as before when the last thread leaves.
    """
    with _changing:
        _inside.append(_inside[0] if _inside else warnings.catch_warnings())
        if len(_inside) == 1:
            _inside[0].__enter__()
        warnings.simplefilter("ignore", category)
    try:
        yield
    finally:
        with _changing:
            before = _inside.pop()
            if not _inside:
                before.__exit__(None, None, None)
