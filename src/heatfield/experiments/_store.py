"""Results on disk: a small JSON file per data set, method and recipe, with a cell for every split in it.

A cell is written as soon as it is finished. The file is read, completed and replaced in one step under a
lock, so that a run can be killed at any time and several processes can write to one folder.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._base.files import write_atomically
from ._machine import machine, now

FORMAT = 1


@dataclass(frozen=True)
class Key:
    """What a file of results belongs to; everything that decides a result is in it, but the code."""

    task: str  # "accuracy", "rotation", "robustness", "runtime", "dimension"
    data: str
    method: str
    recipe: dict[str, Any]
    size: tuple[int | None, int | None]  # clouds per class and points per cloud that were taken
    budget: str

    @property
    def digest(self) -> str:
        """Of recipe and size."""
        text = json.dumps([FORMAT, self.recipe, list(self.size)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def name(self) -> str:
        """The file, relative to the folder of results."""
        slug = re.sub(r"[^a-z0-9.]+", "-", self.method.lower().replace("+", " plus ")).strip("-")
        data = re.sub(r"[^a-z0-9_.]+", "-", self.data.lower()).strip("-")
        return f"{data}/{slug}-{self.task}-{self.budget}-{self.digest}.json"


class Store:
    """A folder of results.

    Parameters
    ----------
    folder : path-like
        Records; in ``cache`` in it what can be made again (features, claims, locks), not to be kept.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.cache = self.folder / "cache"

    def path(self, key: Key) -> Path:
        """Where the record of a key is, or would be."""
        return self.folder / key.name

    def read(self, key: Key) -> dict[str, Any] | None:
        """The record of a key, or None; a ValueError that names the file where it is no record."""
        path = self.path(key)
        return read_record(path) if path.exists() else None

    def cells(self, key: Key) -> dict[int, dict[str, Any]]:
        """The cells that are done, by split."""
        record = self.read(key)
        return {} if record is None else {int(k): cell for k, cell in record["splits"].items()}

    def done(self, key: Key, *, code: str | None = None, facts: dict[str, Any] | None = None) -> set[int]:
        """Splits that need not be computed; with ``code`` by that code, with ``facts`` of those data."""
        record = self.read(key)
        if record is None or (facts is not None and not same_data(record["facts"], facts)):
            return set()
        return {int(k) for k, cell in record["splits"].items() if code is None or cell["code"] == code}

    def add(
        self, key: Key, split: int, cell: dict[str, Any], facts: dict[str, Any], code: str,
        *, here: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Write one cell; the others of the file stay. ``here`` is the machine of a worker."""
        path = self.path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        with self.lock():
            record = self.read(key) or {
                "format": FORMAT, "task": key.task, "data": key.data, "method": key.method,
                "budget": key.budget, "recipe": key.recipe, "size": list(key.size), "facts": facts,
                "machines": {}, "splits": {},
            }  # fmt: skip
            if not same_data(record["facts"], facts):
                # Other clouds or other splits under the same name: the old cells belong to something else.
                record |= {"splits": {}, "machines": {}}
            record["facts"] = facts
            here = here or machine()
            mark = hashlib.sha256(json.dumps(here, sort_keys=True).encode()).hexdigest()[:8]
            record["machines"][mark] = here
            record["splits"][str(split)] = cell | {"code": code, "machine": mark, "date": now()}
            record["splits"] = dict(sorted(record["splits"].items(), key=lambda item: int(item[0])))
            self.replace(key, record)

    def replace(self, key: Key, record: dict[str, Any]) -> None:
        """Write a record as a whole; the caller holds the lock."""
        write_atomically(self.path(key), _text(record).encode())

    def records(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """All records, by name."""
        for path in sorted(self.folder.glob("*/*.json")):
            if self.cache not in path.parents:
                yield path, read_record(path)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Held for a moment, by one process at a time; where the system knows no locks, by nobody."""
        self.cache.mkdir(parents=True, exist_ok=True)
        with open(self.cache / ".lock", "a") as file:
            try:
                import fcntl
            except ImportError:  # Windows: cells of one file are then written by one process only
                yield
                return
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def same_data(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether facts are of the same clouds and the same splits."""
    return all(before.get(name) == after.get(name) for name in ("content", "splits"))


def _text(record: dict[str, Any]) -> str:
    """JSON with one line per cell: small, and a change of one cell is a change of one line."""
    lines = []
    for name, value in record.items():
        if name in ("splits", "machines") and value:
            inner = ",\n".join(f'  "{k}": {json.dumps(v)}' for k, v in value.items())
            lines.append(f' "{name}": {{\n{inner}\n }}')
        else:
            lines.append(f' "{name}": {json.dumps(value)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read_record(path: Path) -> dict[str, Any]:
    """A record from its file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} is no record of an experiment: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT or "splits" not in found:
        raise ValueError(f"{path} is no record of an experiment of format {FORMAT}")
    return found
