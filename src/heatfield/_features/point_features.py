"""The input of learned pooling: features of every point, and of each cloud as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.check import Array
from .._signatures.channels import block_columns, block_values, learned_blocks
from ..core.cloud import ArrangedCloud
from ..core.evaluate import Evaluation, evaluate
from ..core.outputs import Outputs, heat_dimension_spectrum
from ..options import names
from .describe import deviation_at_points, global_block
from .layout import PAPER_BLOCKS, layout, scale_pairs
from .settings import FeatureSettings

# Which blocks describe the whole cloud and which each point, in their order.
WHOLE_BLOCKS = ("global", "log_global", "hds")
POINT_BLOCKS = (*learned_blocks(), "gradient", "neighbourhood")

# Beginnings of the names of point features that are differences of numbers of order one, whose round-off is
# that of 1; see `round_off`.
_ORDER_ONE_FEATURES = ("log_density", "transition", "spectrum", "gradient", "neighbourhood")


@dataclass(frozen=True)
class PointSettings(FeatureSettings):
    """All that decides the numbers: `features_of` depends on nothing else but the points."""

    def _checked_blocks(self, blocks: Any) -> tuple[str, ...]:
        known = (*WHOLE_BLOCKS, *POINT_BLOCKS)
        chosen = PAPER_BLOCKS if blocks is None else names(blocks, "blocks")
        if any(b not in known for b in chosen) or not any(b in POINT_BLOCKS for b in chosen):
            raise ValueError(
                f"blocks must be some of {', '.join(map(repr, known))}, "
                f"with at least one of {', '.join(map(repr, POINT_BLOCKS))}, got {chosen!r}"
            )
        return tuple(b for b in known if b in chosen)

    def identity(self) -> dict[str, Any]:
        """See `SignatureSettings`."""
        found = super().identity()
        # Gradient lengths of version 1 had half of the digits: features cached then are computed again.
        return {**found, "gradient": 2} if "gradient" in self.point_blocks else found

    @property
    def point_blocks(self) -> tuple[str, ...]:
        """Of the chosen blocks, those that describe a point."""
        return tuple(b for b in POINT_BLOCKS if b in self.blocks)

    @property
    def whole_blocks(self) -> tuple[str, ...]:
        """Of the chosen blocks, those that describe the cloud."""
        return tuple(b for b in WHOLE_BLOCKS if b in self.blocks)

    @property
    def point_names(self) -> tuple[str, ...]:
        """Names of the features of a point: scale by scale, then the second layer by pairs of scales."""
        channels: list[str] = []
        for block in self.point_blocks:
            if block != "neighbourhood":
                channels += [block] if block == "gradient" else block_columns(block, self.n_dims)
        names = [f"{channel}_s{a}" for a in range(self.n_scales) for channel in channels]
        if "neighbourhood" in self.point_blocks:
            fields = ("log_density", "dimension", *self._axes)
            pairs = scale_pairs(self.n_scales)
            names += [f"neighbourhood_{field}_s{a}_s{b}" for field in fields for a, b in pairs]
        return tuple(names)

    @property
    def _axes(self) -> list[str]:
        return [f"spectrum_{k + 1}" for k in range(self.n_dims)]

    @property
    def whole_names(self) -> tuple[str, ...]:
        """Names of the features of the whole cloud, as in the descriptor."""
        names: list[str] = []
        for block in self.whole_blocks:
            variant = "joint" if block == "log_global" else "desc"
            plain = "global" if block == "log_global" else block
            centers = tuple(self.centers.tolist())
            names += layout(variant, (plain,), self.n_dims, self.n_scales, centers).names
        return tuple(names)

    def magnitudes(self) -> tuple[Array, Array]:
        """Least magnitude of each feature, of points and of whole clouds, to which round-off is relative."""
        points = [float(name.startswith(_ORDER_ONE_FEATURES)) for name in self.point_names]
        whole = [float(name.startswith(("hds", "global_log"))) for name in self.whole_names]
        return np.array(points), np.array(whole)


def features_of(points: Array, settings: PointSettings, n_threads: int = 1) -> tuple[Array, Array]:
    """Features of every point (m, F) and of the cloud (W,); NaN where there is no scale schedule."""
    if len(points) == 0 or (points == points[0]).all():  # nothing is known: one row of NaN
        rows = np.full((max(1, len(points)), len(settings.point_names)), np.nan)
        return rows, np.full(len(settings.whole_names), np.nan)
    cloud = ArrangedCloud.of(points, n_threads)
    scales = settings.times(cloud)
    request = settings.request(
        directions=settings.with_spectrum,
        energy=True,  # always: the plan of the fast path, and so its last digits, depend on it
        gradient="gradient" in settings.point_blocks,
        n_threads=n_threads,
    )
    found = evaluate(cloud, None, scales, request)
    out = found.local
    second = None
    if "neighbourhood" in settings.point_blocks:
        second = np.empty((len(points), len(scale_pairs(settings.n_scales)) * (2 + settings.n_dims)))
        second[cloud.order] = deviation_at_points(cloud, scales, found, request).T
    whole = [_whole_block(found, block, scales[0], settings) for block in settings.whole_blocks]
    out.turn_round(found.rows, n_threads)
    channels = [_channel(out, block) for block in settings.point_blocks if block != "neighbourhood"]
    parts = [np.concatenate(channels, axis=2).reshape(len(points), -1)] if channels else []
    if second is not None:
        parts.append(second)
    return np.concatenate(parts, axis=1), np.concatenate(whole) if whole else np.empty(0)


def _channel(found: Outputs, block: str) -> Array:
    """One local signature (m, T, 1), or all of the spectrum (m, T, n)."""
    if block == "gradient":
        assert found.gradient is not None
        return found.gradient[:, :, None]
    return block_values(block, found)


def _whole_block(found: Evaluation, block: str, times: Array, settings: PointSettings) -> Array:
    if block == "hds":
        out = found.local
        shares = heat_dimension_spectrum(
            out.density, out.dimension, np.array([found.rows.size]), settings.centers, settings.hds_sigma
        )
        return np.concatenate([part.ravel() for part in shares])
    return global_block(found.energy, found.response, times, log=block == "log_global").ravel()
