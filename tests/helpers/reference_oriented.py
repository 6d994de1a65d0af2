"""The specification of the block of orientation coherence, in plain NumPy, on top of `reference`.

S is the deviatoric part of the covariance under w over 2t; E^b f the mean of f around each point under the
weights of scale b; G = sqrt(2t) grad log u. What has no direction, or does not vary, is NaN.
"""

import numpy as np

from tests.helpers import reference, reference_joint

LEAST = 1e-6


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
    if np.sqrt((A**2).sum() / m) <= LEAST or np.sqrt((B**2).sum() / m) <= LEAST:
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


def block(points, scales):
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
        known = np.sqrt(total / len(points)) > LEAST
        parts.append(np.sqrt((mean[a, b] ** 2).sum() / total) if known else np.nan)
    for a, b in pairs(T, (0, 1, 3)):
        length = norms(mean[a, b])
        product = (S[a] * mean[a, b]).sum(axis=(1, 2))
        known = (size[a] > LEAST) & (length > LEAST)
        parts += statistics(np.where(known, product / np.where(known, size[a] * length, 1), np.nan))
    for a, b in pairs(T, (0, 1, 3)):
        known = size[a].mean() > LEAST
        relative = norms(mean[a, b]) / size[a].mean() if known else np.full(len(points), np.nan)
        parts += statistics(relative)
    parts += [agreement(mean[a, b], S[b]) for a, b in pairs(T, (1, 3))]
    parts += [agreement(S[a], S[b]) for a, b in pairs(T, (1, 2, 3))]
    parts += [agreement(G[a], G[b]) for a, b in pairs(T, (1, 2, 3))]
    g = np.array([norms(part) for part in G])
    for a, b in pairs(T, (0, 1)):
        along = np.einsum("mi,mij,mj->m", G[a], S[b], G[a]).mean()
        known = np.sqrt((g[a] ** 2).mean()) > LEAST and size[b].mean() > LEAST
        parts.append(along / ((g[a] ** 2).mean() * size[b].mean()) if known else np.nan)
    channels = [np.log(u), d, tau, *(spectrum[:, :, k] for k in range(n))]
    for channel in channels:
        parts += [reference_joint.correlation(g[a], channel[:, a]) for a in range(T)]
    parts += [reference_joint.correlation(g[a], g[b]) for a, b in pairs(T, (1, 2))]
    return np.array(parts)
