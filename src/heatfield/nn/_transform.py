"""`ClosedFormFeatures`: per-point features as a transform for torch data sets, with a cache."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load, save
from torch import Tensor

from .._base.arrays import open_regular
from .._base.check import as_points
from .._base.files import write_atomically
from .._features.layout import SCHEMA
from .._features.point_features import PointSettings, features_of


class ClosedFormFeatures:
    """From one cloud (m, n) to its point features (m, F) and whole features (W,), by the compiled core.

    For clouds whose coordinates need no gradients; what was computed can be kept in files. Use it
    as the ``transform`` of a torch data set; it may be copied to DataLoader workers.

    Guide: ``heatfield docs guide/learning``.

    Parameters
    ----------
    blocks : sequence of str, optional
        Some of "global", "log_global", "hds" (of the whole cloud) and "density", "log_density",
        "dimension", "transition", "spectrum", "gradient", "neighbourhood" (of each point). The default is the
        paper's.
    cache : path-like, optional
        A folder that keeps the features of every cloud, under a hash of its points and of the settings.
    dtype : torch.dtype
        Of the tensors that are returned; the sums are in double precision.
    **options
        ``n_scales, c_min, c_max, transition, method`` as of `heatfield.signatures`.

    Examples
    --------
    >>> import numpy as np
    >>> from heatfield.nn import ClosedFormFeatures
    >>> rows, whole = ClosedFormFeatures()(np.random.default_rng(0).normal(size=(60, 3)))
    >>> rows.shape, whole.shape
    (torch.Size([60, 48]), torch.Size([96]))
    """

    def __init__(
        self,
        blocks: Iterable[str] | None = None,
        *,
        cache: str | Path | None = None,
        dtype: torch.dtype = torch.float32,
        **options: Any,
    ) -> None:
        self.blocks = blocks if blocks is None or isinstance(blocks, str) else tuple(blocks)
        self.options: dict[str, Any] = {"blocks": self.blocks, **options}
        self.cache = None if cache is None else Path(cache)
        self.dtype = dtype
        PointSettings(3, **self.options)  # raises an error here, not in a worker

    def __call__(self, points: Any) -> tuple[Tensor, Tensor]:
        """Features of one cloud, an array or a tensor."""
        cloud = as_points(points.detach().cpu().numpy() if isinstance(points, Tensor) else points)
        recipe = PointSettings(cloud.shape[1], **self.options)
        rows, whole = self._kept(cloud, recipe) if self.cache is not None else features_of(cloud, recipe)
        return torch.from_numpy(rows).to(self.dtype), torch.from_numpy(whole).to(self.dtype)

    def _kept(self, cloud: np.ndarray, recipe: PointSettings) -> tuple[np.ndarray, np.ndarray]:
        assert self.cache is not None
        text = json.dumps([SCHEMA, recipe.identity(), cloud.shape], sort_keys=True).encode()
        place = self.cache / f"{hashlib.sha256(text + cloud.tobytes()).hexdigest()[:32]}.safetensors"
        try:
            with open_regular(place) as file:
                found = load(file.read())
            rows, whole = found["rows"], found["whole"]
            shape = (max(1, len(cloud)), len(recipe.point_names))
            fits = rows.shape == shape and whole.shape == (len(recipe.whole_names),)
            if fits and rows.dtype == whole.dtype == np.float64:
                return rows, whole
        # Missing, damaged because the disk was full, or of a type that numpy does not have.
        except (OSError, SafetensorError, LookupError, TypeError, AttributeError):
            pass
        rows, whole = features_of(cloud, recipe)
        self.cache.mkdir(parents=True, exist_ok=True)
        write_atomically(place, save({"rows": np.ascontiguousarray(rows), "whole": whole}))
        return rows, whole
