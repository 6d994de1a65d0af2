"""A cloud brought to a budget of points, in the way that suits what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._base.check import check_choice, check_count, check_extent, corners
from ..options import SKELETON_POINTS, Reading, choices_of
from ._pick import farthest_rows, random_rows, voxel_rows
from ._skeleton import sample_skeleton
from ._surface import sample_surface

if TYPE_CHECKING:
    from ..io import Cloud


def sample(cloud: Cloud, budget: int, sampling: str = "auto", seed: int = 0) -> Cloud:
    """At most ``budget`` points of a cloud, with their columns.

    Guide: ``heatfield docs guide/formats``.

    Parameters
    ----------
    cloud : Cloud
        What `heatfield.read_cloud` returned.
    budget : int
        The most points. A cloud that has no more stays as it is: no point is ever repeated.
    sampling : {"auto", "random", "farthest", "voxel"}
        "auto": a skeleton by arc length and a mesh by area (these always give ``budget`` points),
        anything else at random without replacement.
    seed : int
        The same seed gives the same points.

    Returns
    -------
    cloud : Cloud

    Raises
    ------
    ValueError
        Where the points span 1e140 or more: lengths and areas cannot be told there.

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> cloud = hf.Cloud(np.random.default_rng(0).random((500, 3)))
    >>> len(hf.sampling.sample(cloud, 100).points), len(hf.sampling.sample(cloud, 100, "voxel").points) <= 100
    (100, True)
    """
    check_count(budget, "budget", 1)
    check_choice(sampling, "sampling", choices_of(Reading, "sampling"))
    check_extent(*corners(cloud.points))
    rng = np.random.default_rng(seed)
    if sampling == "auto" and cloud.parents is not None:
        return _along(cloud, budget, rng)
    if sampling == "auto" and cloud.faces is not None:
        points, face = sample_surface(cloud.points, cloud.faces, budget, rng)
        return type(cloud)(points, {"face": face}, cloud.format, notes=cloud.notes)
    if sampling == "farthest":
        return cloud.take(farthest_rows(cloud.points, budget, rng))
    if sampling == "voxel":
        return cloud.take(voxel_rows(cloud.points, budget))
    return cloud.take(random_rows(len(cloud.points), budget, rng))


def resample(cloud: Cloud, reading: Reading, seed: int) -> Cloud:
    """A cloud as the options ask for it; without a budget, skeletons and meshes get 1,024 points."""
    way, budget = reading.sampling, reading.budget
    if cloud.parents is None and cloud.faces is None:
        return cloud if budget is None else sample(cloud, budget, way, seed)
    if reading.nodes:
        return cloud if budget is None else sample(cloud, budget, "random" if way == "auto" else way, seed)
    return sample(cloud, SKELETON_POINTS if budget is None else budget, way, seed)


def _along(cloud: Cloud, budget: int, rng: np.random.Generator) -> Cloud:
    """On a skeleton: the type of the segment's node, the radius between its ends."""
    assert cloud.parents is not None
    points, node, share = sample_skeleton(cloud.points, cloud.parents, budget, rng)
    columns = {"segment": node}
    if "type" in cloud.columns:
        columns["type"] = cloud.columns["type"][node]
    if "radius" in cloud.columns:
        radius = cloud.columns["radius"]
        parent = np.where(cloud.parents[node] >= 0, cloud.parents[node], node)
        columns["radius"] = radius[parent] + share * (radius[node] - radius[parent])
    return type(cloud)(points, columns, cloud.format, notes=cloud.notes)
