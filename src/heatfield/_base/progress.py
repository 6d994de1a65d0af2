"""The one progress bar: on a terminal only, and only for work that takes a while."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from threading import Event, Thread
from typing import Any

from tqdm import tqdm as Bar  # noqa: N812

__all__ = ["Bar", "progress_bar", "trainings_to_come"]

# How many trainings of the same length follow the one that is running: the time left is that of all.
trainings_to_come: ContextVar[int] = ContextVar("trainings_to_come", default=0)
_EVERY = 1.0  # seconds after which a bar is drawn again


def progress_bar(
    items: Iterable[Any] | None = None,
    *,
    unit: str,
    total: int | None = None,
    quiet: bool = False,
    keep: bool = False,
    **more: Any,
) -> Bar:
    """A bar over ``items``, or one that ``update`` advances.

    It appears after two seconds and is removed when the work is done, unless ``keep``: the bar of a command's
    main work appears at once, stays, and counts the seconds also while one item takes long. Where standard
    error is not a terminal there is none.

    Parameters
    ----------
    items : iterable, optional
    unit : str
        What is counted.
    total : int, optional
        How many there are, where ``items`` has no length.
    quiet : bool
        No bar at all.
    keep : bool
    **more
        Further arguments of `tqdm.tqdm`, such as ``unit_scale`` and ``desc``.
    """
    # disable=None: no bar where standard error is not a terminal.
    bar = Bar(
        items,
        total=total,
        unit=unit if unit == "B" else f" {unit}",
        delay=0 if keep else 2,
        leave=keep,
        disable=True if quiet else None,
        **more,
    )
    if keep and not bar.disable:
        _count_seconds(bar)
    return bar


def _count_seconds(bar: Bar) -> None:
    """Draw the bar again every second until it is closed, so that one long item is not taken for a hang."""
    done, close = Event(), bar.close

    def draw() -> None:
        while not done.wait(_EVERY):
            bar.refresh()

    def close_and_end() -> None:
        done.set()
        drawer.join()  # nothing is drawn after the end
        close()

    bar.close = close_and_end
    drawer = Thread(target=draw, name="heatfield-progress", daemon=True)
    drawer.start()
