"""Files described for a page or an index: descriptors, labels and thumbnails, and what could not be used."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import Array
from ._dictionary import facts_of
from ._parts import parts_of
from ._prices import prices_of_task, worth_measuring
from ._reading import most_common, other_dimension
from ._run_shards import plan, run_all
from ._shards import Settings, load_shard


@dataclass(frozen=True)
class Described:
    """Descriptors of the files that could be used, and file, place and problem of the others."""

    files: list[str]
    counts: NDArray[np.int64]  # (N, 3): points in the file, points described, dimension
    features: Array
    dims: int
    broken: list[tuple[str, str, str]]
    lengths: Array  # (N, T): sqrt(t) of the scales of each cloud


def describe_files(
    files: list[str],
    descriptor: dict[str, Any],
    reading: dict[str, Any],
    *,
    out: Path,
    workers: int,
    quiet: bool,
    dims: int | None = None,
) -> Described:
    """Read and describe every file; shards are kept beside ``out`` until it is written.

    The dimension is ``dims``, that of the option --dims, or that of most files.
    """
    prices = asdict(prices_of_task(parts_of(out), worth_measuring(files, reading)))
    shards = plan(files, Settings(descriptor, reading, prices=prices), parts_of(out), 32, None, out)
    run_all(shards, workers, quiet)
    results = [result for shard in shards if (result := load_shard(shard.path, len(shard.files))) is not None]
    counts = np.concatenate([result.counts for result in results])
    if len(counts) != len(files):
        raise ValueError("files changed while they were described; run the command again")
    features = [row for result in results for row in result.features]
    problems = [problem for result in results for problem in result.problems]
    read = counts[counts[:, 2] >= 0, 2]
    if len(read) == 0:
        raise ValueError(f"none of the {len(files)} files can be read; {files[0]!r}: {problems[0][1]}")
    asked = dims or reading["dims"]
    expected = asked or most_common(read.tolist())
    broken, good = [], []
    for i, file in enumerate(files):
        place, problem = problems[i]
        if not problem and counts[i, 2] != expected:
            problem = other_dimension(int(counts[i, 2]), expected, fixed=bool(asked))
        elif not problem and np.isnan(features[i]).all():
            problem = "it has fewer than two distinct points"
        if problem:
            broken.append((file, place, problem))
        else:
            good.append(i)
    if not good:
        raise ValueError(f"none of the {len(files)} files can be used; {broken[0][0]!r}: {broken[0][2]}")
    extents = np.concatenate([result.extents for result in results])[good]
    schedule = {"n_scales": 8, "c_min": 0.05, "c_max": 0.25, "lengths": None} | descriptor
    facts = facts_of(extents, schedule, None)
    lengths = np.stack([column for name, column in facts.items() if name.startswith("length_s")], axis=1)
    table = np.array([features[i] for i in good])
    return Described([files[i] for i in good], counts[good], table, expected, broken, lengths)


def sketches_of(files: list[str], reading: dict[str, Any], quiet: bool) -> tuple[list[Array], str]:
    """A few points of each file for its thumbnail; and the unit of all files, "" where they have none."""
    from .._base.progress import progress_bar
    from .._search.sketch import sketch
    from ..io import read_cloud
    from ..io._point_signatures import coordinate_unit

    drawn, units = [], set()
    for file in progress_bar(files, unit="thumbnails", quiet=quiet, keep=True):
        cloud = read_cloud(file, **{**reading, "budget": 160})
        drawn.append(sketch(cloud.points))
        units.add(coordinate_unit(cloud))
    return drawn, units.pop() if len(units) == 1 else ""
