"""`FPFH`: fast point feature histograms by Open3D."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from heatfield._base.check import Array, check_choice, check_count

from .._optional import need
from ._graph_spectrum import distinct_places
from ._point_descriptor import PointDescriptor, in_unit_ball

_BINS = 33
# A normal is a direction where the two smaller eigenvalues differ by more than this part of their sum.
_NORMAL = 1e-9
# Below this cosine a normal is across the line to the centroid, and its sign is rounding.
_ACROSS = 1e-6


class FPFH(PointDescriptor):
    """Fast point feature histograms (Rusu, Blodow and Beetz 2009) by Open3D, pooled over the points.

    Each cloud is moved and scaled into the unit ball. Normals come from the points within ``normal_radius``,
    the histogram of 3 x 11 bins from those within ``feature_radius``. Pooled by mean, standard
    deviation, 10th, 50th and 90th percentile. Needs the extra ``open3d``.

    Guide: ``heatfield docs guide/baselines_descriptors``.

    Parameters
    ----------
    normal_radius, feature_radius : float
        As parts of the cloud's radius; 0.05 and 0.10 in the paper.
    normal_neighbors, feature_neighbors : int
        Nearest neighbours in their place, 30 and 100 in the paper, the point itself among them.
    search : "auto", "radius" or "neighbors"
        "auto" takes the radii, and the neighbours for a cloud whose radii enclose nothing: where no point has
        two others within ``normal_radius``, or none has another within ``feature_radius``. The other two
        always take the one or the other.
    orient : bool
        Turn all normals towards the centroid. The paper does not say so: off.
    isolated : "nan" or "zero"
        A point without a neighbour in reach has an empty histogram. "nan": it is undefined and left out
        of the pooling. "zero": 33 zeros, as Open3D writes it.
    n_jobs : int
        Threads over the clouds. Open3D holds Python's lock while it computes, so more than one bring little.

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
    >>> fpfh.fit_transform(clouds).shape  # doctest: +SKIP
    (2, 165)
    """

    _most_dims = 3

    def __init__(
        self,
        *,
        normal_radius: float = 0.05,
        feature_radius: float = 0.10,
        normal_neighbors: int = 30,
        feature_neighbors: int = 100,
        search: str = "auto",
        orient: bool = False,
        isolated: str = "nan",
        n_jobs: int | None = 1,
    ) -> None:
        self.normal_radius = normal_radius
        self.feature_radius = feature_radius
        self.normal_neighbors = normal_neighbors
        self.feature_neighbors = feature_neighbors
        self.search = search
        self.orient = orient
        self.isolated = isolated
        self.n_jobs = n_jobs

    def _settings(self) -> tuple[float, float, int, int]:
        radii = []
        for name in ("normal_radius", "feature_radius"):
            value = getattr(self, name)
            number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
            if not number or not 0.0 < value < np.inf:
                raise ValueError(f"{name} must be a positive number, got {value!r}")
            radii.append(float(value))
        check_choice(self.search, "search", ("auto", "radius", "neighbors"))
        check_choice(self.isolated, "isolated", ("nan", "zero"))
        if not isinstance(self.orient, (bool, np.bool_)):
            raise ValueError(f"orient must be True or False, got {self.orient!r}")
        least = {"normal_neighbors": 3, "feature_neighbors": 2}
        counts = [check_count(getattr(self, name), name, count) for name, count in least.items()]
        return radii[0], radii[1], counts[0], counts[1]

    def _axes(self) -> tuple[Sequence[str], str, int]:
        return ("fpfh",), "b", _BINS

    def _fit(self, clouds: list[Array]) -> None:
        super()._fit(clouds)
        open3d()  # what is missing is said before the work

    def _features(self, points: Array, settings: Any, n_threads: int) -> Array | None:  # noqa: ARG002
        o3d = open3d()
        space = in_unit_ball(points)
        if space is None:
            return None
        normal_radius, feature_radius, normal_count, feature_count = settings
        find = o3d.geometry
        if self.search == "radius" or (
            self.search == "auto" and encloses(space, normal_radius, feature_radius)
        ):
            around = find.KDTreeSearchParamRadius(normal_radius)
            reach = find.KDTreeSearchParamRadius(feature_radius)
        else:
            around = find.KDTreeSearchParamKNN(normal_count)
            reach = find.KDTreeSearchParamKNN(feature_count)
        with o3d.utility.VerbosityContextManager(o3d.utility.VerbosityLevel.Error):
            cloud = find.PointCloud(o3d.utility.Vector3dVector(space))
            cloud.estimate_normals(around)
            if self.orient:
                cloud.estimate_covariances(around)
                turned = oriented(space, np.asarray(cloud.normals), np.asarray(cloud.covariances))
                cloud.normals = o3d.utility.Vector3dVector(turned)
            found = o3d.pipelines.registration.compute_fpfh_feature(cloud, reach)
        histograms = np.array(found.data)  # (33, m), a copy: the library frees its own
        if self.isolated == "nan":
            histograms[:, (histograms == 0.0).all(axis=0)] = np.nan
        return histograms[None]


def open3d() -> Any:
    """Open3D, or an ImportError that says in one sentence what to install."""
    if importlib.util.find_spec("open3d") is None:
        need("open3d", "FPFH descriptors", "open3d")
    try:
        import open3d as library
    except (ImportError, OSError) as error:  # it is there, but a library of the system is not
        raise ImportError(
            f"FPFH descriptors need Open3D, which does not load ({error}): on Debian "
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
