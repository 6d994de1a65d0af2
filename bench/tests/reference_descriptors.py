"""The descriptor baselines written down plainly: loops and dense matrices, no tree, no sparse solver."""

import numpy as np

STATISTICS = (np.mean, np.std, *(lambda v, q=q: np.percentile(v, q) for q in (10, 50, 90)))


def pooled(channels):
    """(C, T, m) to one row: channel by channel, statistic by statistic, step by step, over defined points."""
    out = []
    for channel in channels:
        for statistic in STATISTICS:
            for values in channel:
                known = values[~np.isnan(values)]
                out.append(statistic(known) if known.size else np.nan)
    return np.array(out)


def unit_ball(points):
    space = np.zeros((len(points), 3))
    space[:, : points.shape[1]] = points
    space = space - space.mean(axis=0)
    return space / np.linalg.norm(space, axis=1).max()


# --- heat and wave kernel signatures -------------------------------------------------


def spectra(points, k=10, pairs=80):
    """Per component: members, lowest eigenvalues and eigenvectors, and all others equal to the last.

    Points must be distinct, and no two neighbours equally far.
    """
    m = len(points)
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    A = np.zeros((m, m))
    for i in range(m):
        for j in np.argsort(distance[i])[1 : k + 1]:
            A[i, j] = A[j, i] = 1.0
    seen, parts = set(), []
    for start in range(m):
        if start in seen:
            continue
        members, todo = {start}, [start]
        while todo:
            for j in np.flatnonzero(A[todo.pop()]):
                if j not in members:
                    members.add(int(j))
                    todo.append(j)
        seen |= members
        inside = np.array(sorted(members))
        L = np.diag(A[np.ix_(inside, inside)].sum(axis=1)) - A[np.ix_(inside, inside)]
        values, vectors = np.linalg.eigh(L)
        kept = values <= values[min(pairs, len(values)) - 1] + 1e-6 * 2 * np.diag(L).max()
        parts.append((inside, values[kept], vectors[:, kept]))
    return parts


def hks(points, k=10, pairs=80, n_times=16):
    parts = spectra(points, k, pairs)
    positive = np.concatenate([values[1:] for _, values, _ in parts])
    times = np.geomspace(4 * np.log(10) / positive.max(), 4 * np.log(10) / positive.min(), n_times)
    out = np.empty((n_times, len(points)))
    for inside, values, vectors in parts:
        for a, t in enumerate(times):
            out[a, inside] = (vectors**2 * np.exp(-values * t)).sum(axis=1)
    return out[None]


def wks(points, k=10, pairs=80, n_energies=16, width=0.07):
    parts = spectra(points, k, pairs)
    logs = np.log(np.concatenate([values[1:] for _, values, _ in parts]))
    sigma = width * (logs.max() - logs.min())
    out = np.empty((n_energies, len(points)))
    for a, e in enumerate(np.linspace(logs.min() + 2 * sigma, logs.max() - 2 * sigma, n_energies)):
        total = np.exp(-((e - logs) ** 2) / (2 * sigma**2)).sum()
        for inside, values, vectors in parts:
            g = np.exp(-((e - np.log(values[1:])) ** 2) / (2 * sigma**2))
            out[a, inside] = (vectors[:, 1:] ** 2 * g).sum(axis=1) / total
    return out[None]


# --- features of the covariance ------------------------------------------------------


def covariance_features(points, radii):
    """The twelve features (12, radii, m), names and order as in `LocalCovariance`."""
    out = np.full((12, len(radii), len(points)), np.nan)
    for a, radius in enumerate(radii):
        for i, x in enumerate(points):
            near = points[np.linalg.norm(points - x, axis=1) <= radius]
            out[11, a, i] = len(near)
            if len(near) < 2:
                continue
            values, vectors = np.linalg.eigh(np.cov((near - x).T))
            values = np.where(values <= 1e-12 * values.sum(), 0.0, values)
            l3, l2, l1 = values
            total = l1 + l2 + l3
            out[0, a, i] = total
            out[1, a, i] = (l1 * l2 * l3) ** (1 / 3)
            out[2, a, i] = -sum(l * np.log(l) for l in values if l > 0)
            if l1 == 0:
                continue
            out[3:10, a, i] = [
                (l1 - l3) / l1, (l2 - l3) / l1, (l1 - l2) / l1, l1 / total, l2 / total, l3 / total, l3 / l1
            ]  # fmt: skip
            if l2 - l3 > 1e-9 * total:
                out[10, a, i] = 1 - abs(vectors[2, 0])
    return out


# --- fast point feature histograms ---------------------------------------------------


def fpfh(points, normals, neighbours):
    """FPFH (33, m) by the definition, from normals and lists of neighbours without the point itself.

    Three angles of each pair in the frame at the point whose normal is closer to the line between them,
    eleven bins each; then each point's histogram plus the mean of those of its neighbours, weighted by
    1 / distance² and normalised to 100 per angle.
    """
    m = len(points)
    simple = np.zeros((m, 33))
    for i in range(m):
        for j in neighbours[i]:
            for angle, (value, low, high) in enumerate(_pair(points[i], normals[i], points[j], normals[j])):
                place = int(np.clip(np.floor(11 * (value - low) / (high - low)), 0, 10))
                simple[i, 11 * angle + place] += 100.0 / len(neighbours[i])
    out = np.zeros((m, 33))
    for i in range(m):
        if len(neighbours[i]) == 0:
            continue
        weight = 1.0 / ((points[neighbours[i]] - points[i]) ** 2).sum(axis=1)
        around = (weight[:, None] * simple[neighbours[i]]).sum(axis=0).reshape(3, 11)
        total = around.sum(axis=1, keepdims=True)
        around = np.divide(100.0 * around, total, out=np.zeros_like(around), where=total > 0)
        out[i] = simple[i] + around.ravel()
    return out.T


def _pair(p, n, q, other):
    line = (q - p) / np.linalg.norm(q - p)
    first, second = n @ line, other @ line
    if np.arccos(np.abs(first)) > np.arccos(np.abs(second)):  # the frame stands at the other end
        n, other, line, first = other, n, -line, -second
    v = np.cross(line, n)
    v /= np.linalg.norm(v)
    w = np.cross(n, v)
    theta = np.arctan2(w @ other, n @ other)
    return (theta, -np.pi, np.pi), (v @ other, -1.0, 1.0), (first, -1.0, 1.0)
