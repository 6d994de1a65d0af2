"""The columns of a descriptor: blocks, names, order, and the settings that decide them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from itertools import chain, islice
from typing import Any

import numpy as np

from .._base.check import check_choice
from .._base.summary import Summarised, Summary, plural
from ..channels import blocks_with_spectrum
from ..options import Features, Outliers, Spectrum, Threads, choices_of, names
from ..scales import SignatureSettings
from .blocks import ALL, BEYOND_PAPER, Shape, registry

# The number of the layout: a change of a name, of the order, or of a value by more
# than 1e-9 gets a new one.
SCHEMA = 2

VARIANT_BLOCKS = {
    variant: tuple(block.name for block in registry().values() if variant in block.variants)
    for variant in ALL
}
PAPER_BLOCKS = VARIANT_BLOCKS["desc"]

# Blocks that are read from the sums of w r and w r r', about a third of the work.
NEED_SPECTRUM = {
    *blocks_with_spectrum(),
    *(block.name for block in registry().values() if {"spectrum", "gradient"} & {*block.needs}),
}

# A feature that varies less than this over the training set, relative to its magnitude, is constant up to
# round-off: a thousand times what rotating a cloud changes. Round-off is relative to a feature's magnitude;
# differences of quantities of order one (`Block.order_one`) have the round-off of 1, however small they are.
ROUND_OFF = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-3}


@dataclass(frozen=True, repr=False)
class Layout(Summarised):
    """The columns of a descriptor: ``descriptor.layout()``.

    Guide: ``heatfield docs guide/describe``.

    Attributes
    ----------
    names : tuple of str
        One per column.
    columns : dict of slice
        The columns of each block, by its name.

    Examples
    --------
    >>> import heatfield as hf
    >>> layout = hf.HFSDescriptor("desc", n_dims=3).layout()
    >>> layout.width, layout.names[-1], layout.columns["hds"]
    (336, 'spectrum_3_p90_s7', slice(32, 96, None))
    """

    names: tuple[str, ...]
    columns: dict[str, slice]

    @property
    def width(self) -> int:
        """How many numbers there are per cloud."""
        return len(self.names)

    def _summary(self) -> Summary:
        lines: list[tuple[str, str | list[str]]] = []
        for block, place in self.columns.items():
            first, last = self.names[place.start], self.names[place.stop - 1]
            count = place.stop - place.start
            lines.append((block, f"columns {place.start} to {place.stop - 1} ({count}): {first} ... {last}"))
        return Summary(f"Layout of {plural(self.width, 'column')}", lines)


def column_names(block: str, shape: Shape) -> Iterator[str]:
    """Names of the columns of a block."""
    return (f"{block}_{name}" for name in registry()[block].names(shape))


@lru_cache(maxsize=64)  # a thousand names take longer than describing a small cloud
def layout(
    variant: str, blocks: tuple[str, ...], n: int, n_scales: int, centers: tuple[float, ...]
) -> Layout:
    """The layout of chosen blocks of a variant, in n dimensions."""
    shape = Shape(variant in BEYOND_PAPER, n, n_scales, centers)
    found: list[str] = []
    columns: dict[str, slice] = {}
    for block in VARIANT_BLOCKS[variant]:
        if block in blocks:
            start = len(found)
            found += column_names(block, shape)
            columns[block] = slice(start, len(found))
    return Layout(tuple(found), columns)


# Options that decide features, by the names that all estimators use.
OPTIONS = tuple(entry.name for group in (Features, Spectrum, Threads) for entry in fields(group))


def options_of(estimator: Any) -> dict[str, Any]:
    """Those options of an estimator that decide its features, as arguments of settings."""
    return {name: getattr(estimator, name) for name in OPTIONS if hasattr(estimator, name)}


@dataclass(frozen=True)
class FeatureSettings(SignatureSettings):
    """Signatures, and the blocks of features that are made of them."""

    blocks: tuple[str, ...] = None  # type: ignore[assignment]  # None: the blocks of the paper
    isolated: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        isolated = "keep" if self.isolated is None else self.isolated
        object.__setattr__(
            self, "isolated", check_choice(isolated, "isolated", choices_of(Outliers, "isolated"))
        )
        object.__setattr__(self, "blocks", self._checked_blocks(self.blocks))

    def _checked_blocks(self, blocks: Any) -> tuple[str, ...]:
        raise NotImplementedError

    @property
    def with_spectrum(self) -> bool:
        """Whether any chosen block is read from the sums of w r and w r r'."""
        return not NEED_SPECTRUM.isdisjoint(self.blocks)

    @property
    def drops_isolated(self) -> bool:
        """Whether isolated points are left out."""
        return self.isolated == "drop"

    @property
    def column_names(self) -> Iterator[str]:
        """One by one: a damaged file may ask for more of them than memory holds."""
        raise NotImplementedError

    def check_columns(self, count: int) -> None:
        """A ValueError where there are more than ``count`` columns."""
        if next(islice(self.column_names, count, None), None) is not None:
            raise ValueError(
                f"n_dims={self.n_dims} and n_scales={self.n_scales} do not fit its {count} columns"
            )

    def names_of(self, block: str, *, joint: bool) -> Iterator[str]:
        """The columns of one block of the descriptor."""
        centers = range(self.n_dims + 1) if self.hds_centers is None else self.hds_centers
        return column_names(block, Shape(joint, self.n_dims, self.n_scales, centers))


@dataclass(frozen=True)
class DescriptorSettings(FeatureSettings):
    """All that decides the numbers of a descriptor."""

    variant: str = Features.variant

    def __post_init__(self) -> None:
        check_choice(self.variant, "variant", tuple(VARIANT_BLOCKS))
        if self.joint:
            for name, own in (("transition", "exact"), ("isolated", "drop")):
                if getattr(self, name) is None:
                    object.__setattr__(self, name, own)
        super().__post_init__()

    def _checked_blocks(self, blocks: Any) -> tuple[str, ...]:
        known = VARIANT_BLOCKS[self.variant]
        chosen = known if blocks is None else names(blocks, "blocks")
        if not chosen or any(b not in known for b in chosen):
            raise ValueError(
                f"blocks must be some of {', '.join(map(repr, known))} for variant={self.variant!r}, "
                f"got {chosen!r}"
            )
        return chosen

    @property
    def joint(self) -> bool:
        """Whether densities and energies enter as logarithms."""
        return self.variant in BEYOND_PAPER

    @property
    def column_names(self) -> Iterator[str]:
        """See `FeatureSettings`."""
        chosen = (block for block in VARIANT_BLOCKS[self.variant] if block in self.blocks)
        return chain.from_iterable(self.names_of(block, joint=self.joint) for block in chosen)

    @cached_property
    def columns(self) -> Layout:
        """The columns of the descriptor."""
        return layout(self.variant, self.blocks, self.n_dims, self.n_scales, tuple(self.centers.tolist()))
