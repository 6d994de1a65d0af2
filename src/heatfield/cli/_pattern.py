"""``heatfield pattern``: one file of points in, whether it is clustered, regular or random out."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._reading import add_reading, reading_options

if TYPE_CHECKING:
    from .._base.check import Array


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("file", metavar="FILE", help="a file of points in the plane or in space")
    parser.add_argument(
        "--window", metavar="X0,Y0,X1,Y1",
        help="corners of the rectangle or box in which it was observed (default: the bounding box)",
    )  # fmt: skip
    parser.add_argument("--polygon", metavar="FILE", help="vertices of a polygon instead, a file of points")
    parser.add_argument(
        "--simulations", type=int, default=999, metavar="S", help="simulated patterns (default 999)"
    )
    parser.add_argument(
        "--distances", metavar="R,R,...", help="distances to look at (default: 24, by window and number)"
    )
    parser.add_argument(
        "--lengths", metavar="A,B,..",
        help="instead: lengths √t, of which a distance is twice, in the unit of the data",
    )  # fmt: skip
    parser.add_argument(
        "--intensity", metavar="FILE",
        help="a table x,y,value: test against this density, which is that of the nearest row",
    )  # fmt: skip
    parser.add_argument(
        "--statistic", choices=("both", "response", "pairs"), default="both", help="the curves (default both)"
    )
    parser.add_argument("--level", type=float, default=0.05, metavar="A", help="of the test (default 0.05)")
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="the result, a .json")
    parser.add_argument("--plot", type=Path, metavar="PICTURE", help="the curves, a .png or .svg")
    add_reading(parser, seed="of the simulations and of sampling")
    parser.add_argument("--jobs", type=int, default=-1, help="threads (default: all cores)")
    parser.add_argument("--quiet", action="store_true", help="say nothing")


def run(options: argparse.Namespace) -> int:
    """0: tested. 1: the file cannot be read. 2: nothing could start."""
    from .._base.check import check_count, thread_count
    from .._base.files import write_atomically
    from ..io import ReadError, read_cloud
    from ..io._point_signatures import coordinate_unit
    from ..patterns import envelope_test
    from ._ours import is_picture, json_with
    from ._reading import printable
    from ._words import in_command_words

    _check_target(
        options.out, "--out", (".json",), json_with("verdict", "p", "curves"), "a result of this command"
    )
    _check_target(options.plot, "--plot", (".png", ".svg"), is_picture, "a picture of this library")
    if options.plot is not None:
        from ..plot._style import pyplot

        pyplot().switch_backend("Agg")  # files only; without matplotlib this says how to install it
    check_count(options.simulations, "--simulations", 1)
    check_count(options.seed, "--seed", 0)
    if not 0.0 < options.level < 1.0:
        raise ValueError(f"--level must lie between 0 and 1, got {options.level:g}")
    if options.window and options.polygon:
        raise ValueError("--window and --polygon exclude each other")
    if options.distances is not None and options.lengths is not None:
        raise ValueError("--distances are twice the --lengths: give one of the two")
    distances = None if options.distances is None else _numbers(options.distances, "--distances")
    lengths = None if options.lengths is None else _numbers(options.lengths, "--lengths")
    reading = reading_options(options)
    window = _window(options)
    intensity = None if options.intensity is None else _intensity(options.intensity)
    try:
        cloud = read_cloud(options.file, **reading)
    except ReadError as error:
        print(f"heatfield pattern: {printable(in_command_words(str(error)))}", file=sys.stderr)
        return 1
    result = envelope_test(
        cloud.points,
        window,
        simulations=options.simulations,
        distances=distances,
        lengths=lengths,
        intensity=intensity,
        statistic=options.statistic,
        level=options.level,
        random_state=options.seed,
        n_jobs=thread_count(options.jobs),
    )
    if options.out is not None:
        write_atomically(options.out, (json.dumps(result.as_dict(), indent=1) + "\n").encode())
    if options.plot is not None:
        _write_plot(options.plot, result, coordinate_unit(cloud))
    if not options.quiet:
        print(result)
        if result.ranges:
            unit = coordinate_unit(cloud)
            print("a distance is 2√t" + (f", in {unit}" if unit else ""))
        for path in (options.out, options.plot):
            if path is not None:
                print(f"-> {path}")
    return 0


def _check_target(path: Path | None, option: str, suffixes: tuple[str, ...], ours: Any, what: str) -> None:
    from ._ours import may_replace

    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{option} must end in {' or '.join(suffixes)}, got {str(path)!r}")
    if not path.parent.is_dir():
        raise ValueError(f"cannot write {str(path)!r}: no such folder")
    may_replace(path, ours, what)


def _numbers(text: str, option: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{option} must be numbers with commas between them, got {text!r}") from None


def _window(options: argparse.Namespace) -> Any:
    from ..io import read_points
    from ..patterns import Box, Polygon

    if options.polygon:
        return Polygon(read_points(options.polygon))
    if not options.window:
        return None
    values = _numbers(options.window, "--window")
    if len(values) not in (4, 6):
        raise ValueError(f"--window must be 4 numbers in the plane or 6 in space, got {len(values)}")
    half = len(values) // 2
    return Box(values[:half], values[half:])


def _intensity(path: str) -> Any:
    """A function that takes the value of the nearest row of a table."""
    import numpy as np
    from scipy.spatial import cKDTree

    from ..io import read_cloud

    cloud = read_cloud(path)
    places = cloud.points
    if len(cloud.columns) == 1:
        values = np.asarray(next(iter(cloud.columns.values())), dtype=float)
    elif not cloud.columns and places.shape[1] == 3:  # x, y, value without names
        places, values = places[:, :2], places[:, 2]
    else:
        raise ValueError(
            f"--intensity {path!r} must have the coordinates and one more column, "
            f"got {places.shape[1]} coordinates and {sorted(cloud.columns)}"
        )
    if len(places) == 0:
        raise ValueError(f"--intensity {path!r} holds no rows")
    tree = cKDTree(places)

    def nearest(at: Array) -> Array:
        return values[tree.query(at)[1]]

    return nearest


def _write_plot(path: Path, result: Any, unit: str) -> None:
    from .._base.files import write_atomically
    from ..plot import pattern_envelope
    from ..plot._style import as_image

    kind = path.suffix.lower()[1:]
    write_atomically(path, as_image(pattern_envelope(result, unit=unit or None), kind, dpi=120))
