"""The table of features: one row per cloud, with its configuration inside."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.check import check_count
from .._base.files import write_atomically
from .._base.optional import need
from .._features.descriptor import HFSDescriptor
from .._features.layout import SCHEMA
from ._ours import ERRORS, is_errors, remove_ours
from ._reading import printable

TABLES = (".parquet", ".csv", ".npz")
_LEADING = ("file", "label", "points_in_file", "points")  # columns that are no features


def write_features(
    target: Path,
    files: Sequence[str],
    counts: NDArray[np.int64],
    names: Sequence[str],
    features: NDArray[np.float64],
    metadata: dict[str, Any],
    facts: dict[str, NDArray[Any]] | None = None,
) -> None:
    """Columns ``file, points_in_file, points``, the ``facts`` and the features, whole or not at all.

    The metadata goes into the schema of a Parquet file, into the array ``metadata`` of an NPZ, and
    for CSV, which has no place for it, into a file beside it.
    """
    facts = facts or {}
    text = json.dumps({**metadata, "facts": list(facts)}, sort_keys=True)
    if target.suffix == ".parquet":
        write_atomically(target, _parquet(files, counts, facts, names, features, text))
    elif target.suffix == ".npz":
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {
            "files": np.array(files, dtype=str),
            "points_in_file": counts[:, 0],
            "points": counts[:, 1],
            "features": features,
            "names": np.array(names, dtype=str),
            **facts,
            "metadata": np.array(text),
        }
        np.savez_compressed(buffer, **arrays)
        write_atomically(target, buffer.getvalue())
    else:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["file", "points_in_file", "points", *facts, *names])
        known = [column.tolist() for column in facts.values()]
        for i, (file, (in_file, used, _)) in enumerate(zip(files, counts.tolist(), strict=True)):
            cells = [*(column[i] for column in known), *features[i].tolist()]
            writer.writerow([safe_cell(file), in_file, used, *map(_cell, cells)])
        write_atomically(target, out.getvalue().encode("utf-8", "surrogateescape"))
        write_atomically(target.with_suffix(".meta.json"), (text + "\n").encode())


def _cell(value: Any) -> str:
    """A word or a number of a row; nothing for NaN."""
    return safe_cell(value) if isinstance(value, str) else "" if value != value else repr(value)


def safe_cell(text: str) -> str:
    """A name as a cell of a CSV: with a quote before it where a spreadsheet would take it for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def is_features(path: Path) -> bool:
    """Whether a file is empty or a table that `write_features` wrote: then it may be replaced."""
    if path.stat().st_size == 0:
        return True
    try:
        if path.suffix == ".parquet":
            found = need("pyarrow.parquet", "Parquet tables").read_schema(path).metadata or {}
            return b"heatfield" in found
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as data:
                return {"files", "features", "metadata"} <= set(data.files)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return False
    with open(path, "rb") as file:
        return file.read(32).startswith(b"file,points_in_file,points")


@dataclass(frozen=True)
class FeatureTable:
    """A table of features that was read."""

    files: list[str]
    features: NDArray[np.float64]
    descriptor: HFSDescriptor
    dims: int
    reading: dict[str, Any]
    labels: dict[str, str] | None


def read_features(path: Path) -> FeatureTable:
    """A table that `write_features` wrote; a ValueError where it is not one, or not of this version."""
    try:
        files, names, features, text, labels = _read(path)
        metadata = json.loads(text)
        settings, dims = dict(metadata["descriptor"]), check_count(metadata["n_dims"], "n_dims", 1)
        schema, reading = metadata["schema"], metadata["reading"]
        descriptor = HFSDescriptor(**settings, n_dims=dims)
        expected = descriptor.get_feature_names_out().tolist()
    except (KeyError, TypeError, ValueError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{str(path)!r} is not a table of features: {error}") from None
    if schema != SCHEMA:
        raise ValueError(
            f"{str(path)!r} holds features of schema {schema!r}, this library computes schema {SCHEMA}; "
            "describe the files again"
        )
    if names != expected:
        raise ValueError(f"{str(path)!r} does not hold the columns that its description promises")
    if len(files) == 0:
        raise ValueError(f"{str(path)!r} holds no row")
    return FeatureTable(files, features, HFSDescriptor(**settings), dims, reading, labels)


def _feature_names(columns: list[str], metadata: str) -> list[str]:
    """The columns of features: all but those of the file and the facts of its cloud."""
    others = {*_LEADING, *json.loads(metadata).get("facts", [])}
    return [name for name in columns if name not in others]


def _read(path: Path) -> tuple[list[str], list[str], NDArray[np.float64], str, dict[str, str] | None]:
    """Files, names of columns, features, metadata and, where there is such a column, labels."""
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as data:
            files, names = data["files"].tolist(), data["names"].tolist()
            labels = dict(zip(files, data["label"].tolist(), strict=True)) if "label" in data.files else None
            return files, names, data["features"], str(data["metadata"]), labels
    if path.suffix == ".parquet":
        table = need("pyarrow.parquet", "Parquet tables").read_table(path)
        text = (table.schema.metadata or {})[b"heatfield"].decode()
        names = _feature_names(table.column_names, text)
        features = np.stack([table.column(name).to_numpy() for name in names], axis=1)
        present = [name for name in ("file", "label") if name in table.column_names]
        columns = {name: table.column(name).to_pylist() for name in present}
    else:
        with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
            head, *rows = csv.reader(file)
        text = path.with_suffix(".meta.json").read_text()
        names = _feature_names(head, text)
        chosen = [head.index(name) for name in names]
        features = np.array([[float(row[c] or "nan") for c in chosen] for row in rows]).reshape(len(rows), -1)
        columns = {
            name: [_unsafe(row[head.index(name)]) for row in rows]
            for name in ("file", "label")
            if name in head
        }
    files = columns["file"]
    labels = dict(zip(files, columns["label"], strict=True)) if "label" in columns else None
    return files, names, features, text, labels


def _unsafe(cell: str) -> str:
    """A cell as it was before `safe_cell`."""
    return cell[1:] if cell[:1] == "'" and safe_cell(cell[1:]) == cell else cell


def _parquet(
    files: Sequence[str],
    counts: NDArray[np.int64],
    facts: dict[str, NDArray[Any]],
    names: Sequence[str],
    features: NDArray[np.float64],
    text: str,
) -> bytes:
    pa, pq = need("pyarrow", "Parquet tables"), need("pyarrow.parquet", "Parquet tables")
    columns = {
        "file": pa.array([printable(file) for file in files], pa.string()),
        "points_in_file": pa.array(counts[:, 0]),
        "points": pa.array(counts[:, 1]),
    }
    columns |= {name: pa.array(column.tolist()) for name, column in facts.items()}
    for c, name in enumerate(names):
        columns[name] = pa.array(np.ascontiguousarray(features[:, c]))
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns).replace_schema_metadata({"heatfield": text}), buffer)
    return buffer.getvalue()


def write_errors(target: Path, rows: Sequence[tuple[str, str, str]]) -> Path:
    """``features.errors.csv`` beside the table: file, place, problem. Removed where nothing failed."""
    path = target.with_suffix(".errors.csv")
    if not rows:
        remove_ours(path, is_errors)
        return path
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(ERRORS.decode().split(","))
    writer.writerows([[safe_cell(cell) for cell in row] for row in rows])
    write_atomically(path, out.getvalue().encode("utf-8", "surrogateescape"))
    return path
