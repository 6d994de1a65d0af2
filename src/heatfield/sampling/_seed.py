"""A seed for each file from its name, so that neither order nor company matters."""

from __future__ import annotations

import hashlib


def seed_from_name(name: str, seed: int = 0) -> int:
    """A 64-bit seed that depends on the name and on ``seed`` alone.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    name : str
        Of a file.
    seed : int

    Returns
    -------
    seed : int

    Examples
    --------
    >>> seed_from_name("a.ply") == seed_from_name("a.ply"), seed_from_name("a.ply") == seed_from_name("b.ply")
    (True, False)
    """
    digest = hashlib.sha256(f"{seed}\n{name}".encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:8], "little")
