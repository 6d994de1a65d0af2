"""Graphcodes of many clouds, packed one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heatfield._base.check import Array

from ._bifiltration import Bifiltration
from ._slices import sliced


@dataclass(frozen=True)
class GraphTable:
    """Nodes and edges of the graphs of N clouds; edges count nodes from the first of their cloud."""

    node_starts: NDArray[np.int64]  # (N + 1,)
    edge_starts: NDArray[np.int64]
    values: NDArray[np.float32]  # (P, F)
    cell: NDArray[np.int64]  # degree * slices + slice of each node
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    cells: int

    def __len__(self) -> int:
        return len(self.node_starts) - 1


def graph_of(
    complex_: Bifiltration, degrees: tuple[int, ...], thresholds: Array, *, edges: bool, max_bars: int | None
) -> tuple[NDArray, ...]:
    """Values (P, 3 + degrees), cells, sources and targets of one cloud whose values run from 0 to 1.

    A node's values are birth, death (1, the end of the box, if it does not end), slice from 0 to 1, and
    which of several degrees it is of.
    """
    rows, cells, sources, targets = [], [], [], []
    moved, count = 0, len(thresholds)
    for place, degree in enumerate(degrees):
        found = sliced(complex_, degree, thresholds, maps=edges)
        owner = np.repeat(np.arange(count), np.diff(found.starts))
        death = np.minimum(found.death, 1.0)
        keep = np.ones(len(owner), bool)
        if max_bars is not None:  # the longest of each slice; of equal ones the first
            order = np.lexsort((np.arange(len(owner)), found.birth - death, owner))
            keep[order] = np.arange(len(owner)) - found.starts[owner[order]] < max_bars
        number = np.cumsum(keep) - 1 + moved
        values = np.zeros((len(owner), 3 + (len(degrees) if len(degrees) > 1 else 0)), np.float32)
        values[:, 0], values[:, 1], values[:, 2] = found.birth, death, owner / max(1, count - 1)
        if len(degrees) > 1:
            values[:, 3 + place] = 1.0
        rows.append(values[keep])
        cells.append((owner + place * count)[keep])
        both = keep[found.source] & keep[found.target]
        sources.append(number[found.source[both]])
        targets.append(number[found.target[both]])
        moved += int(keep.sum())
    return tuple(np.concatenate(parts) for parts in (rows, cells, sources, targets))


def pack_graphs(graphs: list[tuple[Any, ...]], cells: int) -> GraphTable:
    """One table of the graphs of all clouds."""
    values, cell, source, target = (np.concatenate([g[k] for g in graphs]) for k in range(4))
    nodes, edges = (np.cumsum([0, *(len(g[k]) for g in graphs)]) for k in (0, 2))
    return GraphTable(nodes, edges, values, cell, source, target, cells)
