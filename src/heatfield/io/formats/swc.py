"""SWC: a neuron as a tree of nodes, ``id type x y z radius parent`` a line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...options import Reading
from ..cloud import Cloud, Format
from ..limits import Source
from ..text import Numbers, first_numbers, read_numbers

_SOMA = 1


def read_swc(source: Source, reading: Reading) -> Cloud:
    """Nodes in the order of the file, with ``parents`` as rows.

    Ids may be in any order and have gaps, children may come before parents, and there may
    be several roots (parent -1). A parent that does not exist (unless ``orphans="root"``), an id given
    twice and a cycle are errors.

    ``soma="drop"`` removes the nodes of type 1, and with them the stretches that join
    the cell body to its branches; ``"keep"`` treats them as any other node.
    """
    source = source.without(b"#")
    table = read_numbers(source, comments=())
    if table.values.shape[1] < 7:
        raise source.error(
            f"has {table.values.shape[1]} columns where SWC has 7: id type x y z radius parent",
            table.place(0),
        )
    values = table.values
    ids, kinds, parent_ids = (
        _integers(table, values[:, c], n) for c, n in ((0, "id"), (1, "type"), (6, "parent"))
    )
    order = np.argsort(ids, kind="stable")
    ranked = ids[order]
    twice = np.flatnonzero(ranked[1:] == ranked[:-1])
    if len(twice):
        raise source.error(f"id {ranked[twice[0]]} is given twice", table.place(int(order[twice[0] + 1])))
    parents = np.full(len(ids), -1, dtype=np.int64)
    child = np.flatnonzero(parent_ids != -1)
    slot = np.minimum(np.searchsorted(ranked, parent_ids[child]), len(ids) - 1)
    missing = np.flatnonzero(ranked[slot] != parent_ids[child])
    if len(missing) and reading.orphans == "root":
        child, slot = np.delete(child, missing), np.delete(slot, missing)
    elif len(missing):
        row = int(child[missing[0]])
        raise source.error(
            f"node {ids[row]} hangs on node {parent_ids[row]}, which does not exist; orphans='root' "
            "reads such nodes as roots",
            table.place(row),
        )
    parents[child] = order[slot]
    row = _on_cycle(parents)
    if row >= 0:
        raise source.error(f"node {ids[row]} is its own ancestor", table.place(row))
    columns: dict[str, NDArray] = {
        "id": ids,
        "type": kinds,
        "radius": values[:, 5].copy(),
        "parent": parent_ids,
    }
    for c in range(7, values.shape[1]):
        columns[f"column{c + 1}"] = values[:, c].copy()
    cloud = Cloud(values[:, 2:5].copy(), columns, "swc", parents=parents)
    return without_soma(cloud) if reading.soma == "drop" else cloud


def _integers(table: Numbers, column: NDArray[np.float64], name: str) -> NDArray[np.int64]:
    whole = np.isfinite(column) & (np.abs(column) < 2**53)
    whole &= np.where(whole, column, 0.5) == np.rint(np.where(whole, column, 0.0))
    if not whole.all():
        row = int(np.argmin(whole))
        raise table.source.error(f"{name} must be an integer, got {column[row]:g}", table.place(row))
    return column.astype(np.int64)


def _on_cycle(parents: NDArray[np.int64]) -> int:
    """A node from which no root is reached, or -1. Path lengths double, so it takes log2(m) steps."""
    reach = np.where(parents < 0, np.arange(len(parents)), parents)
    for _ in range(max(1, len(parents).bit_length())):
        reach = reach[reach]
    lost = np.flatnonzero(parents[reach] >= 0)
    return int(lost[0]) if len(lost) else -1


def without_soma(cloud: Cloud) -> Cloud:
    """A skeleton without its nodes of type 1."""
    assert cloud.parents is not None
    keep = np.flatnonzero(cloud.columns["type"] != _SOMA)
    new = np.full(len(cloud.points) + 1, -1, dtype=np.int64)  # the last place answers for parent -1
    new[keep] = np.arange(len(keep))
    part = cloud.take(keep)
    return replace(part, parents=new[cloud.parents[keep]])


def _is_swc(source: Source) -> bool:
    words = first_numbers(source.head)
    return len(words) == 7 and words[6] == b"-1" and words[0].isdigit() and words[1].isdigit()


_SAMPLE = b"""# Zeichner: M\xfcller
1 1 0 0 0 3.0 -1
2 3 1.5 0 0 1.0 1
5 3 1.5 2 0 1.0 2
4 2 0 0 4 0.5 1
"""
FORMAT = Format(
    name="swc",
    suffixes=(".swc", ".eswc"),
    magic=_is_swc,
    read=read_swc,
    unmarked=True,
    sample=lambda: _SAMPLE,
    title="SWC",
    kept="id, type, radius, parent; the tree as rows",
)
