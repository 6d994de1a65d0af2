"""Which process works on which cells, so that two share the work and none is done twice."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .._base.summary import plural
from ._store import Key, Store

# Claims are touched while their process lives: one of another computer, which cannot be asked for the
# process, is void when it was not touched for so long.
TOUCH_SECONDS = 60.0
FOREIGN_SECONDS = 15 * 60.0
# Earlier versions did not touch theirs.
UNTOUCHED_SECONDS = 12 * 3600.0


class Claims:
    """Claims of this process in a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.folder = store.cache / "claims"
        self.held: set[Path] = set()
        self.own = _self()  # once: a host may get another name while it runs
        self.others: dict[Path, dict[str, Any]] = {}  # what others held when it was wanted, and who
        self._ended: threading.Event | None = None

    def take(
        self, key: Key, splits: Sequence[int], *, code: str | None = None, facts: dict[str, Any] | None = None
    ) -> list[int]:
        """Claim those of the splits that are neither done nor claimed by a process that lives.

        With ``code`` cells of other code are not done, with ``facts`` those of other data.
        """
        taken = []
        with self.store.lock():
            self.folder.mkdir(parents=True, exist_ok=True)
            done = self.store.done(key, code=code, facts=facts)
            for split in splits:
                place = self._place(key, split)
                self.others.pop(place, None)
                if split in done:
                    continue
                if place not in self.held and (holder := living(place)) is not None:
                    self.others[place] = holder
                    continue
                place.write_text(json.dumps(self.own))
                self.held.add(place)
                taken.append(split)
        if taken and self._ended is None:
            self._ended = threading.Event()
            threading.Thread(target=self._touch, args=(self._ended,), daemon=True).start()
        return taken

    def is_elsewhere(self, key: Key, split: int) -> bool:
        """Whether a process that lives held a split when it was wanted last."""
        return self._place(key, split) in self.others

    def left_to_others(self) -> Iterator[str]:
        """A line for each process to which cells were left: where it is, and which files say so."""
        by_holder: dict[tuple[Any, Any], list[Path]] = {}
        for place, holder in self.others.items():
            by_holder.setdefault((holder.get("host"), holder.get("pid")), []).append(place)
        for (host, pid), places in by_holder.items():
            more = f" and {len(places) - 1} more beside it" if len(places) > 1 else ""
            yield f"{plural(len(places), 'cell')} left to process {pid} on {host}: claim {places[0]}{more}"

    def release(self, key: Key, split: int) -> None:
        """Give a claim back, done or not."""
        self._give(self._place(key, split))

    def release_all(self) -> None:
        """Give all back."""
        for place in tuple(self.held):
            self._give(place)
        if self._ended is not None:
            self._ended.set()
            self._ended = None

    def _give(self, place: Path) -> None:
        if place in self.held and self._is_mine(place):
            place.unlink(missing_ok=True)
        self.held.discard(place)

    def _touch(self, ended: threading.Event) -> None:
        while not ended.wait(TOUCH_SECONDS):
            for place in tuple(self.held):
                if self._is_mine(place):
                    with suppress(OSError):  # it was given back just now
                        os.utime(place)

    def _is_mine(self, place: Path) -> bool:
        """Whether a claim is still this process's: after a long sleep another may have taken it over."""
        try:
            return bool(json.loads(place.read_text()) == self.own)
        except (OSError, ValueError):
            return False

    def _place(self, key: Key, split: int) -> Path:
        return self.folder / f"{key.name.replace('/', '--')[:-5]}--{split}.claim"


def alive(place: Path) -> bool:
    """Whether the process that holds a claim still runs; of another computer, whether it did lately."""
    return living(place) is not None


def living(place: Path) -> dict[str, Any] | None:
    """The process that holds a claim, if it still runs."""
    try:
        holder: dict[str, Any] = json.loads(place.read_text())
        age = time.time() - place.stat().st_mtime
    except (OSError, ValueError):
        return None
    if holder.get("host") != socket.gethostname() or os.name == "nt":  # Windows cannot ask without ending it
        return holder if age < (FOREIGN_SECONDS if "touched" in holder else UNTOUCHED_SECONDS) else None
    pid = int(holder.get("pid", 0))
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    # A number is given again: another process has another start.
    return holder if holder.get("started") == started(pid) else None


def started(pid: int) -> str | None:
    """When a process was started, in the system's own count; None where it does not tell."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def _self() -> dict[str, Any]:
    own = os.getpid()
    return {"host": socket.gethostname(), "pid": own, "started": started(own), "touched": TOUCH_SECONDS}
