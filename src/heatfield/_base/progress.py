"""The one progress bar: on a terminal only, and only for work that takes a while."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tqdm import tqdm as Bar  # noqa: N812

__all__ = ["Bar", "progress_bar"]


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
    main work appears at once and stays. Where standard error is not a terminal there is none.

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
    return Bar(
        items,
        total=total,
        unit=unit if unit == "B" else f" {unit}",
        delay=0 if keep else 2,
        leave=keep,
        disable=True if quiet else None,
        **more,
    )
