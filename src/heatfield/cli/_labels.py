"""Classes of files: from the folders they lie in, or from a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..io import is_remote


def labels_of(paths: Sequence[str], files: list[str], table: Path | None) -> dict[str, str]:
    """The class of each file that has one: from a table, or from the folders of the only path."""
    first = paths[0]
    if table is None and len(paths) == 1 and is_remote(first) and files != [first]:
        return _folders({file: file.removeprefix(first.rstrip("/") + "/").split("/") for file in files})
    if table is not None or (len(paths) == 1 and Path(first).is_dir()):
        return class_labels(Path(first) if Path(first).is_dir() else Path(), files, table)
    return {}


def class_labels(root: Path, files: list[str], table: Path | None) -> dict[str, str]:
    """The class of each file; none unless every file lies in a folder and there are two of them."""
    if table is not None:
        from ..datasets._folder import read_csv

        rows = [row for number, row in read_csv(table) if len(row) > 1 and (number > 1 or row[0] != "file")]
        known = {row[0] if is_remote(row[0]) else str(Path(root, row[0])): row[1].strip() for row in rows}
        found = {file: known[file] for file in files if file in known}
        if not found:
            raise ValueError(f"{str(table)!r} names no file in {str(root)!r}")
        return found
    return _folders({file: Path(file).relative_to(root).parts for file in files})


def _folders(parts: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The first part of each name, where all have another below it and there are two of them."""
    if any(len(part) < 2 for part in parts.values()) or len({part[0] for part in parts.values()}) < 2:
        return {}
    return {file: part[0] for file, part in parts.items()}
