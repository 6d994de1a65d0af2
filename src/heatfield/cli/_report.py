"""``heatfield report``: a folder of clouds in, one page about them out."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ._reading import add_reading, reading_options, skeleton_words
from ._scales import add_scales, scale_options

if TYPE_CHECKING:
    from ..report import Collection

# The names of the figures; where there are no classes, some of them are not drawn.
FIGURES = ("map", "spectra", "confusion", "blocks", "scales")


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
    parser.add_argument(
        "--figures", type=Path, metavar="FOLDER",
        help="also each figure as figure-NAME.svg: map, spectra, confusion, blocks, scales",
    )  # fmt: skip
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
    from ._collect import check_folder
    from ._lock import alone
    from ._pages import check_page, page_size
    from ._parts import clear_parts, parts_of
    from ._scores import time_left

    out = check_page(options.out, options.folder)
    check_folder(options.folder)
    for name in ("folds", "budget"):
        check_count(getattr(options, name), f"--{name}", 2)
    thread_count(options.jobs)
    scale_options(options)
    if options.figures is not None:
        _check_figures(options.figures)
    # Files only, also where there is no screen; where there is no matplotlib, this says how to install it.
    pyplot().switch_backend("Agg")
    started = time.perf_counter()
    with alone(parts_of(out), out):
        collection = _describe(options, out)
        if not options.quiet:
            print(
                f"{len(collection.files):,} clouds described; cross-validation and pictures ...", flush=True
            )
        begun = time.perf_counter()
        drawn: dict[str, bytes] = {}
        with progress_bar(total=options.folds, unit="folds", quiet=options.quiet, keep=True) as bar:

            def tick(done: int, folds: int) -> None:
                bar.total = folds  # fewer where a class has fewer clouds
                bar.update()
                if bar.disable and not options.quiet:  # no terminal, no bar: a line for each fold
                    left = time_left(time.perf_counter() - begun, done, folds)
                    print(f"fold {done} of {folds} is done{left}", file=sys.stderr, flush=True)

            page = report_page(
                collection,
                folds=options.folds,
                head=options.head,
                embedding=options.embedding,
                figures="svg" if options.svg else "png",
                seed=options.seed,
                tick=tick,
                save_figure=None if options.figures is None else drawn.__setitem__,
            )
        _write_figures(options.figures, drawn)
        write_atomically(out, page.encode())
        clear_parts(parts_of(out))
    if not options.quiet:
        seconds = time.perf_counter() - started
        print(f"{out}: {page_size(page)} after {seconds:.1f} s; open it in a browser")
        if options.figures is not None:
            print(f"{len(drawn)} figures -> {options.figures}")
    if collection.broken:
        print(
            f"heatfield report: {len(collection.broken)} files could not be used, see the end of {out}",
            file=sys.stderr,
        )
    return 1 if collection.broken else 0


def _check_figures(folder: Path) -> None:
    """A ValueError where a figure cannot be written, before the work."""
    from ._ours import is_picture, may_replace

    if folder.exists() and not folder.is_dir():
        raise ValueError(f"cannot write figures to {str(folder)!r}: it is not a folder")
    if not folder.parent.is_dir():
        raise ValueError(f"cannot write figures to {str(folder)!r}: no such folder {str(folder.parent)!r}")
    for name in FIGURES:
        may_replace(folder / f"figure-{name}.svg", is_picture, "a picture of this library")


def _write_figures(folder: Path | None, drawn: dict[str, bytes]) -> None:
    """Every figure as a file; one of an earlier run that is not drawn any more is removed."""
    from .._base.files import write_atomically
    from ._ours import is_picture, remove_ours

    if folder is None:
        return
    folder.mkdir(exist_ok=True)
    for name in FIGURES:
        if name in drawn:
            write_atomically(folder / f"figure-{name}.svg", drawn[name])
        else:
            remove_ours(folder / f"figure-{name}.svg", is_picture)


def _describe(options: argparse.Namespace, out: Path) -> Collection:
    """Read and describe every file; the most common number of coordinates is that of the report."""
    from .._base.check import thread_count
    from .._features.descriptor import HFSDescriptor
    from ..report import Collection
    from ._collect import collect
    from ._described import describe_files, sketches_of
    from ._labels import class_labels

    root = Path(options.folder)
    files, _ = collect([options.folder])
    labels = class_labels(root, files, options.labels)
    files = [file for file in files if file in labels] if options.labels else files
    descriptor = {"variant": options.variant, **scale_options(options)}
    reading = reading_options(options)
    how = skeleton_words(files, reading)
    if how and not options.quiet:
        print(how, flush=True)
    found = describe_files(
        files, descriptor, reading, out=out, workers=thread_count(options.jobs), quiet=options.quiet
    )
    sketches, unit = sketches_of(found.files, reading, options.quiet)
    return Collection(
        name=root.resolve().name,
        files=[_below(root, file) for file in found.files],
        points=found.counts[:, 1],
        features=found.features,
        descriptor=HFSDescriptor(**descriptor, n_dims=found.dims),
        dims=found.dims,
        labels=[labels[file] for file in found.files] if labels else None,
        sketches=sketches,
        broken=[(_below(root, file), place, problem) for file, place, problem in found.broken],
        lengths=found.lengths,
        unit=unit,
    )


def _below(root: Path, file: str) -> str:
    return str(Path(file).relative_to(root)) if Path(file).is_relative_to(root) else file
