"""The specification of the joint and oriented descriptors, in plain NumPy, on top of `reference`.

Of the block of orientation coherence: S is the deviatoric part of the covariance under w over 2t; E^b f the
mean of f around each point under the weights of scale b; G = sqrt(2t) grad log u. What has no direction, or
does not vary, is NaN.
"""

import numpy as np

from tests.helpers import reference

LEAST = 1e-6  # of a channel's deviation
LEAST_SIZE = 1e-4  # of a tensor


def correlation(x, y):
    """Over the points; NaN where one of them does not vary."""
    if x.std() <= LEAST or y.std() <= LEAST:
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


def descriptor(points, variant="joint", n_scales=8):
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
    if variant == "oriented":
        parts.append(orientation(points, scales))
    return np.concatenate([np.ravel(part) for part in parts])


# --- orientation coherence -----------------------------------------------------------


def tensors_and_gradients(points, scales):
    """S (T, m, n, n) and G (T, m, n)."""
    n = points.shape[1]
    r, D2 = reference.pair_differences(points)
    S, G = [], []
    for t in scales:
        w = np.exp(-D2 / (4 * t))
        w /= w.sum(axis=1, keepdims=True)
        mean = np.einsum("ij,ijk->ik", w, r)
        C = np.einsum("ij,ijk,ijl->ikl", w, r, r) - mean[:, :, None] * mean[:, None, :]
        C /= 2 * t
        S.append(C - np.trace(C, axis1=1, axis2=2)[:, None, None] / n * np.eye(n))
        G.append(mean / np.sqrt(2 * t))
    return np.array(S), np.array(G)


def around(points, t, field):
    """E f: the mean of a field (m, ...) around every point."""
    _, D2 = reference.pair_differences(points)
    w = np.exp(-D2 / (4 * t))
    return np.tensordot(w / w.sum(axis=1, keepdims=True), field, axes=1)


def agreement(A, B):
    """Their product summed over the points, over the root of the sums of squares; NaN where one vanishes."""
    m = len(A)
    if np.sqrt((A**2).sum() / m) <= LEAST_SIZE or np.sqrt((B**2).sum() / m) <= LEAST_SIZE:
        return np.nan
    return (A * B).sum() / np.sqrt((A**2).sum() * (B**2).sum())


def statistics(values):
    """Mean and percentiles of the points that have a value."""
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return [np.nan] * 4
    return [values.mean(), *np.percentile(values, [10, 50, 90])]


def norms(A):
    return np.sqrt((A**2).reshape(len(A), -1).sum(axis=1))


def pairs(n_scales, steps):
    return [(a, a + step) for step in steps for a in range(n_scales - step)]


def orientation(points, scales):
    n, T = points.shape[1], len(scales)
    S, G = tensors_and_gradients(points, scales)
    u, d, tau, spectrum = reference.local_signatures(points, scales, "exact")
    mean = {(a, b): around(points, scales[b], S[a]) for a, b in pairs(T, (0, 1, 3))}
    size = [norms(s) for s in S]
    parts = []
    for a, b in pairs(T, (0, 1, 3)):
        parts.append(agreement(S[a], mean[a, b]))
    for a, b in pairs(T, (0, 1, 3)):
        total = (S[a] ** 2).sum()
        known = np.sqrt(total / len(points)) > LEAST_SIZE
        parts.append(np.sqrt((mean[a, b] ** 2).sum() / total) if known else np.nan)
    for a, b in pairs(T, (0, 1, 3)):
        length = norms(mean[a, b])
        product = (S[a] * mean[a, b]).sum(axis=(1, 2))
        known = (size[a] > LEAST_SIZE) & (length > LEAST_SIZE)
        parts += statistics(np.where(known, product / np.where(known, size[a] * length, 1), np.nan))
    for a, b in pairs(T, (0, 1, 3)):
        known = size[a].mean() > LEAST_SIZE
        relative = norms(mean[a, b]) / size[a].mean() if known else np.full(len(points), np.nan)
        parts += statistics(relative)
    parts += [agreement(mean[a, b], S[b]) for a, b in pairs(T, (1, 3))]
    parts += [agreement(S[a], S[b]) for a, b in pairs(T, (1, 2, 3))]
    parts += [agreement(G[a], G[b]) for a, b in pairs(T, (1, 2, 3))]
    g = np.array([norms(part) for part in G])
    for a, b in pairs(T, (0, 1)):
        along = np.einsum("mi,mij,mj->m", G[a], S[b], G[a]).mean()
        known = np.sqrt((g[a] ** 2).mean()) > LEAST_SIZE and size[b].mean() > LEAST_SIZE
        parts.append(along / ((g[a] ** 2).mean() * size[b].mean()) if known else np.nan)
    channels = [np.log(u), d, tau, *(spectrum[:, :, k] for k in range(n))]
    for channel in channels:
        parts += [correlation(g[a], channel[:, a]) for a in range(T)]
    parts += [correlation(g[a], g[b]) for a, b in pairs(T, (1, 2))]
    return np.array(parts)
