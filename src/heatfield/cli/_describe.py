"""``heatfield describe``: files in, a table of features out; stopped at any time, it goes on where it was."""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ._dictionary import dictionary_path, facts_of, write_dictionary
from ._ours import is_dictionary, is_errors, is_metadata, may_replace
from ._parts import clear_parts, parts_of
from ._reading import add_reading, most_common, other_dimension, reading_options, skeleton_words
from ._scales import add_scales, scale_options
from ._survey import add_cluster

if TYPE_CHECKING:
    from ._shards import Result, Settings

_VARIANTS = ("simple", "desc", "joint")
_MARK = ".heatfield-points"
_POINT_SUFFIXES = ("ply", "las", "laz", "parquet", "csv", "npz", "pcd")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="files, folders, patterns in quotes, or URLs"
    )
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FILE", help="the table: .parquet, .csv or .npz"
    )
    parser.add_argument(
        "--variant", choices=_VARIANTS, default="desc", help="which descriptor (default desc)"
    )
    parser.add_argument(
        "--labels", type=Path, metavar="CSV",
        help="classes from a table: file,label (default: the folders of one PATH, where there are several)",
    )  # fmt: skip
    add_scales(parser)
    parser.add_argument("--transition", choices=("difference", "exact"), help="default: the variant's own")
    parser.add_argument(
        "--method", choices=("auto", "dense", "fast"), default="auto",
        help="auto: the fast path for large clouds, where it is cheaper; see docs/theory/fast.md",
    )  # fmt: skip
    parser.add_argument("--tol", type=float, help="what the fast path promises (default 1e-8)")
    parser.add_argument("--blocks", metavar="A,B", help="only these blocks, such as global,hds,dimension")
    add_reading(parser)
    parser.add_argument(
        "--per-point", choices=_POINT_SUFFIXES, metavar="FORMAT",
        help=f"also write signatures at every point, one file per cloud: {', '.join(_POINT_SUFFIXES)}",
    )  # fmt: skip
    parser.add_argument(
        "--point-channels", metavar="A,B",
        help="of --per-point: some of density,dimension,transition,spectrum (the default), local_type, "
        "linearity,planarity,sphericity,verticality,normal",
    )  # fmt: skip
    parser.add_argument(
        "--point-dtype",
        choices=("float64", "float32"),
        default="float64",
        help="of --per-point (default float64)",
    )
    parser.add_argument(
        "--jobs", type=int, default=-1, help="threads or processes at a time (default: all cores)"
    )
    add_cluster(parser)
    parser.add_argument(
        "--shard", type=int, default=32, metavar="K", help="files that are finished together (default 32)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no summary")


def run(options: argparse.Namespace) -> int:
    """0: all described. 1: some files could not be, see the .errors.csv. 2: nothing could start."""
    from .._base.check import check_count, thread_count
    from .._base.optional import need
    from .._features.descriptor import HFSDescriptor
    from ._collect import collect
    from ._features import TABLES, is_features, write_errors
    from ._labels import labels_of
    from ._lock import alone
    from ._prices import prices_of_task, worth_measuring
    from ._run_shards import plan, run_all
    from ._shards import load_shard

    out: Path = options.out
    if out.suffix not in TABLES:
        raise ValueError(f"--out must end in {', '.join(TABLES)}, got {str(out)!r}")
    if out.suffix == ".parquet":
        need("pyarrow", "Parquet tables")  # before the work, not after it
    if out.is_dir() or not out.parent.is_dir():
        raise ValueError(
            f"cannot write {str(out)!r}: " + ("it is a folder" if out.is_dir() else "no such folder")
        )
    if out.exists() and not is_features(out):
        raise ValueError(
            f"cannot write {str(out)!r}: it exists and is not a table of features; give another name"
        )
    _check_beside(out, options.per_point)
    check_count(options.shard, "--shard", 1)
    workers = thread_count(options.jobs)
    settings = _settings(options)
    HFSDescriptor(**settings.descriptor).layout()  # complains of wrong blocks and scales
    files, skipped = collect(options.paths)
    parts = parts_of(out)
    files = _not_ours(files, out, parts)
    labels = labels_of(options.paths, files, options.labels)
    started = time.perf_counter()
    with alone(parts, out, *_beside(out)):
        prices = prices_of_task(parts, worth_measuring(files, settings.reading))
        settings = replace(settings, prices=asdict(prices))
        shards = plan(files, settings, parts, options.shard, options.per_point, out)
        if options.per_point:
            _own_folder(out)
        reading, describing, fresh = run_all(shards, workers, options.quiet, options.cluster)
        results = [load_shard(shard.path, len(shard.files)) for shard in shards]
        missing = [shard.files[0] for shard, result in zip(shards, results, strict=True) if result is None]
        if missing:
            raise ValueError(
                f"files changed while they were described, {missing[0]!r} among others; run the command again"
            )
        found = [r for r in results if r is not None]
        errors, empty = _write(out, files, found, settings, labels)
        path = write_errors(out, errors)
        clear_parts(parts)
    seconds = time.perf_counter() - started
    if not options.quiet:
        work = reading + describing
        print(
            f"{len(files) - len(errors)} of {len(files)} clouds -> {out}"
            + (f"; {skipped} files of other kinds passed over" if skipped else "")
            + (f"; {len(files) - fresh} were done before" if fresh < len(files) else "")
        )
        print(
            f"{seconds:.1f} s, {fresh / seconds:.1f} clouds per second, "
            + (f"{workers} at a time" if options.cluster is None else "by the cluster")
            + (f", {100 * reading / work:.0f} % of the work was reading" if work else "")
        )
        how = skeleton_words(files, settings.reading)
        if how:
            print(how)
        if empty:
            print(f"{empty} clouds have fewer than two distinct points: their features are empty (NaN)")
    if errors:
        print(f"heatfield describe: {len(errors)} of {len(files)} files failed, see {path}", file=sys.stderr)
    return 1 if errors else 0


def _beside(out: Path) -> tuple[Path, Path]:
    """The list of failures, and the description of a CSV."""
    return out.with_suffix(".errors.csv"), out.with_suffix(".meta.json")


def _check_beside(out: Path, per_point: str | None) -> None:
    """A ValueError where the command would have to replace a file of someone else."""
    failures, metadata = _beside(out)
    may_replace(failures, is_errors, "a list of failed files")
    if out.suffix == ".csv":
        may_replace(metadata, is_metadata, "the description of a table of features")
    may_replace(dictionary_path(out), is_dictionary, "the dictionary of a table of features")
    folder = _point_folder(out)
    if per_point and folder.is_dir() and not (folder / _MARK).is_file() and any(folder.iterdir()):
        raise ValueError(
            f"cannot write to {str(folder)!r}: the folder exists and is not one of per-point files; "
            "give another name to --out"
        )


def _point_folder(out: Path) -> Path:
    return out.with_name(out.stem + "_points")


def _own_folder(out: Path) -> None:
    """Mark the folder of per-point files as ours, so that the next run may replace them.

    What a killed process left in it while it was writing is removed.
    """
    _point_folder(out).mkdir(exist_ok=True)
    (_point_folder(out) / _MARK).touch()
    for file in _point_folder(out).rglob(".*.part"):
        file.unlink(missing_ok=True)


def _not_ours(files: list[str], out: Path, parts: Path) -> list[str]:
    """The files without those that an earlier run of the command wrote beside them."""
    beside = (out, out.with_suffix(".errors.csv"), dictionary_path(out))
    own = {os.path.realpath(path) for path in beside}
    folders = {os.path.realpath(path) for path in (parts, _point_folder(out))}
    kept = []
    for file in files:
        real = os.path.realpath(file)
        if real not in own and folders.isdisjoint(map(str, Path(real).parents)):
            kept.append(file)
    if not kept:
        raise ValueError(f"there is nothing to describe but the table {str(out)!r} itself")
    return kept


def _settings(options: argparse.Namespace) -> Settings:
    from ._shards import Settings

    blocks = [b.strip() for b in options.blocks.split(",")] if options.blocks else None
    descriptor = {
        "variant": options.variant,
        **scale_options(options),
        "transition": options.transition,
        "blocks": blocks,
        "method": options.method,
        "tol": options.tol,
    }
    from ._per_point import check_channels

    channels = check_channels(options.point_channels) if options.per_point else ()
    return Settings(
        descriptor, reading_options(options), options.per_point or "", channels, options.point_dtype
    )


def _write(
    out: Path, files: list[str], results: list[Result], settings: Settings, labels: dict[str, str]
) -> tuple[list[tuple[str, str, str]], int]:
    """The table and the list of failures. The table has the dimension of most files, or of --dims."""
    import numpy as np

    from .._features.descriptor import HFSDescriptor
    from ._features import write_features

    counts = np.concatenate([result.counts for result in results])
    rows = [row for result in results for row in result.features]
    problems = [problem for result in results for problem in result.problems]
    asked = settings.reading["dims"]
    dims = asked or most_common([int(n) for n in counts[:, 2] if n >= 0])
    errors, good = [], []
    for i, file in enumerate(files):
        place, problem = problems[i]
        if not problem and counts[i, 2] != dims:
            place, problem = "", other_dimension(int(counts[i, 2]), dims, fixed=bool(asked))
        if problem:
            errors.append((file, place, problem))
        else:
            good.append(i)
    descriptor = HFSDescriptor(**settings.descriptor, n_dims=dims)
    names = descriptor.get_feature_names_out().tolist()
    features = np.array([rows[i] for i in good]).reshape(len(good), len(names))
    metadata = {**settings.describe(), "n_dims": dims}
    extents = np.concatenate([result.extents for result in results])[good]
    own = [labels.get(files[i], "") for i in good] if labels else None
    facts = facts_of(extents, settings.descriptor, own)
    write_features(out, [files[i] for i in good], counts[good], names, features, metadata, facts)
    write_dictionary(out, facts, descriptor)
    return errors, int(np.isnan(features).all(axis=1).sum()) if names else 0
