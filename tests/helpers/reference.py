"""The specification: Heat Field Signatures in plain NumPy, as short as the paper's equations.

It keeps whole (m, m) tables and is meant to be read, not to be fast. Every other
path of the library is compared with it.
"""

import numpy as np


def pair_differences(points):
    """r[i, j] = x_j - x_i, and D2[i, j] = |r|**2 (never |a|**2 + |b|**2 - 2ab, which cancels)."""
    r = points[None, :, :] - points[:, None, :]
    return r, (r**2).sum(axis=2)


def scale_schedule(points, n_scales=8, c_min=0.05, c_max=0.25):
    _, distinct2 = pair_differences(np.unique(points, axis=0))
    diameter2 = distinct2.max()
    np.fill_diagonal(distinct2, np.inf)
    r_nn = np.sqrt(distinct2.min(axis=1)).mean()
    return np.geomspace(c_min * r_nn**2, c_max * diameter2, n_scales)


def adaptive_scales(points, n_scales=8, k=8, c_min=0.05, c_max=12.5):
    _, D2 = pair_differences(points)
    r_k2 = np.sort(D2, axis=1)[:, k]
    return np.geomspace(c_min, c_max, n_scales)[None, :] * r_k2[:, None]


def local_signatures(points, scales, transition="difference", with_spectrum=True):
    """u, d_heat, tau (m, T) and 2t lambda (m, T, n). ``scales`` is (T,) or (m, T)."""
    m, n = points.shape
    r, D2 = pair_differences(points)
    rT = np.ascontiguousarray(r.transpose(0, 2, 1))
    t_all = np.broadcast_to(scales, (m, np.shape(scales)[-1]))
    T = t_all.shape[1]
    u, d, exact = np.empty((m, T)), np.empty((m, T)), np.empty((m, T))
    spectrum = np.empty((m, T, n))
    for a in range(T):
        t = t_all[:, a]
        w = np.exp(-D2 / (4 * t)[:, None])
        W = w.sum(axis=1)
        u[:, a] = (4 * np.pi * t) ** (-n / 2) * W
        mean_D2 = np.einsum("ij,ij->i", w, D2) / W
        d[:, a] = mean_D2 / (2 * t)
        if transition == "exact":
            exact[:, a] = (np.einsum("ij,ij,ij->i", w, D2, D2) / W - mean_D2**2) / (8 * t**2) - d[:, a]
        if not with_spectrum:
            continue
        wrT = w[:, None, :] * rT
        mean_r = wrT.sum(axis=2) / W[:, None]
        mean_rr = wrT @ r / W[:, None, None]
        Q = (mean_rr - mean_r[:, :, None] * mean_r[:, None, :]) / (4 * t**2)[:, None, None]
        Q -= np.eye(n) / (2 * t)[:, None, None]
        spectrum[:, a, :] = 2 * t[:, None] * np.linalg.eigvalsh(Q)[:, ::-1]
    if transition == "exact":
        return u, d, exact, spectrum
    if np.ndim(scales) == 2:
        tau = np.stack([np.gradient(d[i], np.log(t_all[i])) for i in range(m)])
    else:
        tau = np.gradient(d, np.log(scales), axis=1)
    return u, d, tau, spectrum


def global_signatures(points, scales):
    """E2, C2, Dirichlet energy, and its ratio to E2."""
    n = points.shape[1]
    _, D2 = pair_differences(points)
    E2, C2 = np.empty(len(scales)), np.empty(len(scales))
    for a, t in enumerate(scales):
        g = np.exp(-D2 / (8 * t))
        E2[a] = (8 * np.pi * t) ** (-n / 2) * g.sum()
        C2[a] = n / 2 - np.vdot(D2, g) / (8 * t * g.sum())
    dirichlet = C2 * E2 / (2 * scales)  # -1/2 dE2/dt, as C2 = -t d(log E2)/dt
    return E2, C2, dirichlet, dirichlet / E2


def heat_dimension_spectrum(u, d, n, sigma=0.5, centers=None):
    centers = np.arange(n + 1) if centers is None else np.asarray(centers)
    eta = np.exp(-((d[:, :, None] - centers) ** 2) / (2 * sigma**2))
    eta /= eta.sum(axis=2, keepdims=True)
    composition = eta.mean(axis=0)
    weighted = (u[:, :, None] * eta).sum(axis=0) / u.sum(axis=0)[:, None]
    return composition, weighted - composition


def pool(channel):
    """mean, std, p10, p50, p90 over the points, scale by scale: (5, T)."""
    return np.concatenate(
        [[channel.mean(axis=0)], [channel.std(axis=0)], np.percentile(channel, [10, 50, 90], axis=0)]
    )


def descriptor(points, variant="desc", n_scales=8, c_min=0.05, c_max=0.25, transition="difference"):
    """HFS-desc (336 numbers in 3-D) or HFS-simple (216)."""
    n = points.shape[1]
    scales = scale_schedule(points, n_scales, c_min, c_max)
    u, d, tau, spectrum = local_signatures(points, scales, transition, variant == "desc")
    composition, contrast = heat_dimension_spectrum(u, d, n)
    channels = [u, d, tau] + ([spectrum[:, :, k] for k in range(n)] if variant == "desc" else [])
    parts = [*global_signatures(points, scales), composition.T, contrast.T, *(pool(c) for c in channels)]
    return np.concatenate([np.ravel(p) for p in parts])


# --- point patterns -----------------------------------------------------------------


def response(points, r):
    """C2 = n/2 - sum D^2/8t g / sum g over all ordered pairs, own pairs included, at r = 2 sqrt(t)."""
    t = r * r / 4
    square = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    g = np.exp(-square / (8 * t))
    return points.shape[1] / 2 - (square * g).sum() / (8 * t) / g.sum()


def log_pairs(points, r):
    """The logarithm of the mean of exp(-D^2 / 2 r^2) over pairs of different points."""
    square = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    different = ~np.eye(len(points), dtype=bool)
    return np.log(np.exp(-square[different] / (2 * r * r)).mean())


def extreme_rank_lengths(curves):
    """Sorted two-sided ranks of each curve, for comparison as tuples; equal values share their mean rank."""
    count = len(curves)
    out = []
    for curve in curves:
        ranks = []
        for j, value in enumerate(curve):
            below = sum(other[j] < value for other in curves)
            equal = sum(other[j] == value for other in curves)
            low = below + (equal + 1) / 2
            ranks.append(min(low, count + 1 - low))
        out.append(tuple(sorted(ranks)))
    return out
