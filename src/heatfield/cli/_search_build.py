"""``heatfield search build``: files or a table of features in, an index out."""

from __future__ import annotations

import argparse
from pathlib import Path

from .._base.check import check_count, thread_count
from .._classifier.saving.folder import check_place
from .._search.index import HFSIndex
from ._lock import alone
from ._ours import is_errors, may_replace
from ._parts import clear_parts, parts_of
from ._reading import reading_options
from ._scales import scale_options
from ._search_source import Source, from_files, from_table, say_broken, table_of


def build(options: argparse.Namespace) -> int:
    """See `_search.run`."""
    out = check_place(options.out)
    errors = out.with_name(out.name + ".csv")
    may_replace(errors.with_suffix(".errors.csv"), is_errors, "a list of failed files")
    if options.metric == "learned" and len(options.paths) > 1 and options.labels is None:
        raise ValueError(
            "--metric learned needs classes: give one folder with a folder per class, or --labels"
        )
    index = HFSIndex(
        metric=options.metric, method=options.search, recall=options.recall, random_state=options.seed
    )
    if not 0.0 < options.recall < 1.0:
        raise ValueError(f"--recall must lie between 0 and 1, got {options.recall}")
    check_count(options.seed, "--seed", 0)
    table = table_of(options.paths)
    with alone(parts_of(out), out):
        found = _found(options, out, table)
        labels = [found.labels.get(file) for file in found.files] if found.labels else None
        if options.metric == "learned" and (labels is None or None in labels):
            raise ValueError(
                "--metric learned needs a class for every file: a folder per class, or --labels table.csv"
            )
        if options.evaluate and (labels is None or None in labels):
            raise ValueError("--evaluate needs a class for every file: a folder per class, or --labels")
        index.descriptor = found.descriptor
        index.build_features(
            found.features, n_dims=found.dims, labels=labels, names=found.files, sketches=found.sketches
        )
        index.save(out, notes={"reading": found.reading})
        clear_parts(parts_of(out))
    if not options.quiet:
        print(f"{index!r}\nindex -> {out}")
    if options.evaluate:
        print(index.evaluate())
    return say_broken(found, errors)


def _found(options: argparse.Namespace, out: Path, table: Path | None) -> Source:
    if table is not None:
        for name, option in (("variant", "--variant"), ("n_scales", "--scales"), ("lengths", "--lengths")):
            if getattr(options, name) is not None:
                raise ValueError(
                    f"{option} belongs to files: {str(table)!r} says itself how it was described"
                )
        return from_table(table, options.labels)
    return from_files(
        options.paths,
        {"variant": options.variant or "joint", **scale_options(options)},
        reading_options(options),
        out=out,
        labels=options.labels,
        workers=thread_count(options.jobs),
        quiet=options.quiet,
    )
