"""`pattern_test`: a file of points in, whether it is clustered, regular or random out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import __version__
from .._base.check import Array
from .._base.files import write_atomically
from .._base.progress import show_progress
from ..io import read_cloud, read_points
from ..io.write import coordinate_unit
from ..options import Local, Pattern, Reading, takes
from ..patterns import Box, PatternTest, Polygon, envelope_test
from .files import PathLike, check_out


@takes(Pattern, Reading, Local)
def pattern_test(
    points: PathLike | ArrayLike,
    window: Box | Polygon | Sequence[float] | PathLike | None = None,
    *,
    intensity: Callable[[Array], Any] | PathLike | None = None,
    out: PathLike | None = None,
    plot: PathLike | None = None,
    pattern: Pattern,
    reading: Reading,
    local: Local,
) -> PatternTest:
    """Test whether points are clustered, regular or random, and at which distances: see `envelope_test`.

    Guide: ``heatfield docs guide/patterns``.

    Parameters
    ----------
    points : path-like or (m, n) array
        In the plane or in space.
    window : Box, Polygon, numbers, or path-like, optional
        Where the pattern was observed: a window, the corners X0,Y0,X1,Y1 of a rectangle (six numbers for a
        box), or a file with the vertices of a polygon. By default the bounding box.
    intensity : callable or path-like, optional
        Test against this density instead of a constant one: a function of places, or a table x,y,value of
        which the nearest row counts.
    out : path-like, optional
        Where the result is written as well, a file .json.
    plot : path-like, optional
        A picture of the curves, a file .png or .svg.
    {options}

    Returns
    -------
    result : PatternTest
        Printed, a few lines.

    Examples
    --------
    >>> import heatfield as hf, numpy as np
    >>> points = np.random.default_rng(0).random((40, 2))
    >>> hf.pattern_test(points, [0, 0, 1, 1], simulations=39).verdict
    'random'
    """
    target = None if out is None else check_out(out, ".json")
    picture = None if plot is None else check_out(plot, ".png", ".svg", name="plot")
    if picture is not None:
        from ..plot._style import pyplot

        pyplot()  # without matplotlib this says how to install it
    chosen = _window(window)
    density = _density(intensity) if isinstance(intensity, str | os.PathLike) else intensity
    unit = ""
    if isinstance(points, str | os.PathLike):
        cloud = read_cloud(points, **vars(reading))
        points, unit = cloud.points, coordinate_unit(cloud)
    with show_progress(local.progress):
        result = envelope_test(points, chosen, intensity=density, n_jobs=local.n_jobs, **vars(pattern))
    if target is not None:
        found = {"heatfield": __version__, "unit": unit, **result.as_dict()}
        write_atomically(target, (json.dumps(found, indent=1) + "\n").encode())
    if picture is not None:
        from ..plot import pattern_envelope
        from ..plot._style import as_image

        drawn = pattern_envelope(result, unit=unit or None)
        write_atomically(picture, as_image(drawn, picture.suffix.lower()[1:], dpi=120))
    return result


def _window(window: Any) -> Box | Polygon | None:
    if window is None or isinstance(window, Box | Polygon):
        return window
    if isinstance(window, str | os.PathLike):
        return Polygon(read_points(window))
    corners = np.asarray(window, dtype=float)
    if corners.shape not in ((4,), (6,)):
        raise ValueError(f"window must be 4 numbers in the plane or 6 in space, got {window!r}")
    return Box(*np.split(corners, 2))


def _density(path: PathLike) -> Callable[[Array], Array]:
    """A function that takes the value of the nearest row of a table."""
    from scipy.spatial import cKDTree

    cloud = read_cloud(path)
    places = cloud.points
    if len(cloud.columns) == 1:
        values = np.asarray(next(iter(cloud.columns.values())), dtype=float)
    elif not cloud.columns and places.shape[1] == 3:  # x, y, value without names
        places, values = places[:, :2], places[:, 2]
    else:
        raise ValueError(
            f"intensity {str(path)!r} must have the coordinates and one more column, "
            f"got {places.shape[1]} coordinates and {sorted(cloud.columns)}"
        )
    if len(places) == 0:
        raise ValueError(f"intensity {str(path)!r} holds no rows")
    tree = cKDTree(places)
    return lambda at: values[tree.query(at)[1]]
