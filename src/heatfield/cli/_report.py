"""``heatfield report``: a folder of clouds in, one page about them out."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._reading import add_reading, most_common, other_dimension, reading_options, skeleton_words
from ._scales import add_scales, scale_options

if TYPE_CHECKING:
    from .._base.check import Array
    from ..report import Collection


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "folder", metavar="FOLDER", help="clouds; where they lie in folders below it, these are the classes"
    )
    parser.add_argument(
        "-o", "--out", type=Path, default=Path("report.html"), metavar="PAGE", help="default report.html"
    )
    parser.add_argument("--labels", type=Path, metavar="CSV", help="classes from a table: file,label")
    parser.add_argument(
        "--variant",
        choices=("simple", "desc", "joint"),
        default="desc",
        help="the descriptor (default desc)",
    )
    add_scales(parser, ends=False)
    add_reading(parser, seed="of sampling, folds and shuffles", budget=1024)
    parser.add_argument("--folds", type=int, default=5, metavar="K", help="of cross-validation (default 5)")
    parser.add_argument(
        "--head", choices=("lda", "svm", "mlp", "auto"), default="lda",
        help="the read-out (default lda, the quickest); auto chooses in each fold, which takes minutes",
    )  # fmt: skip
    parser.add_argument("--svg", action="store_true", help="figures as SVG, for print (default: PNG)")
    parser.add_argument("--embedding", choices=("auto", "pca", "umap"), default="auto")
    parser.add_argument("--jobs", type=int, default=-1, help="processes (default: all cores)")
    parser.add_argument("--quiet", action="store_true", help="say nothing")


def run(options: argparse.Namespace) -> int:
    """0: the page is written. 1: written, but some files could not be used. 2: nothing could start."""
    from .._base.check import check_count, thread_count
    from .._base.files import write_atomically
    from .._base.progress import progress_bar
    from ..plot._style import pyplot
    from ..report import report_page
    from ._lock import alone
    from ._pages import check_page
    from ._parts import clear_parts

    out = check_page(options.out, options.folder)
    if not Path(options.folder).is_dir():
        raise ValueError(f"there is no folder {options.folder!r}; check the spelling")
    for name in ("folds", "budget"):
        check_count(getattr(options, name), f"--{name}", 2)
    thread_count(options.jobs)
    scale_options(options)
    # Files only, also where there is no screen; where there is no matplotlib, this says how to install it.
    pyplot().switch_backend("Agg")
    started = time.perf_counter()
    with alone(_parts(out), out):
        collection = _describe(options, out)
        if not options.quiet:
            print(
                f"{len(collection.files):,} clouds described; cross-validation and pictures ...", flush=True
            )
        with progress_bar(total=options.folds, unit="folds", quiet=options.quiet, keep=True) as bar:

            def tick(_done: int, folds: int) -> None:
                bar.total = folds  # fewer where a class has fewer clouds
                bar.update()

            page = report_page(
                collection,
                folds=options.folds,
                head=options.head,
                embedding=options.embedding,
                figures="svg" if options.svg else "png",
                seed=options.seed,
                tick=tick,
            )
        write_atomically(out, page.encode())
        clear_parts(_parts(out))
    if not options.quiet:
        seconds = time.perf_counter() - started
        print(f"{out}: {len(page) / 1e6:.1f} MB after {seconds:.1f} s; open it in a browser")
    if collection.broken:
        print(
            f"heatfield report: {len(collection.broken)} files could not be used, see the end of {out}",
            file=sys.stderr,
        )
    return 1 if collection.broken else 0


def _parts(out: Path) -> Path:
    """Finished work is kept here until the page is written, so that a stopped command goes on."""
    return out.with_name(out.name + ".parts")


def _describe(options: argparse.Namespace, out: Path) -> Collection:
    """Read and describe every file; the most common number of coordinates is that of the report."""
    import numpy as np

    from .._base.check import thread_count
    from .._features.descriptor import HFSDescriptor
    from ..report import Collection
    from ._collect import collect
    from ._labels import class_labels
    from ._shards import Settings, load_shard
    from ._work import plan, run_all

    root = Path(options.folder)
    files, _ = collect([options.folder])
    labels = class_labels(root, files, options.labels)
    files = [file for file in files if file in labels] if options.labels else files
    descriptor = {"variant": options.variant, **scale_options(options)}
    reading = reading_options(options)
    how = skeleton_words(files, reading)
    if how and not options.quiet:
        print(how, flush=True)
    shards = plan(files, Settings(descriptor, reading), _parts(out), 32, None, out)
    run_all(shards, thread_count(options.jobs), options.quiet)
    results = [result for shard in shards if (result := load_shard(shard.path, len(shard.files))) is not None]
    counts = np.concatenate([result.counts for result in results])
    if len(counts) != len(files):
        raise ValueError("files changed while they were described; run the command again")
    features = [row for result in results for row in result.features]
    problems = [problem for result in results for problem in result.problems]
    read = counts[counts[:, 2] >= 0, 2]
    if len(read) == 0:
        raise ValueError(f"none of the {len(files)} files can be read; {files[0]!r}: {problems[0][1]}")
    dims = reading["dims"] or most_common(read.tolist())
    broken, good = [], []
    for i, file in enumerate(files):
        place, problem = problems[i]
        if not problem and counts[i, 2] != dims:
            problem = other_dimension(int(counts[i, 2]), dims, fixed=bool(reading["dims"]))
        elif not problem and np.isnan(features[i]).all():
            problem = "it has fewer than two distinct points"
        if problem:
            broken.append((_below(root, file), place, problem))
        else:
            good.append(i)
    if not good:
        raise ValueError(f"none of the {len(files)} files has two distinct points")
    described = [files[i] for i in good]
    return Collection(
        name=root.resolve().name,
        files=[_below(root, file) for file in described],
        points=counts[good, 1],
        features=np.array([features[i] for i in good]),
        descriptor=HFSDescriptor(**descriptor, n_dims=dims),
        dims=dims,
        labels=[labels[file] for file in described] if labels else None,
        sketches=_sketches(described, reading, options.quiet),
        broken=broken,
    )


def _below(root: Path, file: str) -> str:
    return str(Path(file).relative_to(root)) if Path(file).is_relative_to(root) else file


def _sketches(files: list[str], reading: dict[str, Any], quiet: bool) -> list[Array]:
    """A few points of each file for its thumbnail."""
    from .._base.progress import progress_bar
    from ..io import read_cloud
    from ..report._collection import sketch

    bar = progress_bar(files, unit="thumbnails", quiet=quiet, keep=True)
    return [sketch(read_cloud(file, **{**reading, "budget": 160}).points) for file in bar]
