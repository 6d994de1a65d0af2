"""Other descriptors of a point cloud, each as a function of one cloud without set-up.

Every rival stops at its features per point (torch: at all local and global quantities).
None pays for pooling, while the reference and heatfield are timed down to the pooled
vector: where the comparison is uneven, it favours the rival.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, diags_array
from scipy.sparse.linalg import eigsh
from scipy.spatial import cKDTree

Array = NDArray[np.float64]
Run = Callable[[], object]

# Weights below exp(2 * FLOOR) count for nothing, but numbers that underflow are slow to compute with.
FLOOR = {"float64": -350.0, "float32": -43.0}


@dataclass(frozen=True)
class Rival:
    """``prepare(points)`` does what is not timed and returns the call that is."""

    name: str
    about: str
    module: str
    packages: tuple[str, ...]
    dimensions: tuple[int, ...]
    prepare: Callable[[Array], Run]

    def status(self) -> str:
        """The installed version, or why it cannot run: nothing is dropped in silence."""
        try:
            importlib.import_module(self.module)
        except ModuleNotFoundError:
            return "not installed"
        except (ImportError, OSError) as error:  # a shared library of the system is missing
            return f"installed, but does not load: {error} (see tools/system_packages.sh)"
        for package in self.packages:
            try:
                return f"{package} {importlib.metadata.version(package)}"
            except importlib.metadata.PackageNotFoundError:
                continue
        return f"{self.module}, version unknown"


def in_unit_ball(points: Array) -> Array:
    """Centroid at the origin, farthest point at distance 1."""
    centred = points - points.mean(axis=0)
    return centred / np.linalg.norm(centred, axis=1).max()


def radius_of(points: Array, neighbours: int) -> float:
    """The radius that holds this many neighbours of a point, on average over the cloud."""
    count = min(neighbours, len(points) - 1) + 1
    return float(cKDTree(points).query(points, k=count)[0][:, -1].mean())


def _fpfh(points: Array, normal_radius: float, feature_radius: float) -> Run:
    import open3d as o3d

    o3d.utility.set_verbosity_level(o3d.utility.VerbosityLevel.Error)
    features = o3d.pipelines.registration
    normals_within = o3d.geometry.KDTreeSearchParamRadius(normal_radius)
    features_within = o3d.geometry.KDTreeSearchParamRadius(feature_radius)

    def run() -> object:
        cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(points))
        cloud.estimate_normals(normals_within)
        return features.compute_fpfh_feature(cloud, features_within).data

    return run


def fpfh_paper(points: Array) -> Run:
    """Open3D FPFH at the radii of the paper, which hold few points of such clouds, often none."""
    return _fpfh(in_unit_ball(points), 0.05, 0.10)


def fpfh_filled(points: Array) -> Run:
    """Open3D FPFH at radii that hold 30 and 100 neighbours on average."""
    ball = in_unit_ball(points)
    return _fpfh(ball, radius_of(ball, 30), radius_of(ball, 100))


def hks(points: Array, neighbours: int = 10, pairs: int = 80, n_times: int = 16) -> Run:
    """Heat kernel signature of the symmetric 10-NN graph Laplacian: 80 eigenpairs, 16 times."""
    m = len(points)
    start = np.random.default_rng(0).standard_normal(m)

    def run() -> object:
        near = cKDTree(points).query(points, k=neighbours + 1)[1][:, 1:]
        rows = np.repeat(np.arange(m), neighbours)
        one_way = coo_array((np.ones(rows.size), (rows, near.ravel())), shape=(m, m)).tocsr()
        graph = one_way.maximum(one_way.T)
        laplacian = (diags_array(graph.sum(axis=1)) - graph).tocsc()
        # The smallest eigenvalues by inversion; the shift lies below them, as 0 itself is one.
        values, vectors = eigsh(laplacian, k=min(pairs, m - 1), sigma=-1e-3, v0=start)
        positive = values[values > 1e-9]
        times = np.geomspace(4 * np.log(10) / positive[-1], 4 * np.log(10) / positive[0], n_times)
        return vectors**2 @ np.exp(-np.outer(values, times))

    return run


def numpy_dense(points: Array, n_scales: int = 8) -> Run:
    """All local and global quantities of ``desc`` in NumPy written for speed rather than to be read.

    The reference computes the distances three times and two exponentials per pair. Here
    distances are found once, one exponential serves both kernels, all moments come from
    one matrix product, and the work tables are reused: what an expert gets from NumPy.
    """
    m, n = points.shape
    upper = np.triu_indices(n)
    identity = np.eye(n)

    def run() -> dict[str, Array]:
        centred = points - points.mean(axis=0)
        D2, g, step = np.zeros((m, m)), np.empty((m, m)), np.empty((m, m))
        for k in range(n):
            np.subtract(centred[:, k], centred[:, k, None], out=step)
            D2 += np.multiply(step, step, out=step)
        np.copyto(step, D2)
        step[D2 == 0] = np.inf
        r_nn = np.sqrt(step.min(axis=1)).mean()
        times = np.geomspace(0.05 * r_nn**2, 0.25 * D2.max(), n_scales)

        # Columns 1, x, x x' (upper triangle): one product with w gives all moments.
        table = np.concatenate(
            [np.ones((m, 1)), centred, centred[:, upper[0]] * centred[:, upper[1]]], axis=1
        )
        u, d = np.empty((m, n_scales)), np.empty((m, n_scales))
        Q = np.empty((m, n_scales, n, n))
        E2, C2 = np.empty(n_scales), np.empty(n_scales)
        for a, t in enumerate(times):
            np.multiply(D2, -1 / (8 * t), out=g)
            np.exp(np.maximum(g, FLOOR["float64"], out=g), out=g)
            total = g.sum()
            E2[a] = (8 * np.pi * t) ** (-n / 2) * total
            C2[a] = n / 2 - np.vdot(g, D2) / (8 * t * total)
            w = np.multiply(g, g, out=g)  # exp(-D2 / 4t)
            moments = w @ table
            W = moments[:, 0]
            u[:, a] = (4 * np.pi * t) ** (-n / 2) * W
            d[:, a] = np.einsum("ij,ij->i", w, D2) / W / (2 * t)
            mean = moments[:, 1 : n + 1] / W[:, None]
            second = np.empty((m, n, n))
            second[:, upper[0], upper[1]] = second[:, upper[1], upper[0]] = moments[:, n + 1 :] / W[:, None]
            # The covariance of r = x_j - x_i around i is that of x_j.
            Q[:, a] = (second - mean[:, :, None] * mean[:, None, :]) / (2 * t) - identity
        dirichlet = C2 * E2 / (2 * times)
        eta = np.exp(-2 * (d[:, :, None] - np.arange(n + 1)) ** 2)  # sigma = 1/2
        eta /= eta.sum(axis=2, keepdims=True)
        composition = eta.mean(axis=0)
        return {
            "density": u,
            "dimension": d,
            "transition": np.gradient(d, np.log(times), axis=1),
            "spectrum": np.linalg.eigvalsh(Q)[:, :, ::-1],
            "energy": E2,
            "response": C2,
            "roughness": dirichlet,
            "relative_roughness": dirichlet / E2,
            "composition": composition,
            "contrast": (u[:, :, None] * eta).sum(axis=0) / u.sum(axis=0)[:, None] - composition,
        }

    return run


def torch_dense(points: Array, dtype: str, n_scales: int = 8) -> Run:
    """All local and global quantities of ``desc`` by dense torch tensors on one thread.

    The same steps as `numpy_dense`; torch brings a vectorised exponential.
    """
    import torch

    torch.set_num_threads(1)
    x = torch.from_numpy(points).to(getattr(torch, dtype))
    m, n = x.shape
    upper = torch.triu_indices(n, n)
    identity = torch.eye(n, dtype=x.dtype)
    centers = torch.arange(n + 1, dtype=x.dtype)

    def run() -> dict[str, Any]:
        centred = x - x.mean(dim=0)
        D2 = torch.zeros(m, m, dtype=x.dtype)
        step = torch.empty_like(D2)
        for k in range(n):
            torch.sub(centred[None, :, k], centred[:, k, None], out=step)
            D2.addcmul_(step, step)
        step.copy_(D2).masked_fill_(D2 == 0, torch.inf)
        r_nn = step.amin(dim=1).sqrt().mean()
        ends = torch.log(torch.stack([0.05 * r_nn**2, 0.25 * D2.max()])).tolist()
        times = torch.exp(torch.linspace(*ends, n_scales, dtype=torch.float64)).tolist()

        # Columns 1, x, x x' (upper triangle): one product with w gives all moments.
        table = torch.cat(
            [torch.ones(m, 1, dtype=x.dtype), centred, centred[:, upper[0]] * centred[:, upper[1]]], 1
        )
        g = torch.empty_like(D2)
        u, d = torch.empty(m, n_scales, dtype=x.dtype), torch.empty(m, n_scales, dtype=x.dtype)
        Q = torch.empty(m, n_scales, n, n, dtype=x.dtype)
        E2, C2 = torch.empty(n_scales, dtype=x.dtype), torch.empty(n_scales, dtype=x.dtype)
        for a, t in enumerate(times):
            torch.mul(D2, -1 / (8 * t), out=g)
            g.clamp_(min=FLOOR[dtype]).exp_()
            total = g.sum()
            E2[a] = (8 * np.pi * t) ** (-n / 2) * total
            C2[a] = n / 2 - torch.dot(g.view(-1), D2.view(-1)) / (8 * t * total)
            w = g.mul_(g)  # exp(-D2 / 4t)
            moments = w @ table
            W = moments[:, 0]
            u[:, a] = (4 * np.pi * t) ** (-n / 2) * W
            d[:, a] = torch.mul(w, D2, out=step).sum(dim=1) / W / (2 * t)
            mean = moments[:, 1 : n + 1] / W[:, None]
            second = torch.empty(m, n, n, dtype=x.dtype)
            second[:, upper[0], upper[1]] = second[:, upper[1], upper[0]] = moments[:, n + 1 :] / W[:, None]
            # The covariance of r = x_j - x_i around i is that of x_j.
            Q[:, a] = (second - mean[:, :, None] * mean[:, None, :]) / (2 * t) - identity
        tau = torch.gradient(d, spacing=(torch.tensor(times, dtype=x.dtype).log(),), dim=1)[0]
        spectrum = torch.linalg.eigvalsh(Q).flip(-1)
        dirichlet = C2 * E2 / (2 * torch.tensor(times, dtype=x.dtype))
        eta = torch.softmax(-2 * (d[:, :, None] - centers) ** 2, dim=2)  # sigma = 1/2
        composition = eta.mean(dim=0)
        contrast = (u[:, :, None] * eta).sum(dim=0) / u.sum(dim=0)[:, None] - composition
        return {
            "density": u,
            "dimension": d,
            "transition": tau,
            "spectrum": spectrum,
            "energy": E2,
            "response": C2,
            "roughness": dirichlet,
            "relative_roughness": dirichlet / E2,
            "composition": composition,
            "contrast": contrast,
        }

    return run


def torch_float64(points: Array) -> Run:
    return torch_dense(points, "float64")


def torch_float32(points: Array) -> Run:
    return torch_dense(points, "float32")


def jakteristics(points: Array) -> Run:
    """All eigenvalue features of jakteristics, at the radius that holds 30 neighbours on average."""
    from jakteristics import FEATURE_NAMES, compute_features

    radius = radius_of(points, 30)
    return lambda: compute_features(points, radius, num_threads=1, feature_names=FEATURE_NAMES)


_OPEN3D = ("open3d-cpu", "open3d")
RIVALS = (
    Rival("NumPy written for speed", "all quantities of desc", "numpy", ("numpy",), (2, 3), numpy_dense),
    Rival(
        "FPFH, paper's radii",
        "Open3D, radii 0.05 and 0.10 in the unit ball",
        "open3d",
        _OPEN3D,
        (3,),
        fpfh_paper,
    ),
    Rival(
        "FPFH, filled radii", "Open3D, radii of 30 and 100 neighbours", "open3d", _OPEN3D, (3,), fpfh_filled
    ),
    Rival("HKS, scipy", "10-NN graph Laplacian, 80 eigenpairs, 16 times", "scipy", ("scipy",), (2, 3), hks),
    Rival("torch dense float64", "all quantities of desc", "torch", ("torch",), (2, 3), torch_float64),
    Rival("torch dense float32", "all quantities of desc", "torch", ("torch",), (2, 3), torch_float32),
    Rival(
        "jakteristics",
        "all its features, radius of 30 neighbours",
        "jakteristics",
        ("jakteristics",),
        (3,),
        jakteristics,
    ),
)
