"""`FPFH`: fast point feature histograms by Open3D."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from heatfield._base.check import Array
from heatfield.options import Threads, number, option, options

from .._tools import need
from .point_descriptor import PointDescriptor, in_unit_ball
from .registry import baseline, yes_or_no
from .spectral import distinct_places

_BINS = 33
_NEIGHBOURS = (30, 100)  # of a normal and of a histogram, the point itself among them, where radii hold none
# A normal is a direction where the two smaller eigenvalues differ by more than this part of their sum.
_NORMAL = 1e-9
# Below this cosine a normal is across the line to the centroid, and its sign is rounding.
_ACROSS = 1e-6


@baseline(
    "FPFH", recipe="Rusu et al. 2009; radii and fallback of the HFS paper", order=1, cost=10.0,
    needs="open3d",
    published={
        "main": "84.8 30.6 36.9 90.4 58.5 46.7 24.1", "runtime": "33.6 29.6 19.1 19.9", "speed_up": "43.3",
        "rotation": "6.4 8.0 2.3 -1.0", "boundary": "81.6 74.6", "boundary_f1": "82.1 74.5",
    },
)  # fmt: skip
@options
class FPFH(Threads, PointDescriptor):
    """Fast point feature histograms (Rusu, Blodow and Beetz 2009) by Open3D, pooled over the points.

    Each cloud is moved and scaled into the unit ball. Normals come from the points within ``normal_radius``,
    the histogram of 3 x 11 bins from those within ``feature_radius``. Pooled by mean, standard
    deviation, 10th, 50th and 90th percentile. A cloud whose radii enclose nothing (no point has two others
    within ``normal_radius``, or none has another within ``feature_radius``) has 30 nearest neighbours for
    normals and 100 for histograms instead. A point without a neighbour in reach is left out of the pooling.
    Needs the extra ``open3d``.

    Guide: ``heatfield docs guide/baselines_descriptors``.

    Parameters
    ----------
    {options}

    Notes
    -----
    Open3D's normals have an arbitrary sign, and those of fewer than three points are (0, 0, 1). With
    ``orient=False``, as in the paper, the features therefore change under rotation. ``orient=True`` fixes the
    sign; where the points around do not determine a normal (too few, or in a line) it is the direction to
    the centroid. What is left are neighbours at exactly the radius and normals nearly across the line to the
    centroid, whose sign is not stable. Points of fewer than three coordinates have z = 0.

    Examples
    --------
    >>> import numpy as np, heatfield_bench as hb
    >>> clouds = [np.random.default_rng(i).normal(size=(200, 3)) for i in range(2)]
    >>> fpfh = hb.baselines.FPFH()
    >>> fpfh.get_feature_names_out()[-1]
    'fpfh_p90_b32'
    >>> fpfh.fit(clouds).transform(clouds).shape  # doctest: +SKIP
    (2, 165)
    """

    _most_dims = 3

    normal_radius: float = option(
        "Of the points that make a normal, as a part of the cloud's radius.", number(above=0), default=0.05
    )
    feature_radius: float = option(
        "Of the points that make a histogram, likewise.", number(above=0), default=0.10
    )
    orient: bool = option(
        "Turn all normals towards the centroid. The paper does not say so.", yes_or_no, default=False
    )

    def _axes(self) -> tuple[Sequence[str], str, int]:
        return ("fpfh",), "b", _BINS

    def fit(self, clouds: Sequence[ArrayLike], y: Any = None) -> Self:
        super().fit(clouds, y)
        open3d()  # what is missing is said before the work
        return self

    def _features(self, points: Array, settings: Mapping[str, Any], n_threads: int) -> Array | None:  # noqa: ARG002
        o3d = open3d()
        space = in_unit_ball(points)
        if space is None:
            return None
        find, radii = o3d.geometry, [settings["normal_radius"], settings["feature_radius"]]
        if encloses(space, *radii):
            around, reach = map(find.KDTreeSearchParamRadius, radii)
        else:
            around, reach = map(find.KDTreeSearchParamKNN, _NEIGHBOURS)
        with o3d.utility.VerbosityContextManager(o3d.utility.VerbosityLevel.Error):
            cloud = find.PointCloud(o3d.utility.Vector3dVector(space))
            cloud.estimate_normals(around)
            if self.orient:
                cloud.estimate_covariances(around)
                turned = oriented(space, np.asarray(cloud.normals), np.asarray(cloud.covariances))
                cloud.normals = o3d.utility.Vector3dVector(turned)
            found = o3d.pipelines.registration.compute_fpfh_feature(cloud, reach)
        histograms = np.array(found.data)  # (33, m), a copy: the library frees its own
        histograms[:, (histograms == 0.0).all(axis=0)] = np.nan
        return histograms[None]


def open3d() -> Any:
    """Open3D, or an ImportError that says in one sentence what to install."""
    if importlib.util.find_spec("open3d") is None:
        need("open3d", "FPFH", "open3d")
    try:
        import open3d as library
    except (ImportError, OSError) as error:  # it is there, but a library of the system is not
        raise ImportError(
            f"FPFH needs Open3D, which does not load ({error}): on Debian "
            "apt-get install libusb-1.0-0 libgl1 libgomp1 libegl1",
            name="open3d",
        ) from None
    return library


def encloses(space: Array, normal_radius: float, feature_radius: float) -> bool:
    """Whether some point has two others for a normal, and some point another for a histogram."""
    places, _ = distinct_places(space)
    distance, _ = cKDTree(places).query(places, k=3)  # infinite where there are not three
    return bool((distance[:, 2] <= normal_radius).any() and (distance[:, 1] <= feature_radius).any())


def oriented(space: Array, normals: Array, covariances: Array) -> Array:
    """Normals towards the centroid, which is the origin; where there is none, the direction there."""
    _, axes = np.linalg.eigh(np.cov(space.T))
    inwards = -space / np.maximum(np.linalg.norm(space, axis=1, keepdims=True), 1e-300)
    local = np.linalg.eigvalsh(covariances)  # Open3D has the identity where there are too few points
    known = local[:, 1] - local[:, 0] > _NORMAL * local.sum(axis=1)
    normals = np.where(known[:, None], normals, inwards)
    side = (normals * inwards).sum(axis=1)
    # In a flat cloud all normals lie across; there any common side will do, and its thinnest axis gives one.
    side = np.where(np.abs(side) > _ACROSS, side, normals @ axes[:, 0])
    return np.where(side[:, None] < 0.0, -normals, normals)
