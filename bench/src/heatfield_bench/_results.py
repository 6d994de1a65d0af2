"""Results on disk: a JSON-lines file per table, with a line for every cell as soon as it is finished.

Three kinds of lines follow the first one, which says what the file is: ``machine`` and ``data`` describe what
the lines after them refer to, ``cell`` is a result. A result belongs to the content of its data, the method,
the recipe and the split. Version, commit, machine and date say how it came about and decide nothing.

Lines are appended under a lock, so that a run can be killed at any time and several can share a folder. A
line that cannot be read is passed over and reported; nothing but lines of this kind is ever written over.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import heatfield
from heatfield._base.arrays import open_regular
from heatfield._base.files import write_atomically

from ._machine import commit, machine, now

try:
    import fcntl
except ImportError:  # Windows: two runs at once may compute a cell twice
    fcntl = None  # type: ignore[assignment]

FORMAT = 1
HEADER = "heatfield_bench"  # the name in the first line
LONGEST = 1 << 20  # characters of a line
# What a cell of a task must hold: the name of each part, and what is in it.
NUMBERS = dict[str, float]
PARTS: dict[str, dict[str, Any]] = {
    "accuracy": {"scores": dict[str, NUMBERS], "test": int},
    "rotation": {"scores": dict[str, NUMBERS], "test": int, "changed": NUMBERS},
    "robustness": {"scores": dict[str, NUMBERS], "test": int},
    "runtime": {"seconds": NUMBERS},
    "dimension": {"estimates": dict[str, list]},
    "summary": {"classes": int, "clouds": int, "points": list, "alignment": float},
    "earlier": {"scores": dict[str, NUMBERS]},
}


@dataclass(frozen=True)
class Key:
    """What a record belongs to; everything that decides a result is in it, but the data and the code."""

    task: str  # of PARTS
    data: str
    method: str
    recipe: dict[str, Any]
    size: tuple[int | None, int | None]  # clouds per class and points per cloud that were taken
    budget: str
    table: str = "main"  # whose file holds it; the same for all that share the rest

    @property
    def name(self) -> str:
        """Tells records apart."""
        text = json.dumps([self.recipe, list(self.size)], sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        return f"{self.data}/{self.method}/{self.task}/{self.budget}/{digest}"


@dataclass
class Record:
    """The cells of one key on the same data."""

    key: Key
    facts: dict[str, Any]  # of the data: content, splits, protocol
    cells: dict[int, dict[str, Any]] = field(default_factory=dict)

    @property
    def date(self) -> str:
        """Of the newest cell."""
        return max((cell.get("date", "") for cell in self.cells.values()), default="")

    def values(self, change: str = "none", metric: str | None = None) -> dict[int, float]:
        """Scores by split."""
        name = metric or self.facts["protocol"]["metric"]
        return {k: cell["scores"][change][name] for k, cell in self.cells.items()}

    @property
    def epochs(self) -> int:
        """How long it was trained; 0 of what has no epochs."""
        return min((int(cell.get("epochs", 0)) for cell in self.cells.values()), default=0)


def same_data(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether facts are of the same clouds and the same splits."""
    return _identity(before) == _identity(after)


def _identity(facts: Mapping[str, Any]) -> tuple[Any, Any]:
    return facts.get("content"), facts.get("splits")


class Store:
    """A folder of results.

    Parameters
    ----------
    folder : path-like
        The files of all tables. Other files in it are left alone.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._faults: dict[Path, list[str]] = {}  # lines and files that could not be read
        self._seen: dict[Path, tuple[int, ...]] = {}  # files as they were when they were read
        self._lines: dict[Path, list[dict[str, Any]]] = {}
        self._records: dict[str, dict[tuple[Any, Any], Record]] = {}

    def read(self, key: Key, facts: Mapping[str, Any] | None = None) -> Record | None:
        """The record of a key, of these data or of those that were used last; None where there is none."""
        return _newest(self._all().get(key.name, {}), facts)

    def done(self, key: Key, facts: Mapping[str, Any]) -> set[int]:
        """Splits that need not be computed."""
        record = self.read(key, facts)
        return set() if record is None else set(record.cells)

    def records(self) -> list[Record]:
        """All records; of each key those of the data that were used last."""
        return [record for found in self._all().values() if (record := _newest(found, None)) is not None]

    def problems(self) -> list[str]:
        """A sentence for each line and file that could not be read."""
        self._all()
        return [sentence for found in self._faults.values() for sentence in found]

    def check(self, table: str) -> None:
        """A ValueError where the file of a table is there and is not one of results."""
        self._all()
        place = self.folder / f"{table}.jsonl"
        if place.exists() and place not in self._lines:
            raise ValueError(f"{place} was not written by heatfield bench: give another folder of results")

    def add(
        self,
        key: Key,
        split: int,
        cell: Mapping[str, Any],
        facts: Mapping[str, Any],
        *,
        here: dict[str, Any] | None = None,
    ) -> None:
        """Write one cell, in place of one of the same key, data and split. ``here``: the worker's machine."""
        place = self.folder / f"{key.table}.jsonl"
        here = here or machine()
        mark = hashlib.sha256(json.dumps(here, sort_keys=True).encode()).hexdigest()[:8]
        content, splits = _identity(facts)
        line: dict[str, Any] = {
            "kind": "cell", "task": key.task, "data": key.data, "content": content, "splits": splits,
            "method": key.method, "recipe": key.recipe, "size": list(key.size), "budget": key.budget,
            "split": split, **cell,
            "version": heatfield.__version__, "commit": commit(), "machine": mark, "date": now(),
        }  # fmt: skip
        about = {"kind": "data", "data": key.data, **facts}
        with self.lock():
            self._all()
            there = self._lines.get(place, [])
            new = [known for known in ({"kind": "machine", "id": mark, **here}, about) if known not in there]
            old = self._records.get(key.name, {}).get(_identity(facts))
            if old is not None and split in old.cells:
                self._rewrite(place, [*new, line], without=(key.name, _identity(facts), split))
            else:
                self._append(place, [*new, line])

    def _append(self, place: Path, new: Sequence[Mapping[str, Any]]) -> None:
        self.check(place.stem)
        whole = place.exists() and place.stat().st_size > 0
        lines = [*([] if whole else [{HEADER: FORMAT, "table": place.stem}]), *new]
        text = "".join(_text(line) + "\n" for line in lines).encode()
        with open(place, "ab") as file:
            if whole and not _ends_with_newline(place):  # a run was killed in the middle of a line
                text = b"\n" + text
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        self._seen.pop(place, None)

    def _rewrite(
        self, place: Path, new: Sequence[Mapping[str, Any]], without: tuple[str, tuple[Any, Any], int]
    ) -> None:
        """The file with new lines and without one cell; lines that cannot be read stay."""
        kept = []
        for text in place.read_bytes().split(b"\n"):
            line = _parsed(text)
            cell = isinstance(line, dict) and line.get("kind") == "cell" and not _fault(line)
            if not cell or (_key(line, "").name, _identity(line), line["split"]) != without:
                kept.append(text)
        text = b"\n".join(line for line in kept if line)
        write_atomically(place, text + b"\n" + "".join(_text(line) + "\n" for line in new).encode())
        self._seen.pop(place, None)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Held for a moment by one process at a time; where the system knows no locks, by nobody."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / ".lock", "a") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _all(self) -> dict[str, dict[tuple[Any, Any], Record]]:
        """All records by name and data, read again where a file has changed."""
        now_ = {p: _state(p) for p in sorted(self.folder.glob("*.jsonl"))}
        if now_ != self._seen:
            for place in {*self._seen, *now_}:
                if self._seen.get(place) != now_.get(place):
                    self._lines.pop(place, None)
                    self._faults.pop(place, None)
                    if place in now_:
                        self._read(place)
            self._seen = now_
            self._index()
        return self._records

    def _read(self, place: Path) -> None:
        faults = self._faults[place] = []
        try:
            with open_regular(place) as file:
                texts = file.read().split(b"\n")
        except (OSError, ValueError) as error:
            faults.append(f"{place} cannot be read: {error}")
            return
        if texts == [b""]:
            self._lines[place] = []
            return
        first = _parsed(texts[0])
        if not isinstance(first, dict) or first.get(HEADER) != FORMAT:
            faults.append(f"{place} was not written by heatfield bench and is left alone")
            return
        lines = self._lines[place] = []
        for number, text in enumerate(texts[1:], 2):
            if not text.strip():
                continue
            line = _parsed(text)
            fault = "not JSON" if line is None else _fault(line)
            if fault:
                faults.append(f"{place}, line {number}: {fault}; passed over")
            else:
                lines.append(line)

    def _index(self) -> None:
        self._records = {}
        for place, lines in self._lines.items():
            facts = {(line["data"], *_identity(line)): line for line in lines if line["kind"] == "data"}
            for line in lines:
                if line["kind"] != "cell":
                    continue
                about = facts.get((line["data"], *_identity(line)))
                if about is None:
                    fault = (
                        f"{place}: no line describes the data {line['data']!r} of some results; passed over"
                    )
                    if fault not in self._faults[place]:
                        self._faults[place].append(fault)
                    continue
                key = _key(line, place.stem)
                found = self._records.setdefault(key.name, {})
                own = {name: value for name, value in about.items() if name not in ("kind", "data")}
                record = found.setdefault(_identity(line), Record(key, own))
                cell = {name: value for name, value in line.items() if name not in _OF_KEY}
                if line["split"] not in record.cells or cell["date"] >= record.cells[line["split"]]["date"]:
                    record.cells[line["split"]] = cell
        for found in self._records.values():
            for record in found.values():
                record.cells = dict(sorted(record.cells.items()))


_OF_KEY = {"kind", "task", "data", "content", "splits", "method", "recipe", "size", "budget", "split"}


def _newest(found: Mapping[tuple[Any, Any], Record], facts: Mapping[str, Any] | None) -> Record | None:
    if facts is not None:
        return found.get(_identity(facts))
    # Of the same minute, what stands further down in the file.
    return max(reversed(list(found.values())), key=lambda record: record.date, default=None)


def _key(line: Mapping[str, Any], table: str) -> Key:
    a, b = line["size"]
    return Key(line["task"], line["data"], line["method"], line["recipe"], (a, b), line["budget"], table)


def _text(line: Mapping[str, Any]) -> str:
    return json.dumps(line, separators=(",", ":"), ensure_ascii=False)


def _parsed(text: bytes) -> Any:
    """A line as data, or None."""
    if len(text) > LONGEST:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _fault(line: Any) -> str:
    """What is wrong with a line, or nothing."""
    kind = line.get("kind") if isinstance(line, dict) else None
    if kind == "machine":
        return "" if isinstance(line.get("id"), str) else "a machine without its mark"
    if kind == "data":
        protocol = line.get("protocol")
        known = isinstance(line.get("data"), str) and isinstance(protocol, dict)
        return "" if known and _fits(protocol.get("count"), int) else "data without a name or a protocol"
    if kind != "cell":
        return "not a line of results"
    kinds = {
        "task": str,
        "data": str,
        "method": str,
        "recipe": dict,
        "size": list,
        "budget": str,
        "split": int,
    }
    parts = kinds | {"date": str} | PARTS.get(str(line.get("task")), {"task": None})
    wrong = [name for name, kind in parts.items() if not _fits(line.get(name), kind)]
    if not wrong and (len(line["size"]) != 2 or not all(_fits(n, int | None) for n in line["size"])):
        wrong = ["size"]
    return f"a result whose {', '.join(map(repr, wrong))} cannot be" if wrong else ""


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is what a part must hold: a class, int or None, or a dictionary of names to those."""
    if kind is None:
        return False
    if kind == int | None:
        return value is None or _fits(value, int)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if isinstance(kind, type):
        return isinstance(value, kind)
    inner = kind.__args__[1]
    return isinstance(value, dict) and bool(value) and all(_fits(part, inner) for part in value.values())


def _state(place: Path) -> tuple[int, ...]:
    status = place.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


def _ends_with_newline(place: Path) -> bool:
    with open(place, "rb") as file:
        file.seek(0, os.SEEK_END)
        if file.tell() == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


class Claims:
    """Cells that this process computes, so that two runs in one folder share the work.

    A claim is a lock on one byte of a file, at a place that follows from the cell. The system gives it back
    when the process ends, however that happens.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.elsewhere: set[tuple[str, int]] = set()  # what others held when it was wanted last
        self._file: Any = None
        self._held: set[tuple[str, int]] = set()

    def take(
        self, key: Key, splits: Sequence[int], facts: Mapping[str, Any], *, again: bool = False
    ) -> list[int]:
        """Claim those of the splits that no other process has and that, unless ``again``, are not done."""
        taken = []
        for split in splits:
            cell = key.name, split
            self.elsewhere.discard(cell)
            if cell not in self._held and not self._lock(cell):
                self.elsewhere.add(cell)
            elif not again and split in self.store.done(key, facts):  # looked up after the lock was had
                self._held.add(cell)
                self.release(key, split)
            else:
                self._held.add(cell)
                taken.append(split)
        return taken

    def release(self, key: Key, split: int) -> None:
        """Give a claim back."""
        cell = key.name, split
        if cell in self._held:
            self._held.discard(cell)
            if fcntl is not None:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(cell))

    def release_all(self) -> None:
        """Give all back."""
        self._held.clear()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _lock(self, cell: tuple[str, int]) -> bool:
        if fcntl is None:
            return True
        if self._file is None:
            self.store.folder.mkdir(parents=True, exist_ok=True)
            self._file = open(self.store.folder / ".claims", "a")  # noqa: SIM115
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(cell))
        except OSError:
            return False
        return True


def _place(cell: tuple[str, int]) -> int:
    return int.from_bytes(hashlib.sha256(repr(cell).encode()).digest()[:7], "big")
