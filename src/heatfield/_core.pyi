"""The native kernels (cpp/): arrays in, arrays filled. See cpp/core.hpp for what each does."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int64]

BLOCK: int

def isa() -> str: ...
def isas() -> list[str]: ...
def origin(points: Array, origin: Array) -> int: ...
def halve(points: Array, order: Places, keys: Array, first: int, last: int) -> int: ...
def sort(points: Array, order: Places, keys: Array, first: int, last: int) -> None: ...
def gather(
    points: Array, order: Places, origin: Array, factor: float, first: int, last: int, sources: Array
) -> None: ...
def boxes(sources: Array, boxes: Array) -> None: ...
def clouds(
    points: Array,
    ends: Places,
    sources: Array,
    boxes: Array,
    nearest: Array,
    extents: Array,
    exponents: Places,
) -> None: ...
def grow(boxes: Array, nodes: Array, begin: Places, size: Places) -> None: ...
def nearest(sources: Array, boxes: Array, nearest: Array, same: Places) -> None: ...
def spacing(nearest: Array, same: Places) -> float: ...
def nearest_by_tree(
    sources: Array,
    nodes: Array,
    begin: Places,
    size: Places,
    first: int,
    last: int,
    nearest: Array,
    same: Places,
) -> None: ...
def nearest_source(
    targets: Array, sources: Array, nodes: Array, begin: Places, size: Places, squares: Array, which: Places
) -> None: ...
def diameter(sources: Array, boxes: Array) -> float: ...
def distant_pair(sources: Array) -> float: ...
def directions(
    sources: Array, nodes: Array, begin: Places, size: Places, boxes: Array, radius: Array
) -> None: ...
def farthest_by_tree(
    sources: Array,
    nodes: Array,
    begin: Places,
    size: Places,
    boxes: Array,
    radius: Array,
    first: int,
    last: int,
    best: float,
) -> float: ...
