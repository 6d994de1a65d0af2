"""Results on disk: a JSON-lines file per table, with a line for every cell as soon as it is finished.

Three kinds of lines follow the first one, which says what the file is: ``machine`` and ``data`` describe what
the lines after them refer to, ``cell`` is a result. A result belongs to the content of its data, the method,
the recipe and the split. Version, commit, machine and date say how it came about and decide nothing.

Lines are only ever appended, so that a run can be killed at any time; of two results of the same key, data
and split the one further down counts. A line that cannot be read is passed over and reported.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from numbers import Real
from pathlib import Path
from types import UnionType
from typing import Any

import heatfield
from heatfield._base.files import open_regular

FORMAT = 1
HEADER = "heatfield_bench"  # the name in the first line
LONGEST = 1 << 20  # characters of a line
# What the lines of a file hold. A question mark ends the name of what may be missing, a star stands for any
# names, at least one; a tuple is a list of as many.
NUMBERS = {"*": float}
PAIR = (Real, Real)  # NaN too
SCORED = {"scores": {"*": NUMBERS}, "test": int}
LINES: dict[str, dict[str, Any]] = {
    "machine": {"id": str},
    "data": {
        "data": str, "content?": str | None, "splits?": str | None,
        "protocol": {"count": int, "metric?": str},
    },
    "cell": {
        "task": str, "data": str, "method": str, "budget": str, "date": str, "content?": str | None,
        "splits?": str | None, "recipe": dict, "size": (int | None, int | None), "split": int,
        "epochs?": int, "train_accuracy?": float, "deviation?": {"*": Real}, "changed?": NUMBERS,
    },
}  # fmt: skip
# And the cells of each task.
PARTS: dict[str, dict[str, Any]] = {
    "accuracy": SCORED,
    "rotation": SCORED | {"changed": NUMBERS},
    "robustness": SCORED,
    "descriptors": SCORED | {"seconds": NUMBERS, "columns": int},
    "runtime": {"seconds": NUMBERS},
    "dimension": {"estimates": {"*": PAIR}},
    "summary": {"classes": int, "clouds": int, "points": (int, int, int), "alignment": float},
    "earlier": {"scores": {"*": NUMBERS}},
}
# Content of data from generators that were replaced. Results on it are shown until there is one on the data
# of now, never beside it; the table of descriptors has none. Results without any content are of the
# generators before the first change.
FORMER = {
    "processes": ("", "7880bb6dec4985c4aa460973", "8a8d844dd860dc828f233a14"),
    "disks_annuli": ("", "75495f86ffd109a8cd50e029", "8863375d75b065685866cd62"),
    "disks_annuli_balanced": ("", "26f10fee7407a86b5dca27ca"),
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
    metadata: dict[str, Any]  # of the data: content, splits, protocol
    cells: dict[int, dict[str, Any]] = field(default_factory=dict)

    @property
    def date(self) -> str:
        """Of the newest cell."""
        return max((cell.get("date", "") for cell in self.cells.values()), default="")

    def values(self, change: str = "none", metric: str | None = None) -> dict[int, float]:
        """Scores by split."""
        name = metric or self.metadata["protocol"]["metric"]
        found = {k: cell["scores"].get(change, {}) for k, cell in self.cells.items()}
        return {k: scores[name] for k, scores in found.items() if name in scores}

    @property
    def former(self) -> bool:
        """Whether its data are of a generator that was replaced."""
        return self.metadata.get("content") in FORMER.get(self.key.data, ())

    @property
    def epochs(self) -> int:
        """How long it was trained; 0 of what has no epochs."""
        return min((int(cell.get("epochs", 0)) for cell in self.cells.values()), default=0)


def same_data(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether metadata are of the same clouds and the same splits."""
    return _identity(before) == _identity(after)


def _identity(metadata: Mapping[str, Any]) -> tuple[Any, Any]:
    return metadata.get("content"), metadata.get("splits")


class Store:
    """A folder of results, read once; one process at a time writes to it. Other files are left alone."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._faults: dict[Path, list[str]] = {}  # lines and files that could not be read
        self._lines: dict[Path, list[dict[str, Any]]] = {}
        self._found: dict[str, dict[tuple[Any, Any], Record]] | None = None

    def read(self, key: Key, metadata: Mapping[str, Any] | None = None) -> Record | None:
        """The record of a key, of these data or of those that were used last; None where there is none."""
        return _newest(self._all().get(key.name, {}), metadata)

    def done(self, key: Key, metadata: Mapping[str, Any]) -> set[int]:
        """Splits that need not be computed."""
        record = self.read(key, metadata)
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

    def refresh(self) -> None:
        """Read the files again when they are needed: another process may have written to them."""
        self._found = None

    def add(
        self, key: Key, split: int, cell: Mapping[str, Any], metadata: Mapping[str, Any],
        *, here: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Write one cell, which counts from now on. ``here``: the worker's machine."""
        self.check(key.table)
        place, here = self.folder / f"{key.table}.jsonl", here or machine()
        mark = hashlib.sha256(json.dumps(here, sort_keys=True).encode()).hexdigest()[:8]
        content, splits = _identity(metadata)
        line: dict[str, Any] = {
            "kind": "cell", "task": key.task, "data": key.data, "content": content, "splits": splits,
            "method": key.method, "recipe": key.recipe, "size": list(key.size), "budget": key.budget,
            "split": split, **cell,
            "version": heatfield.__version__, "commit": commit(), "machine": mark, "date": now(),
        }  # fmt: skip
        there = self._lines.setdefault(place, [])
        about = [{"kind": "machine", "id": mark, **here}, {"kind": "data", "data": key.data, **metadata}]
        new = [*(known for known in about if known not in there), line]
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(place, "ab") as file:
            head = "" if file.tell() else _text({HEADER: FORMAT, "table": place.stem}) + "\n"
            if not head and not _ends_with_newline(place):  # a run was killed in the middle of a line
                head = "\n"
            file.write((head + "".join(_text(one) + "\n" for one in new)).encode())
            file.flush()
            os.fsync(file.fileno())
        there += json.loads(json.dumps(new))  # as they are read again
        self._index()

    def _all(self) -> dict[str, dict[tuple[Any, Any], Record]]:
        """All records by name and data."""
        if self._found is None:
            self._lines, self._faults = {}, {}
            for place in sorted(self.folder.glob("*.jsonl")):
                self._read(place)
            self._index()
        assert self._found is not None
        return self._found

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
        self._found = {}
        for place, lines in self._lines.items():
            known = {(line["data"], *_identity(line)): line for line in lines if line["kind"] == "data"}
            faults = self._faults.setdefault(place, [])
            faults[:] = [fault for fault in faults if not fault.startswith(f"{place}: no line")]
            for line in lines:
                if line["kind"] != "cell":
                    continue
                about = known.get((line["data"], *_identity(line)))
                if about is None:
                    what = f"{place}: no line describes the data {line['data']!r} of some results"
                    faults += [f"{what}; passed over"] if f"{what}; passed over" not in faults else []
                    continue
                wanted = about["protocol"].get("metric")
                if "scores" in PARTS[line["task"]] and wanted not in line["scores"].get("none", {}):
                    what = f"{place}: no line with the score {wanted!r}, of {line['data']!r} / "
                    what += repr(line["method"])
                    faults += [f"{what}; passed over"] if f"{what}; passed over" not in faults else []
                    continue
                key = _key(line, place.stem)
                own = {name: value for name, value in about.items() if name not in ("kind", "data")}
                found = self._found.setdefault(key.name, {})
                record = found.setdefault(_identity(line), Record(key, own))
                cell = {name: value for name, value in line.items() if name not in _OF_KEY}
                if line["split"] not in record.cells or cell["date"] >= record.cells[line["split"]]["date"]:
                    record.cells[line["split"]] = cell
        records = [record for found in self._found.values() for record in found.values()]
        shown = [r for r in records if r.key.budget != "smoke" and r.key.task != "descriptors"]
        replaced = {r.key.data for r in shown if not r.former}
        for name, found in list(self._found.items()):
            for identity, record in list(found.items()):
                record.cells = dict(sorted(record.cells.items()))
                if record.former and record.key.data in replaced:
                    del found[identity]
            if not found:
                del self._found[name]


_OF_KEY = {"kind", "task", "data", "content", "splits", "method", "recipe", "size", "budget", "split"}


def _newest(found: Mapping[tuple[Any, Any], Record], metadata: Mapping[str, Any] | None) -> Record | None:
    if metadata is not None:
        return found.get(_identity(metadata))
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
    if not isinstance(kind, str) or kind not in LINES:
        return "not a line of results"
    wrong = _wrong(line, LINES[kind])
    if kind == "cell" and not wrong:
        task = line["task"]
        wrong = _wrong(line, PARTS[task]) if task in PARTS else ["task"]
        if task == "dimension" and not wrong:  # the recipe names what was estimated
            named = line["recipe"].get("manifolds")
            known = isinstance(named, list) and {*map(str, named)} <= {*line["estimates"]}
            wrong = [] if known else ["estimates"]
    what = {"machine": "a machine", "data": "data", "cell": "a result"}[kind]
    return f"{what} whose {', '.join(map(repr, wrong))} cannot be" if wrong else ""


def _wrong(found: Mapping[str, Any], kinds: Mapping[str, Any]) -> list[str]:
    """The names of what is missing, or not what it must be."""
    asked = {name.rstrip("?"): kind for name, kind in kinds.items() if name[-1] != "?" or name[:-1] in found}
    return [name for name, kind in asked.items() if not _fits(found.get(name), kind)]


def _fits(value: Any, kind: Any) -> bool:
    if isinstance(kind, dict):
        if not isinstance(value, dict) or "*" not in kind:
            return isinstance(value, dict) and not _wrong(value, kind)
        return bool(value) and all(_fits(part, kind["*"]) for part in value.values())
    if isinstance(kind, tuple):
        return isinstance(value, list) and len(value) == len(kind) and all(map(_fits, value, kind))
    if isinstance(kind, UnionType):
        return any(_fits(value, one) for one in kind.__args__)
    if kind is float:
        return _fits(value, Real) and math.isfinite(value)
    return isinstance(value, kind) and not isinstance(value, bool) and (kind is not int or value >= 0)


def _ends_with_newline(place: Path) -> bool:
    with open(place, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


# --- where and when a result was made --------------------------------------------------

PACKAGES = (
    "numpy", "scipy", "numba", "scikit-learn", "torch", "open3d-cpu", "gudhi", "multipers", "xgboost-cpu",
)  # fmt: skip


def now() -> str:
    """Date and time, UTC."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def processor() -> tuple[str, list[str]]:
    """Name of the processor, and all its flags where the system tells them."""
    name, flags = platform.processor() or platform.machine(), []
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                name = value.strip()
            elif key.strip() == "flags":
                flags = value.split()
                break
    return name, flags


def version_of(package: str) -> str | None:
    """The installed version, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@cache
def machine() -> dict[str, Any]:
    """Processor, cores, threads of linear algebra, Python, and versions of what computes."""
    return {
        "cpu": processor()[0],
        "cores": cores(),
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
        "system": platform.system(),
        "versions": {"heatfield": heatfield.__version__, "python": platform.python_version()}
        | {name: found for name in PACKAGES if (found := version_of(name))},
    }


def load_average() -> list[float] | None:
    """Processes that wanted to run during the last 1, 5 and 15 minutes, where the system tells it."""
    return [round(x, 2) for x in os.getloadavg()] if hasattr(os, "getloadavg") else None


@cache
def commit() -> str:
    """Of the checkout that the library is imported from, with a plus where files differ; empty elsewhere."""
    source = Path(heatfield.__file__).resolve().parent
    root = source.parents[1]
    if not (root / ".git").exists():
        return ""
    git = ["git", "-C", str(root)]
    try:
        found = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--", "src", "bench/src"], capture_output=True, text=True
        )
    except OSError:
        return ""
    return found.stdout.strip() + ("+" if changed.stdout.strip() else "")
