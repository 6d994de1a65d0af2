"""``heatfield predict``: a model and files in, a table of labels and probabilities out."""

from __future__ import annotations

import argparse
import csv
import io
import os
import sys
from pathlib import Path

_COLUMNS = ("file", "label", "probability")
# Files that are read and classified together.
_TOGETHER = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a folder that 'heatfield train' wrote")
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders, or patterns in quotes")
    parser.add_argument(
        "-o", "--out", type=Path, metavar="FILE", help="the table, a .csv (default: labels are printed)"
    )
    parser.add_argument(
        "--chain", help="of molecules: this chain; each: every chain as a cloud (default: as in the training)"
    )
    parser.add_argument("--device", default="auto", help="cpu, cuda, ... (default: a GPU if there is one)")
    parser.add_argument("--jobs", type=int, default=-1, help="threads for the features (default: all cores)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no summary")


def run(options: argparse.Namespace) -> int:
    """0: all classified. 1: some files could not be read, see the .errors.csv. 2: nothing could start."""
    import warnings

    from .._base.check import HeatFieldWarning
    from .._base.files import write_atomically
    from .._base.progress import progress_bar
    from .._classifier.classifier import HFSClassifier
    from .._classifier.heads import uncalibrated
    from ._chains import EACH, read_chains
    from ._collect import collect
    from ._features import safe_cell, write_errors
    from ._reading import read_clouds, saved_reading

    out: Path | None = options.out
    if out is not None:
        _check_out(out)
    model = HFSClassifier.load(options.model, device=options.device).set_params(n_jobs=options.jobs)
    reading = saved_reading(model.notes_, options.model)  # points are read as they were for the training
    if options.chain is not None:
        reading = {**reading, "chain": None if options.chain == EACH else options.chain}
    files, skipped = collect(options.paths)
    own = set() if out is None else {os.path.realpath(f) for f in (out, out.with_suffix(".errors.csv"))}
    files = [file for file in files if os.path.realpath(file) not in own]  # the tables of an earlier time
    if not files:
        raise ValueError(f"there is nothing to classify in {', '.join(map(repr, options.paths))}")
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow([*_COLUMNS, *(f"p_{name}" for name in model.classes_), "note"])
    errors: list[tuple[str, str, str]] = []
    notes = 0
    with progress_bar(total=len(files), unit="files", quiet=options.quiet, keep=True) as bar:
        for first in range(0, len(files), _TOGETHER):
            some = files[first : first + _TOGETHER]
            if options.chain == EACH:
                some, clouds, failed = read_chains(some, reading, model.n_dims_)
            else:
                clouds, failed = read_clouds(some, reading, n_dims=model.n_dims_, quiet=True)
            errors += failed
            if clouds:
                known = getattr(model, "input_range_", None)
                odd = dict(known.unlike(list(clouds.values()))) if known is not None else {}
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", HeatFieldWarning)  # said in the table, file by file
                    proba = model.predict_proba(list(clouds.values()))
                for row, (i, shares) in enumerate(zip(clouds, proba, strict=True)):
                    best = int(shares.argmax())
                    cells = [f"{share:.6g}" for share in shares]
                    name = safe_cell(str(model.classes_[best]))
                    writer.writerow([safe_cell(some[i]), name, cells[best], *cells, odd.get(row, "")])
                notes += len(odd)
            bar.update(min(_TOGETHER, len(files) - first))
    if out is None:
        return _print(table.getvalue(), errors, len(files))
    write_atomically(out, table.getvalue().encode("utf-8", "surrogateescape"))
    path = write_errors(out, errors)
    if not options.quiet:
        other = f"; {skipped} files of other kinds passed over" if skipped else ""
        print(f"{len(files) - len(errors)} of {len(files)} files -> {out}{other}")
    if not options.quiet and uncalibrated(model):
        print(f"heatfield predict: {uncalibrated(model)}", file=sys.stderr)
    if notes:
        print(
            f"heatfield predict: unlike the training set: {notes} of {len(files) - len(errors)} clouds, "
            "see the column note",
            file=sys.stderr,
        )
    if errors:
        print(f"heatfield predict: {len(errors)} of {len(files)} files failed, see {path}", file=sys.stderr)
    return 1 if errors else 0


def _check_out(out: Path) -> None:
    """A ValueError where the table cannot be written."""
    from ._ours import is_errors, may_replace

    if out.suffix != ".csv":
        raise ValueError(f"--out must end in .csv, got {str(out)!r}")
    if out.is_dir() or not out.parent.is_dir():
        raise ValueError(
            f"cannot write {str(out)!r}: " + ("it is a folder" if out.is_dir() else "no such folder")
        )
    if out.exists() and not _is_ours(out):
        raise ValueError(
            f"cannot write {str(out)!r}: it exists and is not a table of predictions; give another name"
        )
    may_replace(out.with_suffix(".errors.csv"), is_errors, "a list of failed files")


def _print(table: str, errors: list[tuple[str, str, str]], files: int) -> int:
    """File, label and probability of every cloud, in columns; what failed on standard error."""
    from ._reading import printable

    rows = [(row[0], row[1], row[2], row[-1]) for row in csv.reader(io.StringIO(table))][1:]
    wide = [max((len(row[k]) for row in rows), default=0) for k in (0, 1)]
    for file, label, share, note in rows:
        note = f"  ({note})" if note else ""
        print(printable(f"{file.ljust(wide[0])}  {label.ljust(wide[1])}  {float(share):.3f}{note}"))
    for file, place, problem in errors:
        where = f", {place}" if place else ""
        print(f"heatfield predict: {printable(file)}{where}: {problem}", file=sys.stderr)
    if errors:
        print(f"heatfield predict: {len(errors)} of {files} files failed", file=sys.stderr)
    return 1 if errors else 0


def _is_ours(path: Path) -> bool:
    """Whether a file is empty or begins as the table does: then it may be replaced."""
    with open(path, "rb") as file:
        start = file.read(64)
    return not start or start.startswith(",".join(_COLUMNS).encode())
