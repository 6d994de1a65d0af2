"""The specification of the joint descriptor, in plain NumPy, on top of `reference`."""

import numpy as np

from tests.helpers import reference


def correlation(x, y):
    """Over the points; NaN where one of them does not vary."""
    if x.std() <= 1e-6 or y.std() <= 1e-6:
        return np.nan
    return ((x - x.mean()) * (y - y.mean())).mean() / (x.std() * y.std())


def neighbourhood_spread(points, scales, field, a, b):
    """Weighted standard deviation of field[:, a] around every point at scale b (two passes)."""
    _, D2 = reference.pair_differences(points)
    w = np.exp(-D2 / (4 * scales[b]))
    w /= w.sum(axis=1, keepdims=True)
    mean = w @ field[:, a]
    return np.sqrt((w * (field[None, :, a] - mean[:, None]) ** 2).sum(axis=1))


def isolated(points):
    """Whether the nearest other place is more than twice as far away as that of 90 % of the places."""
    places, place_of_point = np.unique(points, axis=0, return_inverse=True)
    if len(places) < 8:
        return np.zeros(len(points), bool)
    distance = np.sqrt(reference.pair_differences(places)[1])
    nearest = np.where(np.eye(len(places), dtype=bool), np.inf, distance).min(axis=1)
    limit = 2.001 * np.quantile(nearest, 0.9, method="inverted_cdf")
    return (nearest > limit)[place_of_point.ravel()]


def descriptor(points, n_scales=8):
    points = points[~isolated(points)]
    n = points.shape[1]
    scales = reference.scale_schedule(points, n_scales)
    r, D2 = reference.pair_differences(points)
    u, d, tau, spectrum = reference.local_signatures(points, scales, "exact")
    lambdas = [spectrum[:, :, k] for k in range(n)]
    gradient = np.empty_like(u)
    for a, t in enumerate(scales):
        w = np.exp(-D2 / (4 * t))
        mean_r = np.einsum("ij,ijk->ik", w, r) / w.sum(axis=1)[:, None]
        gradient[:, a] = np.linalg.norm(mean_r, axis=1) / np.sqrt(2 * t)
    E2, C2, dirichlet, ratio = reference.global_signatures(points, scales)
    parts = [np.log(E2), C2, np.log(dirichlet), np.log(ratio)]
    parts += [part.T for part in reference.heat_dimension_spectrum(u, d, n)]
    channels = [np.log(u), d, tau, *lambdas]
    parts += [reference.pool(c) for c in [*channels, gradient]]
    for p in range(len(channels)):
        for q in range(p + 1, len(channels)):
            parts.append([correlation(channels[p][:, a], channels[q][:, a]) for a in range(n_scales)])
    for c in channels:
        for step in (1, 2):
            parts.append([correlation(c[:, a], c[:, a + step]) for a in range(n_scales - step)])
    for field in [np.log(u), d, *lambdas]:
        for step in (1, 3):
            for a in range(n_scales - step):
                spread = neighbourhood_spread(points, scales, field, a, a + step)
                p10, p90 = np.percentile(spread, [10, 90])
                parts.append([spread.mean(), p10, p90] if a + step >= 3 else [spread.mean(), p90])
    return np.concatenate([np.ravel(part) for part in parts])
