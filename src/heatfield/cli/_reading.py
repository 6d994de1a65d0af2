"""How files become points: the options that several verbs share, and reading that survives bad files."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._base.check import Array


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
        "--drop-invalid", action="store_true", help="leave out points that are NaN or infinite"
    )


def add_dims(parser: argparse.ArgumentParser) -> None:
    """The option for the dimension of a collection."""
    parser.add_argument(
        "--dims", type=_dimension, metavar="N",
        help="only files whose points have N coordinates (default: as many as those of most files)",
    )  # fmt: skip


def _dimension(word: str) -> int:
    if not word.isascii() or not word.isdigit() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"must be a number from 1 on, got {word!r}")
    return int(word)


def common_dimension(found: Iterable[int]) -> int:
    """The most frequent dimension, of several the largest; 3 where there is none.

    Examples
    --------
    >>> common_dimension([2, 3, 3, 2, 5])
    3
    """
    counts = Counter(found)
    return max(counts, key=lambda n: (counts[n], n), default=3)


def other_dimension(found: int, wanted: int, *, chosen: bool) -> str:
    """Why a file of another dimension is not used."""
    why = f"{wanted} are expected" if chosen else f"most files have {wanted}; choose with --dims"
    return f"its points have {found} coordinates, {why}"


def reading_options(options: argparse.Namespace) -> dict[str, Any]:
    """As arguments of `read_cloud`."""
    from .._base.check import check_count

    if options.budget is not None:
        check_count(options.budget, "--budget", 1)
    return {
        "budget": options.budget,
        "sampling": options.sampling,
        "seed": options.seed,
        "atoms": options.atoms.split(",") if "," in options.atoms else options.atoms,
        "chain": options.chain,
        "soma": options.soma,
        "invalid": "drop" if options.drop_invalid else "raise",
    }


def read_clouds(
    files: list[str],
    reading: dict[str, Any],
    *,
    n_dims: int | None = None,
    quiet: bool = False,
    keep: bool = False,
) -> tuple[dict[int, Array], list[tuple[str, str, str]]]:
    """Clouds by the position of their file, and file, place and problem of those that cannot be used.

    The dimension is that of most files, unless ``n_dims`` sets it.
    """
    import warnings

    from .._base.check import HeatFieldWarning, as_points
    from .._base.progress import progress_bar
    from ..io import ReadError, read_cloud

    read: dict[int, Array] = {}
    problems: dict[int, tuple[str, str]] = {}
    for i, file in enumerate(progress_bar(files, unit="files", quiet=quiet, keep=keep)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", HeatFieldWarning)
                points = as_points(read_cloud(file, **reading).points)
            if len(points) == 0:
                raise ValueError("it holds no points")
            if (points == points[0]).all():
                raise ValueError("it has fewer than two distinct points, so nothing is known of it")
            read[i] = points
        except ReadError as error:
            problems[i] = (error.place, error.problem)
        except Exception as error:  # one file, whatever it does to a reader, must not end the others
            problems[i] = ("", problem_of(error))
    dims = n_dims or common_dimension(points.shape[1] for points in read.values())
    for i, points in read.items():
        if points.shape[1] != dims:
            problems[i] = ("", other_dimension(points.shape[1], dims, chosen=n_dims is not None))
    clouds = {i: points for i, points in read.items() if i not in problems}
    return clouds, [(files[i], *problems[i]) for i in sorted(problems)]


def problem_of(error: Exception) -> str:
    """What an error says; with its kind where that is not a complaint of ours."""
    text = str(error)
    return text if text and isinstance(error, ValueError) else f"{type(error).__name__}: {text}".rstrip(": ")
