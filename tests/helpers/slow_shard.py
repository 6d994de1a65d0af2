"""A shard that takes long, for tests that stop it: it says when it begins and when it is done."""

import os
import time
from pathlib import Path

from heatfield._base.threads import stop_if_asked


def slow_shard(shard):
    """As `run_shard`, but only time passes. Interrupts do not shorten it, as they would not compiled code."""
    folder = Path(os.environ["SLOW_SHARD_FOLDER"])
    (folder / f"begun-{shard.number}").touch()
    end = time.monotonic() + 6
    while time.monotonic() < end:
        try:
            time.sleep(0.1)
        except KeyboardInterrupt:
            continue
    (folder / f"done-{shard.number}").touch()
    return 0.0, 0.0


def slow_shard_in_thread(shard):
    """As `slow_shard`, but asks between files whether it is to stop, as a shard in a thread does."""
    folder = Path(os.environ["SLOW_SHARD_FOLDER"])
    (folder / f"begun-{shard.number}").touch()
    for _ in range(60):
        stop_if_asked()
        time.sleep(0.1)
    (folder / f"done-{shard.number}").touch()
    return 0.0, 0.0
