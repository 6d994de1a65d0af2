"""Which process works on which cells, so that two share the work and none is done twice."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

from ._store import Key, Store

# A claim from another computer counts as long as its file was touched within so many seconds.
FOREIGN_SECONDS = 12 * 3600.0


class Claims:
    """Claims of this process in a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.folder = store.cache / "claims"
        self.held: set[Path] = set()

    def take(self, key: Key, splits: list[int]) -> list[int]:
        """Claim those of the splits that are neither done nor claimed by a process that lives."""
        taken = []
        with self.store.lock():
            self.folder.mkdir(parents=True, exist_ok=True)
            done = self.store.cells(key)
            for split in splits:
                place = self._place(key, split)
                if split in done or (place.exists() and place not in self.held and alive(place)):
                    continue
                place.write_text(json.dumps(_self()))
                self.held.add(place)
                taken.append(split)
        return taken

    def release(self, key: Key, split: int) -> None:
        """Give a claim back, done or not."""
        place = self._place(key, split)
        place.unlink(missing_ok=True)
        self.held.discard(place)

    def release_all(self) -> None:
        """Give all back."""
        for place in list(self.held):
            place.unlink(missing_ok=True)
        self.held.clear()

    def _place(self, key: Key, split: int) -> Path:
        return self.folder / f"{key.name.replace('/', '--')[:-5]}--{split}.claim"


def alive(place: Path) -> bool:
    """Whether the process that holds a claim still runs; of another computer, whether it did lately."""
    try:
        holder: dict[str, Any] = json.loads(place.read_text())
        age = time.time() - place.stat().st_mtime
    except (OSError, ValueError):
        return False
    if holder.get("host") != socket.gethostname() or os.name == "nt":  # Windows cannot ask without ending it
        return age < FOREIGN_SECONDS
    pid = int(holder.get("pid", 0))
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    # A number is given again: another process has another start.
    return holder.get("started") == started(pid)


def started(pid: int) -> str | None:
    """When a process was started, in the system's own count; None where it does not tell."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def _self() -> dict[str, Any]:
    return {"host": socket.gethostname(), "pid": os.getpid(), "started": started(os.getpid())}
