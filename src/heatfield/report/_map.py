"""Clouds as points of a map: where they lie, which are near, which are far from all others."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline

from .._base.check import Array, check_dtype
from .._base.optional import need
from .._classifier.preprocessing import GapImputer, RoundOffScaler, magnitudes
from .._features.descriptor import HFSDescriptor
from .._features.round_off import ROUND_OFF

# Neighbours are sought among the principal components that hold 95 % of the variance.
_VARIANCE = 0.95
_OUTLYING = 3.5  # deviations from the median, in units of the median deviation times 1.4826


@dataclass(frozen=True)
class Map:
    """An embedding and what follows from distances."""

    places: Array  # (N, 2)
    method: str
    words: str
    neighbours: NDArray[np.int64]  # (N, k), nearest first
    outliers: list[tuple[int, float]]  # cloud, deviations; farthest first


def make_map(features: Array, descriptor: HFSDescriptor, embedding: str = "auto", seed: int = 0) -> Map:
    """Standardise, project, and look at distances to the nearest five."""
    scaler = RoundOffScaler(ROUND_OFF[check_dtype(descriptor.dtype)], magnitudes(descriptor.layout()))
    table = make_pipeline(GapImputer(), scaler).fit_transform(features)
    count = len(table)
    if count < 3 or not table.any():
        return Map(
            np.zeros((count, 2)), "none", "There are too few clouds for a map.", np.zeros((count, 0), int), []
        )
    pca = PCA(random_state=seed).fit(table)
    held = np.cumsum(pca.explained_variance_ratio_)
    parts = pca.transform(table)[:, : max(2, int(np.searchsorted(held, _VARIANCE)) + 1)]
    k = min(5, count - 1)
    distance, index = NearestNeighbors(n_neighbors=k + 1).fit(parts).kneighbors(parts)
    own = index == np.arange(count)[:, None]  # a copy of a cloud may come before the cloud itself
    own[~own.any(axis=1), -1] = True
    neighbours = index[~own].reshape(count, k)
    far = np.log(np.maximum(distance[~own].reshape(count, k).mean(axis=1), 1e-12))
    middle = float(np.median(far))
    unit = 1.4826 * float(np.median(np.abs(far - middle))) or 1.0
    deviations = (far - middle) / unit
    order = np.argsort(-deviations)
    outliers = [(int(i), round(float(deviations[i]), 1)) for i in order[:20] if deviations[i] > _OUTLYING]
    places, method, words = _embed(table, parts, held, embedding, seed)
    return Map(places, method, words, neighbours, outliers)


def _embed(table: Array, parts: Array, held: Array, embedding: str, seed: int) -> tuple[Array, str, str]:
    installed = importlib.util.find_spec("umap") is not None
    if embedding == "umap":
        need("umap", "--embedding umap", verb="needs", command="pip install umap-learn")
    if embedding != "pca" and installed and len(table) > 10:
        umap = importlib.import_module("umap")
        near = min(15, len(table) - 1)
        places = umap.UMAP(n_neighbors=near, random_state=seed, n_jobs=1).fit_transform(parts)
        words = "UMAP of the standardised descriptors: near is alike, far says little."
        return np.asarray(places, dtype=float), "UMAP", words
    share = 100 * held[min(1, len(held) - 1)]
    words = (
        f"The first two principal components of the standardised descriptors, {share:.0f} % of the variance."
    )
    return parts[:, :2], "PCA", words
