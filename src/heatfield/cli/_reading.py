"""How files become points: the options that several verbs share, and reading that survives bad files."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._base.check import Array

# Points that stand for a skeleton where neither --budget nor --nodes is given.
SKELETON_POINTS = 1024


def skeleton_words(files: Sequence[str], reading: dict[str, Any]) -> str:
    """How skeletons among the files are read, "" where there are none."""
    names = [file.lower().removesuffix(".gz") for file in files]
    if not any(name.endswith(".swc") for name in names):
        return ""
    if reading["skeleton"] == "nodes":
        return "skeletons: their nodes as they are"
    if reading["budget"] is not None and reading["sampling"] != "auto":
        return f"skeletons: at most {reading['budget']} of their nodes"
    count = reading["budget"] or reading["skeleton"]
    return f"skeletons: {count} points each, even by arc length (--nodes takes their nodes)"


def add_reading(
    parser: argparse.ArgumentParser,
    *,
    seed: str = "seed of the sampling, mixed with each file's name",
    budget: int | None = None,
) -> None:
    """Options of reading: those of `read_cloud`. ``seed`` is its help, ``budget`` its default."""
    parser.add_argument(
        "--budget", type=int, default=budget, metavar="M",
        help=f"at most M points per cloud (default: {'all' if budget is None else budget})",
    )  # fmt: skip
    parser.add_argument(
        "--sampling", choices=("auto", "random", "farthest", "voxel"), default="auto",
        help="how to choose them; auto: by length on skeletons, by area on meshes, else at random",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N", help=f"{seed} (default 0)")
    parser.add_argument("--atoms", default="CA", help="of molecules: CA, all, or names such as N,CA,C")
    parser.add_argument("--chain", help="of molecules: one chain")
    parser.add_argument("--soma", choices=("keep", "drop"), default="keep", help="of neurons: the cell body")
    parser.add_argument(
        "--nodes", action="store_true",
        help=f"of neurons: the nodes as they are (default: {SKELETON_POINTS} points, even by arc length)",
    )  # fmt: skip
    parser.add_argument(
        "--drop-invalid", action="store_true", help="leave out points that are NaN or infinite"
    )

    parser.add_argument(
        "--max-bytes", type=int, metavar="N", help="the most a file may unpack to (default: by its size)"
    )
    parser.add_argument(
        "--dims", type=int, metavar="N", help="coordinates of a point (default: as in most of the files)"
    )


def reading_options(options: argparse.Namespace) -> dict[str, Any]:
    """As arguments of `read_cloud`."""
    from .._base.check import check_count

    given = ((options.budget, "--budget"), (options.max_bytes, "--max-bytes"), (options.dims, "--dims"))
    for value, name in given:
        if value is not None:
            check_count(value, name, 1)
    return {
        "budget": options.budget,
        "sampling": options.sampling,
        "seed": options.seed,
        "atoms": options.atoms.split(",") if "," in options.atoms else options.atoms,
        "chain": options.chain,
        "soma": options.soma,
        "skeleton": "nodes" if options.nodes else SKELETON_POINTS,
        "invalid": "drop" if options.drop_invalid else "raise",
        "max_bytes": options.max_bytes,
        "dims": options.dims,
    }


def saved_reading(notes: dict[str, Any], place: Any) -> dict[str, Any]:
    """How files are read, as a model or an index notes it: options of `read_cloud`, or a ValueError."""
    import inspect

    from ..io import read_cloud

    reading = notes.get("reading", {})
    known = {*inspect.signature(read_cloud).parameters} - {"path"}
    if not isinstance(reading, dict) or not known.issuperset(reading):
        raise ValueError(f"{str(place)!r} says how to read files, but not as options: {reading!r}")
    return reading


def file_problem(error: Exception) -> tuple[str, str]:
    """Where in a file and what, from whatever reading it has thrown, in the words of the command line."""
    from ..io import ReadError
    from ._words import in_command_words

    place, text = (error.place, error.problem) if isinstance(error, ReadError) else ("", str(error))
    if not isinstance(error, (OSError, ValueError)):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return place, in_command_words(" ".join(text.split())) or type(error).__name__


def printable(name: str) -> str:
    """A file name that is not UTF-8, with a mark in place of what cannot be shown."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def read_clouds(
    files: list[str],
    reading: dict[str, Any],
    *,
    n_dims: int | None = None,
    quiet: bool = False,
    keep: bool = False,
) -> tuple[dict[int, Array], list[tuple[str, str, str]]]:
    """Clouds by the position of their file, and file, place and problem of those that cannot be used.

    The dimension is that of most files, unless ``n_dims`` or the option --dims says it.
    """
    import warnings

    from .._base.check import HeatFieldWarning, as_points
    from .._base.progress import progress_bar
    from ..io import read_cloud

    clouds: dict[int, Array] = {}
    errors: list[tuple[str, str, str]] = []
    for i, file in enumerate(progress_bar(files, unit="files", quiet=quiet, keep=keep)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", HeatFieldWarning)
                points = as_points(read_cloud(file, **reading).points)
            if len(points) == 0:
                raise ValueError("it holds no points")
            if (points == points[0]).all():
                raise ValueError("it has fewer than two distinct points, so nothing is known of it")
            clouds[i] = points
        except Exception as error:  # whatever a file does, it costs that file only
            errors.append((file, *file_problem(error)))
    found = [cloud.shape[1] for cloud in clouds.values()]
    asked = n_dims or reading.get("dims")
    expected = asked or most_common(found)
    for i in [i for i, cloud in clouds.items() if cloud.shape[1] != expected]:
        errors.append((files[i], "", other_dimension(clouds.pop(i).shape[1], expected, bool(asked))))
    order = {file: i for i, file in enumerate(files)}
    return clouds, sorted(errors, key=lambda row: order[row[0]])


def most_common(dims: Sequence[int]) -> int:
    """The dimension of most clouds, the smaller among equals; 3 where there is none."""
    return min(Counter(dims).items(), key=lambda item: (-item[1], item[0]))[0] if dims else 3


def other_dimension(found: int, expected: int, fixed: bool = False) -> str:
    """What is said of a file that does not fit the others; ``fixed``: a model or --dims sets the number."""
    if fixed:
        return f"its points have {found} coordinates, {expected} are expected"
    return (
        f"its points have {found} coordinates where most files have {expected}; "
        f"--dims {found} takes it instead"
    )
