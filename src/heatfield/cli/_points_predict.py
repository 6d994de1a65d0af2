"""``heatfield points predict``: every point of new files with a label and how sure it is."""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.files import write_atomically
from .._base.progress import progress_bar
from .._classifier.saving.folder import FACTS
from .._points.classifier import HFSPointClassifier
from ..io import Cloud, Record, read_cloud, write_points
from ..io._point_signatures import holdable_columns
from ._collect import collect
from ._features import write_errors
from ._ours import is_errors, may_replace
from ._reading import file_problem
from ._run_shards import _point_targets

_MARK = ".heatfield-labelled.json"
_OWN = {".las": "las", ".laz": "laz", ".ply": "ply", ".parquet": "parquet", ".csv": "csv", ".npz": "npz"}


def run_predict(options: argparse.Namespace) -> int:
    """0: all labelled. 1: some files could not be, see FOLDER/predict.errors.csv. 2: nothing could start."""
    out: Path = options.out
    if out.exists() and not (out.is_dir() and ((out / _MARK).is_file() or not any(out.iterdir()))):
        raise ValueError(
            f"cannot write to {str(out)!r}: it exists and is no folder of labelled files; give another name"
        )
    if not out.parent.is_dir():
        raise ValueError(f"cannot write to {str(out)!r}: there is no folder {str(out.parent)!r}")
    model = HFSPointClassifier.load(options.model).set_params(n_jobs=options.jobs, progress=False)
    reading = model.notes_.get("reading", {})
    if not isinstance(reading, dict) or not {*inspect.signature(read_cloud).parameters}.issuperset(reading):
        raise ValueError(f"{str(options.model)!r} says how to read files, but not as options: {reading!r}")
    files, _ = collect(options.paths)
    inside = os.path.realpath(out)
    files = [f for f in files if not os.path.realpath(f).startswith(inside + os.sep)]
    if not files:
        raise ValueError(f"there is nothing to label in {', '.join(map(repr, options.paths))}")
    out.mkdir(exist_ok=True)
    may_replace(out / "predict.errors.csv", is_errors, "a list of failed files")
    stamp = hashlib.sha256((options.model / FACTS).read_bytes()).hexdigest()
    done = _done(out / _MARK, stamp)
    errors: list[tuple[str, str, str]] = []
    points, started = 0, time.perf_counter()
    targets = _targets(files, out, options.format)
    with progress_bar(total=len(files), unit="files", quiet=options.quiet, keep=True) as bar:
        for file, target in zip(files, targets, strict=True):
            key = _file_stamp(file)
            if done.get(str(target.relative_to(out))) != key or not target.is_file():
                try:
                    points += _label(model, file, target, reading)
                    done[str(target.relative_to(out))] = key
                    text = json.dumps({"model": stamp, "done": done}, indent=1)
                    write_atomically(out / _MARK, text.encode())
                except Exception as error:  # whatever a file does, it costs that file only
                    errors.append((file, *file_problem(error)))
            bar.update(1)
    path = write_errors(out / "predict.csv", errors)
    seconds = time.perf_counter() - started
    if not options.quiet:
        rate = f"; {points:,} points in {seconds:.1f} s, {points / seconds:,.0f} per second" if points else ""
        print(f"{len(files) - len(errors)} of {len(files)} files -> {out}{rate}")
    if errors:
        print(f"heatfield points: {len(errors)} of {len(files)} files failed, see {path}", file=sys.stderr)
    return 1 if errors else 0


def _targets(files: list[str], out: Path, kind: str | None) -> list[Path]:
    """Where the labelled copy of each file goes: folders below the common one are kept."""
    base = os.path.commonpath([os.path.dirname(os.path.abspath(f)) for f in files])
    below = [os.path.relpath(os.path.abspath(f), base) for f in files]
    plain = [Path(f).with_suffix("") if f.lower().endswith(".gz") else Path(f) for f in below]
    kinds = [kind or _OWN.get(path.suffix.lower(), "laz") for path in plain]
    # One suffix for all tells which names would meet; the own one follows.
    names = [Path(name).with_suffix("") for name in _point_targets(below, out, "x")]
    return [name.with_name(f"{name.name}.{k}") for name, k in zip(names, kinds, strict=True)]


def _done(path: Path, stamp: str) -> dict[str, Any]:
    """Files that an earlier run of the same model labelled."""
    try:
        found = json.loads(path.read_text())
        return dict(found["done"]) if found["model"] == stamp else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _file_stamp(file: str) -> list[Any]:
    status = os.stat(file)
    return [os.path.abspath(file), status.st_size, status.st_mtime_ns]


def _label(model: HFSPointClassifier, file: str, target: Path, reading: dict[str, Any]) -> int:
    """Label the points of one file, and write them with all their columns; how many they are."""
    cloud = read_cloud(file, **reading)
    shares = model.predict_proba([cloud])[0]
    best = shares.argmax(axis=1) if len(shares) else np.empty(0, np.int64)
    confidence = (shares.max(axis=1) if len(shares) else np.empty(0)).astype(np.float32)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_labelled(target, cloud, model.classes_, best, confidence)
    return len(cloud.points)


def write_labelled(
    target: Path, cloud: Cloud, classes: NDArray, best: NDArray[np.int64], confidence: NDArray[np.float32]
) -> None:
    """Points with ``classification`` and ``confidence``; words become codes where the format has none."""
    suffix = target.suffix
    numeric = suffix in (".las", ".laz", ".ply")
    codes = _codes(classes)
    made: dict[str, Any] = {
        "classification": codes[best] if numeric else classes[best],
        "confidence": confidence,
    }
    meaning = ", ".join(f"{code} {name}" for code, name in zip(codes.tolist(), classes.tolist(), strict=True))
    notes = dict(cloud.notes)
    if suffix in (".las", ".laz"):
        others = [record for record in notes.get("vlrs", []) if record.user != "heatfield"]
        text = f"classification: {meaning}".encode()[:65_000]
        notes["vlrs"] = [*others, Record("heatfield", 2, "classes of the points", text)]
    kept = {name: c for name, c in holdable_columns(cloud.columns, suffix).items() if name not in made}
    descriptions = {"confidence": "probability of the class", "classification": meaning}
    write_points(target, cloud.points, {**kept, **made}, notes=notes, descriptions=descriptions)


def _codes(classes: NDArray) -> NDArray[Any]:
    """Numbers of the classes: their own where they fit a byte, else from 0 on in their order."""
    if classes.dtype.kind in "iub" and classes.min() >= 0 and classes.max() <= 255:
        return classes.astype(np.uint8)
    return np.arange(len(classes), dtype=np.uint8 if len(classes) <= 256 else np.int32)
