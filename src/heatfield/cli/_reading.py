"""How files become points: the options that several verbs share, and reading that survives bad files."""

from __future__ import annotations

import argparse
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
    files: list[str], reading: dict[str, Any], *, n_dims: int | None = None, quiet: bool = False
) -> tuple[dict[int, Array], list[tuple[str, str, str]]]:
    """Clouds by the position of their file, and file, place and problem of those that cannot be used.

    The first file that can be read sets the dimension, unless ``n_dims`` does.
    """
    import warnings

    from .._base.check import HeatFieldWarning, as_points
    from .._base.progress import progress_bar
    from ..io import ReadError, read_cloud

    clouds: dict[int, Array] = {}
    errors: list[tuple[str, str, str]] = []
    for i, file in enumerate(progress_bar(files, unit="files", quiet=quiet)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", HeatFieldWarning)
                points = as_points(read_cloud(file, **reading).points)
            n_dims = n_dims or points.shape[1]
            if points.shape[1] != n_dims:
                raise ValueError(f"its points have {points.shape[1]} coordinates, {n_dims} are expected")
            if len(points) == 0:
                raise ValueError("it holds no points")
            if (points == points[0]).all():
                raise ValueError("it has fewer than two distinct points, so nothing is known of it")
            clouds[i] = points
        except ReadError as error:
            errors.append((file, error.place, error.problem))
        except (ValueError, MemoryError) as error:
            errors.append((file, "", str(error) or type(error).__name__))
    return clouds, errors
