"""``heatfield search query``: files in, the most similar clouds of an index out."""

from __future__ import annotations

import argparse
import csv
import io
import os
import sys
from pathlib import Path

import numpy as np

from .._base.check import Array, check_count, thread_count
from .._base.files import write_atomically
from .._base.progress import progress_bar
from .._search.hits import Hits
from .._search.index import HFSIndex
from .._search.sketch import sketch
from ._collect import collect
from ._features import safe_cell, write_errors
from ._ours import begins_with, is_errors, may_replace
from ._pages import check_page, page_size
from ._reading import printable, read_clouds, saved_reading

_COLUMNS = ("query", "rank", "name", "label", "distance", "most_alike")
_TOGETHER = 64
_MOST_SHOWN = 200  # queries on a page


def query(options: argparse.Namespace) -> int:
    """See `_search.run`."""
    check_count(options.k, "-k", 1)
    out: Path | None = options.out
    if out is not None:
        _check_table(out)
    if options.page is not None:
        check_page(options.page, str(options.index), "--page")
    index = HFSIndex.load(options.index)
    index.descriptor_.set_params(n_jobs=thread_count(options.jobs))
    reading = saved_reading(index.notes_, options.index)
    files, _ = collect(options.paths)
    own = set() if out is None else {os.path.realpath(f) for f in (out, out.with_suffix(".errors.csv"))}
    files = [file for file in files if os.path.realpath(file) not in own]
    if not files:
        raise ValueError(f"there is nothing to search for in {', '.join(map(repr, options.paths))}")
    names: list[str] = []
    parts: list[Hits] = []
    sketches: list[Array] = []
    errors: list[tuple[str, str, str]] = []
    with progress_bar(total=len(files), unit="files", quiet=options.quiet, keep=True) as bar:
        for first in range(0, len(files), _TOGETHER):
            some = files[first : first + _TOGETHER]
            clouds, failed = read_clouds(some, reading, n_dims=index.descriptor_.n_dims_, quiet=True)
            errors += failed
            if clouds:
                parts.append(index.query(list(clouds.values()), options.k))
                names += [some[i] for i in clouds]
                if options.page is not None and len(sketches) < _MOST_SHOWN:
                    sketches += [sketch(cloud) for cloud in clouds.values()]
            bar.update(len(some))
    table = _table(names, parts)
    if out is not None:
        write_atomically(out, table.encode("utf-8", "surrogateescape"))
        path: Path | None = write_errors(out, errors)
        if not options.quiet:
            print(f"{len(names)} of {len(files)} files -> {out}")
    else:
        path = None
        print(printable(_printed(names, parts)), end="")
    if options.page is not None and names:
        _write_page(options, index, names, parts, sketches[:_MOST_SHOWN], reading)
    for file, _, problem in errors if path is None else ():
        print(f"heatfield search: {printable(file)}: {problem}", file=sys.stderr)
    if path is not None and errors:
        print(f"heatfield search: {len(errors)} of {len(files)} files failed, see {path}", file=sys.stderr)
    return 1 if errors else 0


def _check_table(out: Path) -> None:
    if out.suffix != ".csv":
        raise ValueError(f"--out must end in .csv, got {str(out)!r}")
    if out.is_dir() or not out.parent.is_dir():
        raise ValueError(
            f"cannot write {str(out)!r}: " + ("it is a folder" if out.is_dir() else "no such folder")
        )
    may_replace(out, begins_with(",".join(_COLUMNS).encode()), "a table of hits")
    may_replace(out.with_suffix(".errors.csv"), is_errors, "a list of failed files")


def _rows(names: list[str], parts: list[Hits]) -> list[dict[str, object]]:
    out, first = [], 0
    for hits in parts:
        out += hits.table(names[first : first + len(hits)])
        first += len(hits)
    return out


def _table(names: list[str], parts: list[Hits]) -> str:
    """The hits as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in _rows(names, parts):
        label = "" if row["label"] is None else str(row["label"])
        cells = [safe_cell(str(row["query"])), row["rank"], safe_cell(str(row["name"])), safe_cell(label)]
        writer.writerow([*cells, f"{row['distance']:.6g}", row["most_alike"]])
    return text.getvalue()


def _printed(names: list[str], parts: list[Hits]) -> str:
    """The hits as lines for a terminal."""
    lines: list[str] = []
    for row in _rows(names, parts):
        if row["rank"] == 1:
            lines.append(str(row["query"]))
        label = "" if row["label"] is None else f"  [{row['label']}]"
        lines.append(
            f"  {row['rank']:>3}  {row['distance']:<8.4g} {row['name']}{label}  alike: {row['most_alike']}"
        )
    return "".join(f"{line}\n" for line in lines)


def _write_page(
    options: argparse.Namespace,
    index: HFSIndex,
    names: list[str],
    parts: list[Hits],
    sketches: list[Array],
    reading: dict[str, object],
) -> None:
    from ..report import hits_page

    count = min(len(names), _MOST_SHOWN)
    hits = Hits(
        np.concatenate([part.rows for part in parts])[:count],
        [row for part in parts for row in part.names][:count],
        [row for part in parts for row in part.labels][:count],
        np.concatenate([part.distances for part in parts])[:count],
        parts[0].blocks,
        np.concatenate([part.differences for part in parts])[:count],
    )
    found = {int(row): _hit_sketch(index, int(row), reading) for row in np.unique(hits.rows)}
    facts = [
        ("index", f"{len(index):,} clouds, {index.descriptor_.variant}, {index.rows_.shape[1]} numbers each"),
        ("metric", index.metric),
        ("queries", f"{len(names):,}" + (f", the first {count} are shown" if count < len(names) else "")),
    ]
    page = hits_page(
        options.index.resolve().name,
        [printable(name) for name in names[:count]],
        hits,
        query_sketches=sketches,
        hit_sketches={row: drawn for row, drawn in found.items() if drawn is not None},
        facts=facts,
    )
    write_atomically(options.page, page.encode("utf-8", "replace"))
    if not options.quiet:
        print(f"{options.page}: {page_size(page)}; open it in a browser")


def _hit_sketch(index: HFSIndex, row: int, reading: dict[str, object]) -> np.ndarray | None:
    """The thumbnail that the index holds, or one of its file where that can still be read."""
    drawn = index.sketch_of(row)
    if drawn is None:
        clouds, _ = read_clouds([index.names[row]], {**reading, "budget": 160}, quiet=True)
        drawn = sketch(clouds[0]) if clouds else None  # type: ignore[assignment]
    return drawn
