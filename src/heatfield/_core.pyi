"""The native kernels (cpp/): arrays in, arrays filled. See cpp/core.hpp for what each does."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int64]

BLOCK: int
SINGLE_ERROR: float
TOTAL_ERROR: float
TINY_TIME: float

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
    orders: Places | None = None,
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
def dense(
    sources: Array,
    boxes: Array,
    ends: Places,
    nearest: Array,
    times: Array,
    n: int,
    log_accuracy: float,
    single: bool,
    fourth: bool,
    directions: bool,
    first: int,
    last: int,
    sums: Array,
) -> None: ...
def differences(
    sources: Array,
    boxes: Array,
    ends: Places,
    times: Array,
    n: int,
    log_accuracy: float,
    single: bool,
    values: Array,
    from_scale: Places,
    to_scale: Places,
    first: int,
    last: int,
    out: Array,
) -> None: ...
def segment_sums(values: Array, ends: Places, out: Array) -> None: ...
def pool(values: Array, ends: Places, out: Array) -> None: ...
def correlate(values: Array, ends: Places, pairs: Places, least: float, out: Array) -> None: ...
def shares(logs: Array) -> None: ...
def eigenvalues(packed: Array, out: Array) -> None: ...
def eigenvalues_back(packed: Array, given: Array, out: Array) -> None: ...
def eigenvectors(packed: Array, out: Array) -> None: ...
def by_point(values: Array, rows: Places, first: int, last: int, out: Array) -> None: ...
def unpack_lzf(packed: NDArray[np.uint8], out: NDArray[np.uint8]) -> int: ...
def farthest(sources: Array, nearest: Array, rows: Places, first: int, last: int) -> int: ...
def walk(
    features: NDArray[np.float32],
    starts: Places,
    feature: NDArray[np.int32],
    threshold: Array,
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    missing_left: NDArray[np.bool_],
    value: Array,
    margins: Array,
) -> None: ...
def strauss(
    state: NDArray[np.uint64],
    beta: float,
    gamma: float,
    radius: float,
    steps: int,
    count: int,
    points: Array,
) -> int: ...
def dense_back(
    sources: Array,
    boxes: Array,
    ends: Places,
    nearest: Array,
    times: Array,
    n: int,
    log_accuracy: float,
    single: bool,
    given: Array,
    fourth: bool,
    directions: bool,
    energy: bool,
    rows: Places,
    first: int,
    last: int,
    by_points: Array,
    by_times: Array,
) -> None: ...
def smallest(distances: NDArray[np.float32] | Array, starts: Places, begin: int, out: Places) -> None: ...
def extremes(
    points: Array, ends: Places, first: int, last: int, nearest: Places, longest: Array, farthest: Places
) -> None: ...
def blocks_within(
    nodes: Array, begin: Places, size: Places, low: Array, high: Array, cut: float, found: Places
) -> int: ...
def estimate_within(
    nodes: Array, begin: Places, size: Places, low: Array, high: Array, cut: float, points: int
) -> int: ...
def width_for(eps: float) -> int: ...
def log_accuracy_for(eps: float, fourth: bool) -> float: ...
def transform_cost(
    low: Array,
    high: Array,
    whole: Array,
    t: float,
    energy_cutoff: float,
    fourth: bool,
    prices: Array,
    eps: float,
    p: float,
    q: float,
) -> float: ...
def plan(
    targets: Array,
    nodes: Array,
    begin: Places,
    size: Places,
    offsets: Array,
    points: int,
    around: Array,
    around_begin: Places,
    around_size: Places,
    near_cutoff: float,
    weight_cutoff: float,
    eps: float,
    least: float,
    allowed: bool,
    t: float,
    energy_cutoff: float,
    fourth: bool,
    prices: Array,
    chosen: Places,
    boxes: Array,
    epss: Array,
) -> tuple[float, int]: ...
def near(
    targets: Array,
    rows: Places,
    times: Array,
    offsets: Array,
    sources: Array,
    roots: Array,
    boxes: Array,
    nodes: Array,
    begin: Places,
    size: Places,
    near_cutoff: float,
    weight_cutoff: float,
    energy_cutoff: float,
    tol: float,
    directions: bool,
    fourth: bool,
    energy: bool,
    single: bool,
    first: int,
    last: int,
    sums: Array,
) -> None: ...
def heaviest(nodes: Array, begin: Places, size: Places, of_blocks: Array, of_nodes: Array) -> None: ...
def field(
    sources: Array,
    boxes: Array,
    logs: Array,
    heaviest: Array,
    times: Array,
    places: Array,
    first: int,
    last: int,
    log_accuracy: float,
    moments: bool,
    out: Array,
) -> None: ...
def field_by_tree(
    sources: Array,
    logs: Array,
    nodes: Array,
    begin: Places,
    size: Places,
    heaviest: Array,
    t: float,
    places: Array,
    nearest: Places,
    first: int,
    last: int,
    log_accuracy: float,
    moments: bool,
    out: Array,
) -> None: ...
def interpolate(
    values: Array,
    table: Array,
    width: int,
    center: Array,
    steps: Array,
    places: Array,
    first: int,
    last: int,
    map: Array,
    column: int,
    sums: Array,
) -> float: ...
def boxes_of_runs(
    points: Array, width: int, center: Array, steps: Array, first: int, last: int, boxes: Places
) -> int: ...
def spread(
    points: Array,
    weights: Array,
    table: Array,
    width: int,
    center: Array,
    steps: Array,
    boxes: Places,
    grids: Array,
) -> None: ...
def add_boxes(boxes: Places, margin: int, grids: Array, columns: int, whole: Array) -> None: ...
def apply_heat(
    modes: Array,
    other: Array,
    planes: Array,
    rows: Array,
    columns: Array,
    powers: Array,
    fourth: Array,
    totals: Array,
) -> None: ...
