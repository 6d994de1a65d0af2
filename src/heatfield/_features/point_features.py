"""What learned pooling starts from: features of every point, and of each cloud as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .._base.check import Array, check_choice, check_count, check_dtype, check_range, check_tol
from .._signatures.channels import block_columns, block_values, blocks_with_spectrum, learned_blocks
from .._signatures.signatures import Signatures, signatures
from .layout import PAPER_BLOCKS, layout
from .neighbourhood import deviation_at_points
from .neighbourhood_kernels import scale_pairs

# Which blocks describe the whole cloud and which each point, in their order.
WHOLE_BLOCKS = ("global", "log_global", "hds")
POINT_BLOCKS = (*learned_blocks(), "gradient", "neighbourhood")

# Differences of numbers of order one, whose round-off is that of 1; see `_classifier.preprocessing`.
_ORDER_ONE = ("log_density", "transition", "spectrum", "gradient", "neighbourhood")
# Read from the spectrum.
_NEED_SPECTRUM = {*blocks_with_spectrum(), "gradient", "neighbourhood"}


@dataclass(frozen=True)
class PointRecipe:
    """All that decides the numbers: `features_of` depends on nothing else but the points."""

    n_dims: int
    blocks: tuple[str, ...]
    n_scales: int
    c_min: float
    c_max: float
    transition: str
    method: str
    tol: float | None
    dtype: str

    @classmethod
    def checked(
        cls,
        n_dims: int,
        blocks: Iterable[str] | None = None,
        *,
        n_scales: int = 8,
        c_min: float = 0.05,
        c_max: float = 0.25,
        transition: str | None = None,
        method: str = "auto",
        tol: float | None = None,
        dtype: str = "float64",
    ) -> PointRecipe:
        """The settings, or a ValueError that says what is wrong with them."""
        known = (*WHOLE_BLOCKS, *POINT_BLOCKS)
        if isinstance(blocks, str):
            raise ValueError(
                f"blocks must be a sequence of names, got the string {blocks!r}; pass ({blocks!r},)"
            )
        chosen = PAPER_BLOCKS if blocks is None else tuple(blocks)
        if any(b not in known for b in chosen) or not any(b in POINT_BLOCKS for b in chosen):
            raise ValueError(
                f"blocks must be some of {', '.join(map(repr, known))}, "
                f"with at least one of {', '.join(map(repr, POINT_BLOCKS))}, got {chosen!r}"
            )
        low, high = check_range(c_min, c_max)
        precision = check_dtype(dtype)
        check_tol(tol, precision)
        return cls(
            check_count(n_dims, "n_dims", 1),
            tuple(b for b in known if b in chosen),
            check_count(n_scales, "n_scales", 2),
            low,
            high,
            check_choice(transition or "difference", "transition", ("difference", "exact")),
            check_choice(method, "method", ("auto", "dense", "fast")),
            tol,
            precision.name,
        )

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
        if "neighbourhood" in self.blocks:
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
            names += layout(variant, (plain,), self.n_dims, self.n_scales, range(self.n_dims + 1)).names
        return tuple(names)

    def magnitudes(self) -> tuple[Array, Array]:
        """Least magnitude of each feature, point and whole, below which its own size says nothing."""
        points = [float(name.startswith(_ORDER_ONE)) for name in self.point_names]
        whole = [float(name.startswith(("hds", "global_log"))) for name in self.whole_names]
        return np.array(points), np.array(whole)


def features_of(points: Array, recipe: PointRecipe) -> tuple[Array, Array]:
    """Features of every point (m, F) and of the cloud (W,); NaN where there is no scale schedule."""
    n, steps = recipe.n_dims, recipe.n_scales
    if len(points) == 0 or (points == points[0]).all():  # nothing is known, but there is a row to say so
        rows = np.full((max(1, len(points)), len(recipe.point_names)), np.nan)
        return rows, np.full(len(recipe.whole_names), np.nan)
    s = signatures(
        points,
        n_scales=steps,
        c_min=recipe.c_min,
        c_max=recipe.c_max,
        transition=recipe.transition,
        with_spectrum=not _NEED_SPECTRUM.isdisjoint(recipe.blocks),
        method=recipe.method,
        tol=recipe.tol,
        dtype=recipe.dtype,
    )
    channels = []
    for block in recipe.point_blocks:
        if block == "neighbourhood":
            continue  # of pairs of scales, not of one
        if block == "gradient":
            channels.append(_gradient_length(s, n)[:, :, None])
        else:
            channels.append(block_values(block, s))
    parts = [np.concatenate(channels, axis=2).reshape(len(points), -1)] if channels else []
    if "neighbourhood" in recipe.blocks:
        parts.append(deviation_at_points(points, s, recipe.tol, recipe.dtype))
    whole = [_whole_block(s, block) for block in recipe.whole_blocks]
    return np.concatenate(parts, axis=1), np.concatenate(whole) if whole else np.empty(0)


def _gradient_length(s: Signatures, n: int) -> Array:
    """sqrt(2t) |grad log u|: its square is d_heat - n - the sum of the spectrum."""
    assert s.spectrum is not None
    return np.sqrt(np.maximum(0.0, s.dimension - n - s.spectrum.sum(axis=2)))


def _whole_block(s: Signatures, block: str) -> Array:
    if block == "hds":
        return np.concatenate([s.hds.composition.T.ravel(), s.hds.contrast.T.ravel()])
    parts = [s.energy, s.response, s.roughness, s.relative_roughness]
    if block == "log_global":
        # A single place has no roughness: its logarithm is a gap, as in the joint descriptor.
        parts = [p if i == 1 else np.log(np.where(p > 0.0, p, np.nan)) for i, p in enumerate(parts)]
    return np.concatenate(parts)
