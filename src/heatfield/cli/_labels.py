"""Classes of files: from the folders they lie in, or from a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def labels_of(paths: Sequence[str], files: list[str], table: Path | None) -> dict[str, str]:
    """The class of each file that has one: from a table, or from the folders of the only path."""
    if table is not None or (len(paths) == 1 and Path(paths[0]).is_dir()):
        return class_labels(Path(paths[0]) if Path(paths[0]).is_dir() else Path(), files, table)
    return {}


def class_labels(root: Path, files: list[str], table: Path | None) -> dict[str, str]:
    """The class of each file; none unless every file lies in a folder and there are two of them."""
    if table is not None:
        from ..datasets._folder import read_csv

        rows = [row for number, row in read_csv(table) if len(row) > 1 and (number > 1 or row[0] != "file")]
        known = {str(Path(root, row[0])): row[1].strip() for row in rows}
        found = {file: known[file] for file in files if file in known}
        if not found:
            raise ValueError(f"{str(table)!r} names no file in {str(root)!r}")
        return found
    parts = [Path(file).relative_to(root).parts for file in files]
    if any(len(part) < 2 for part in parts) or len({part[0] for part in parts}) < 2:
        return {}
    return {file: part[0] for file, part in zip(files, parts, strict=True)}
