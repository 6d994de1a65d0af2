"""`LocalCovariance`: features of the covariance of the points around every point, at several radii."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from heatfield._base.check import Array
from heatfield._base.threads import pieces, run_pieces
from heatfield.core.cloud import ArrangedCloud
from heatfield.core.outputs import eigenvalues

from ._ball_moments import ball_moments, node_moments
from ._point_descriptor import PointDescriptor, in_unit_ball

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


class LocalCovariance(PointDescriptor):
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
    radii : sequence of float
        Radii of the balls.
    normalize : bool
        Radii are parts of the cloud's own radius (the largest distance from the centroid), so that the unit
        does not matter. False: radii are in the unit of the coordinates.
    features : sequence of str, optional
        Only these; also known are "eigenvalue1", "eigenvalue2" and "eigenvalue3". The default is
        the twelve above.
    n_jobs : int
        Threads over the clouds, or over the points of a single one; -1 for all cores.

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

    def __init__(
        self,
        *,
        radii: Sequence[float] = (0.05, 0.1, 0.2, 0.4, 0.8),
        normalize: bool = True,
        features: Sequence[str] | None = None,
        n_jobs: int | None = 1,
    ) -> None:
        self.radii = radii
        self.normalize = normalize
        self.features = features
        self.n_jobs = n_jobs

    def _settings(self) -> tuple[Array, bool, tuple[str, ...]]:
        try:
            radii = np.asarray(self.radii, dtype=np.float64)
        except (TypeError, ValueError):
            radii = np.empty(0)
        if radii.ndim != 1 or not radii.size or not (np.isfinite(radii) & (radii > 0)).all():
            raise ValueError(f"radii must be a sequence of positive numbers, got {self.radii!r}")
        if (np.diff(radii) <= 0).any():
            raise ValueError(f"radii must increase, got {self.radii!r}")
        if not isinstance(self.normalize, (bool, np.bool_)):
            raise ValueError(f"normalize must be True or False, got {self.normalize!r}")
        return radii, bool(self.normalize), self._chosen()

    def _chosen(self) -> tuple[str, ...]:
        if self.features is None:
            return FEATURES
        chosen = (self.features,) if isinstance(self.features, str) else tuple(self.features)
        known = (*FEATURES, *EXTRA)
        if isinstance(self.features, str) or not chosen or any(f not in known for f in chosen):
            raise ValueError(
                f"features must be a sequence of {', '.join(map(repr, known))}, got {self.features!r}"
            )
        if len({*chosen}) < len(chosen):
            raise ValueError(f"features must be distinct, got {self.features!r}")
        return chosen

    def _axes(self) -> tuple[Sequence[str], str, int]:
        return self._chosen(), "s", len(self.radii)

    def _features(self, points: Array, settings: Any, n_threads: int) -> Array | None:
        radii, normalize, chosen = settings
        if normalize:
            space = in_unit_ball(points)
            if space is None:
                return None
        else:
            space = np.zeros((len(points), 3))
            space[:, : points.shape[1]] = points
        table = local_covariances(space, radii, n_threads)
        known = covariance_features(table)
        return np.stack([known[name].T for name in chosen])


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
