"""Work that takes long, for tests that stop it: it says when it begins and when it is done."""

import os
import time
from pathlib import Path

from heatfield._base.threads import stop_if_asked


def slow_work(load, _threads):
    """As `describe_some`, but only time passes; interrupts do not shorten it."""
    folder, name = Path(os.environ["SLOW_WORK_FOLDER"]), Path(load[0][0]).stem
    (folder / f"begun-{name}").touch()
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            stop_if_asked()  # between two files, as work in a thread does
            time.sleep(0.1)
        except KeyboardInterrupt:
            continue
    (folder / f"done-{name}").touch()
    return {}
