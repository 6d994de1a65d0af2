"""Features of the covariance of the points around every point at several radii.

One pass through the tree of boxes serves all radii. A box that lies wholly between two radii is added by its
own moments, so that the work grows with the surface of a ball and not with its volume.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from heatfield._base.check import Array
from heatfield._base.threads import pieces, run_pieces
from heatfield.core.clouds import BLOCK, ArrangedCloud
from heatfield.core.evaluate import eigenvalues
from heatfield.options import Threads, option, options

from .._tools import compiled
from .point_descriptor import PointDescriptor, in_unit_ball
from .registry import baseline, yes_or_no

FEATURES = (
    "eigenvalue_sum", "omnivariance", "eigenentropy", "anisotropy", "planarity", "linearity", "PCA1", "PCA2",
    "surface_variation", "sphericity", "verticality", "number_of_neighbors",
)  # fmt: skip
# These can be asked for, and are not among the default.
EXTRA = ("eigenvalue1", "eigenvalue2", "eigenvalue3")

# An eigenvalue below this part of their sum is rounding: 0.
_ZERO = 1e-12
# Points closer than 1e-14 of the cloud's extent are at one place: the square of that, in normalised units.
_ONE_PLACE = 1e-28
# A normal exists where the two smaller eigenvalues differ by more than this part of their sum.
_NORMAL = 1e-9
# Points that one thread takes at a time.
_PIECE = 2048


def _radii(value: Any, name: str) -> Array:
    """Increasing positive numbers, at least one."""
    try:
        radii = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        radii = np.empty(0)
    if radii.ndim != 1 or not radii.size or not (np.isfinite(radii) & (radii > 0)).all():
        raise ValueError(f"{name} must be a sequence of positive numbers, got {value!r}")
    if (np.diff(radii) <= 0).any():
        raise ValueError(f"{name} must increase, got {value!r}")
    return radii


def _features(value: Any, name: str) -> tuple[str, ...]:
    """Known names, each once."""
    known, chosen = (*FEATURES, *EXTRA), () if isinstance(value, str) else tuple(value)
    if not chosen or not {*chosen} <= {*known}:
        raise ValueError(f"{name} must be a sequence of {', '.join(map(repr, known))}, got {value!r}")
    if len({*chosen}) < len(chosen):
        raise ValueError(f"{name} must be distinct, got {value!r}")
    return chosen


@baseline("LocalCovariance", recipe="Weinmann et al. 2015; as in jakteristics", order=4, cost=10.0)
@options
class LocalCovariance(Threads, PointDescriptor):
    """Eigenvalue features of the points within several radii of each point, pooled over the points.

    With l1 >= l2 >= l3 the eigenvalues of the covariance (divided by count - 1) of all points within the
    radius, the point itself among them, as jakteristics and CloudCompare have them:
    eigenvalue_sum = l1 + l2 + l3, omnivariance = (l1 l2 l3)^(1/3), eigenentropy = -sum l ln l,
    anisotropy = (l1 - l3) / l1, planarity = (l2 - l3) / l1, linearity = (l1 - l2) / l1, PCA1 = l1 / sum,
    PCA2 = l2 / sum, surface_variation = l3 / sum, sphericity = l3 / l1, verticality = 1 - |z of the normal|,
    number_of_neighbors.

    Guide: ``heatfield docs guide/baselines_descriptors``.

    Parameters
    ----------
    {options}

    Notes
    -----
    A point without another one within the radius has no covariance, and neighbours at one place have no
    shape: NaN. A line of points has no normal: its verticality is NaN. Pooling takes the points
    where a feature is defined. An eigenvalue below 1e-12 of their sum counts as 0, and 0 ln 0 = 0. Points
    of fewer than three coordinates have z = 0. Everything but verticality is invariant under rotation,
    reflection and translation, and with ``normalize`` under scaling; only a neighbour at exactly the radius
    may fall on either side.

    Examples
    --------
    >>> import numpy as np, heatfield_bench as hb
    >>> wall = np.random.default_rng(0).random((500, 3)) * [1, 0, 1]
    >>> found = hb.baselines.LocalCovariance(radii=(0.3,), features=("surface_variation", "verticality"))
    >>> bool(np.allclose(found.per_point(wall), [0.0, 1.0]))
    True
    >>> hb.baselines.LocalCovariance().get_feature_names_out()[-1]
    'number_of_neighbors_p90_s4'
    """

    _most_dims = 3

    radii: Sequence[float] = option("Radii of the balls.", _radii, default=(0.05, 0.1, 0.2, 0.4, 0.8))
    normalize: bool = option(
        "Radii are parts of the cloud's own radius (the largest distance from the centroid), so that the unit"
        " does not matter; else they are in the unit of the coordinates.",
        yes_or_no,
        default=True,
    )
    features: Sequence[str] | None = option(
        'Only these; also known are "eigenvalue1", "eigenvalue2" and "eigenvalue3". The default is the twelve'
        " above.",
        _features,
        default=None,
    )

    def _axes(self) -> tuple[Sequence[str], str, int]:
        return self.features or FEATURES, "s", len(self.radii)

    def _features(self, points: Array, settings: Mapping[str, Any], n_threads: int) -> Array | None:
        if self.normalize:
            space = in_unit_ball(points)
            if space is None:
                return None
        else:
            space = np.zeros((len(points), 3))
            space[:, : points.shape[1]] = points
        table = local_covariances(space, settings["radii"], n_threads)
        known = covariance_features(table)
        return np.stack([known[name].T for name in self.features or FEATURES])


def local_covariances(points: Array, radii: Array, n_threads: int = 1) -> Array:
    """Count and upper triangle of the covariance (m, radii, 7) of the points (m, 3) within each radius."""
    cloud = ArrangedCloud.of(points)
    sources, order = cloud.points, cloud.order
    nodes, begin, size = cloud.tree
    moments = node_moments(sources, begin, size)
    # Radii far beyond the cloud hold all of it; their squares must not overflow.
    squares = np.minimum(np.ldexp(radii, -cloud.exponent), 1e100) ** 2
    table = np.empty((len(points), len(radii), 7))

    def work(first: int, last: int) -> None:
        ball_moments(sources, nodes, begin, size, moments, squares, first, last, table)

    run_pieces(work, pieces(len(points), _PIECE), n_threads)
    table[table[:, :, [1, 4, 6]].sum(axis=2) < _ONE_PLACE, 1:] = 0.0  # the mean of copies is rounded
    out = np.empty_like(table)
    out[order] = table
    out[:, :, 1:] = np.ldexp(out[:, :, 1:], 2 * cloud.exponent)
    return out


def covariance_features(table: Array) -> dict[str, Array]:
    """All features (m, radii) by name, from counts and covariances."""
    shape = table.shape[:2]
    packed = np.ascontiguousarray(table[:, :, 1:].reshape(-1, 6))
    values = eigenvalues(np.ascontiguousarray(packed.T), 3).T
    total = values.sum(axis=1)
    # The sign of rounding is of no meaning either; NaN stays.
    values = np.where(values <= _ZERO * total[:, None], np.minimum(np.abs(values), 0.0), values)
    l1, l2, l3 = values.T
    total = l1 + l2 + l3
    with np.errstate(divide="ignore", invalid="ignore"):  # all neighbours at one place: 0 / 0
        found = {
            "eigenvalue_sum": total,
            "omnivariance": np.cbrt(l1) * np.cbrt(l2) * np.cbrt(l3),
            "eigenentropy": -sum(l * np.log(np.where(l > 0, l, 1.0)) for l in (l1, l2, l3)),
            "anisotropy": (l1 - l3) / l1,
            "planarity": (l2 - l3) / l1,
            "linearity": (l1 - l2) / l1,
            "PCA1": l1 / total,
            "PCA2": l2 / total,
            "surface_variation": l3 / total,
            "sphericity": l3 / l1,
            "verticality": 1.0 - np.abs(_normal_z(packed, values)),
            "number_of_neighbors": table[:, :, 0].ravel(),
            "eigenvalue1": l1,
            "eigenvalue2": l2,
            "eigenvalue3": l3,
        }
    return {name: column.reshape(shape) for name, column in found.items()}


def _normal_z(packed: Array, values: Array) -> Array:
    """z of the eigenvector of the smallest eigenvalue; NaN where the next one is the same.

    The rows of C - l3 span the plane across the normal; of their three cross products the longest is taken.
    """
    scale = values[:, 0]
    xx, xy, xz, yy, yz, zz = (packed / scale[:, None]).T
    low = values[:, 2] / scale
    rows = np.array([[xx - low, xy, xz], [xy, yy - low, yz], [xz, yz, zz - low]])
    products = np.array([np.cross(rows[i], rows[j], axis=0) for i, j in ((0, 1), (0, 2), (1, 2))])
    lengths = np.sqrt((products**2).sum(axis=1))
    best = np.argmax(np.where(np.isnan(lengths), 0.0, lengths), axis=0)
    place = np.arange(len(best))
    z = products[best, 2, place] / lengths[best, place]
    return np.where(values[:, 1] - values[:, 2] > _NORMAL * values.sum(axis=1), z, np.nan)


# Columns of a table of moments: count, sums of x y z, sums of xx xy xz yy yz zz.
COLUMNS = 10
# Deeper than any tree: the number of blocks halves at every level.
DEPTH = 64


@compiled
def _gap_and_reach_squared(at: Any, node: Any) -> Any:
    """Smallest and largest squared distance of a place to a box (2, 3)."""
    low = high = 0.0
    for k in range(3):
        step = max(0.0, max(node[0, k] - at[k], at[k] - node[1, k]))
        low += step * step
        step = max(at[k] - node[0, k], node[1, k] - at[k])
        high += step * step
    return low, high


@compiled
def node_moments(sources: Any, begin: Any, size: Any) -> Any:
    """Count, mean and sums of products of deviations from the mean, for each node (count, 10)."""
    m = sources.shape[1]
    out = np.zeros((begin.shape[0], COLUMNS))
    for i in range(begin.shape[0] - 1, -1, -1):  # children come behind their parents
        # Only the very last block may be short.
        count = min(m, (begin[i] + size[i]) * BLOCK) - begin[i] * BLOCK
        out[i, 0] = count
        if size[i] == 1:
            first = begin[i] * BLOCK
            for k in range(3):
                for j in range(first, first + count):
                    out[i, 1 + k] += sources[k, j]
                out[i, 1 + k] /= count
            for j in range(first, first + count):
                _add_product(
                    out[i],
                    1.0,
                    sources[0, j] - out[i, 1],
                    sources[1, j] - out[i, 2],
                    sources[2, j] - out[i, 3],
                )
            continue
        left, right = i + 1, i + 2 * ((size[i] + 1) // 2)
        share = out[right, 0] / count
        x = out[right, 1] - out[left, 1]
        y = out[right, 2] - out[left, 2]
        z = out[right, 3] - out[left, 3]
        out[i, 1] = out[left, 1] + share * x
        out[i, 2] = out[left, 2] + share * y
        out[i, 3] = out[left, 3] + share * z
        for c in range(4, COLUMNS):
            out[i, c] = out[left, c] + out[right, c]
        _add_product(out[i], out[left, 0] * share, x, y, z)
    return out


@compiled
def _add_product(row: Any, weight: float, x: float, y: float, z: float) -> None:
    row[4] += weight * x * x
    row[5] += weight * x * y
    row[6] += weight * x * z
    row[7] += weight * y * y
    row[8] += weight * y * z
    row[9] += weight * z * z


@compiled
def ball_moments(
    sources: Any,
    nodes: Any,
    begin: Any,
    size: Any,
    moments: Any,
    squares: Any,
    first: int,
    last: int,
    out: Any,
) -> None:
    """Write covariances of the points within each ball around the points first..last of an arranged cloud.

    ``squares`` are squared radii, ascending; ``out`` is (m, radii, 7): count and the upper triangle of the
    covariance (divided by count - 1), NaN of fewer than two points.
    """
    m, radii = sources.shape[1], squares.shape[0]
    stack = np.empty(DEPTH, np.int64)
    table = np.empty((radii, COLUMNS))
    at = np.empty(3)
    for i in range(first, last):
        for k in range(3):
            at[k] = sources[k, i]
        table[:] = 0.0
        stack[0] = 0
        top = 1
        while top:
            top -= 1
            b = stack[top]
            low, high = _gap_and_reach_squared(at, nodes[b])
            if low > squares[radii - 1]:
                continue
            a = 0
            while a < radii and high > squares[a]:
                a += 1
            if a < radii and (a == 0 or low > squares[a - 1]):  # the whole box belongs to this shell
                count = moments[b, 0]
                x, y, z = moments[b, 1] - at[0], moments[b, 2] - at[1], moments[b, 3] - at[2]
                row = table[a]
                row[0] += count
                row[1] += count * x
                row[2] += count * y
                row[3] += count * z
                for c in range(4, COLUMNS):
                    row[c] += moments[b, c]
                _add_product(row, count, x, y, z)
            elif size[b] == 1:
                for j in range(begin[b] * BLOCK, min(m, (begin[b] + 1) * BLOCK)):
                    x, y, z = sources[0, j] - at[0], sources[1, j] - at[1], sources[2, j] - at[2]
                    square = x * x + y * y + z * z
                    if square > squares[radii - 1]:
                        continue
                    a = 0
                    while square > squares[a]:
                        a += 1
                    row = table[a]
                    row[0] += 1.0
                    row[1] += x
                    row[2] += y
                    row[3] += z
                    _add_product(row, 1.0, x, y, z)
            else:
                stack[top] = b + 2 * ((size[b] + 1) // 2)
                stack[top + 1] = b + 1
                top += 2
        _finish(table, out[i])


@compiled
def _finish(table: Any, out: Any) -> None:
    """Add up the shells, and turn sums into covariances."""
    for a in range(table.shape[0]):
        if a > 0:
            for c in range(COLUMNS):
                table[a, c] += table[a - 1, c]
        count = table[a, 0]
        out[a, 0] = count
        if count < 2.0:
            out[a, 1:] = np.nan
            continue
        c = 0
        for k in range(3):
            for l in range(k, 3):
                out[a, 1 + c] = (table[a, 4 + c] - table[a, 1 + k] * table[a, 1 + l] / count) / (count - 1.0)
                c += 1
