"""Which features, and from which signatures: the settings of descriptors and of point features."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from .._base.check import check_choice
from .._signatures.settings import SignatureSettings
from ..options import Features, Spectrum, Threads, names
from .layout import NEED_SPECTRUM, VARIANT_BLOCKS, Layout, layout

# Options that decide features, by the names that all estimators use.
OPTIONS = tuple(entry.name for group in (Features, Spectrum, Threads) for entry in fields(group))


def options_of(estimator: Any) -> dict[str, Any]:
    """Those options of an estimator that decide its features, as arguments of settings."""
    return {name: getattr(estimator, name) for name in OPTIONS if hasattr(estimator, name)}


@dataclass(frozen=True)
class FeatureSettings(SignatureSettings):
    """Signatures, and the blocks of features that are made of them."""

    blocks: tuple[str, ...] = None  # type: ignore[assignment]  # None: the blocks of the paper

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "blocks", self._checked_blocks(self.blocks))

    def _checked_blocks(self, blocks: Any) -> tuple[str, ...]:
        raise NotImplementedError

    @property
    def with_spectrum(self) -> bool:
        """Whether any chosen block is read from the sums of w r and w r r'."""
        return not NEED_SPECTRUM.isdisjoint(self.blocks)

    def check_columns(self, count: int) -> None:
        """A ValueError where there are surely more than ``count`` columns; their names take memory."""
        n, scales = self.n_dims, self.n_scales
        centers = n + 1 if self.hds_centers is None else len(self.hds_centers)
        least = {"hds": centers * scales, "spectrum": n * scales, "correlation": n * n // 2 * scales}
        least |= dict.fromkeys(("coupling", "neighbourhood"), n * (scales - 1))
        if max(least.get(block, scales) for block in self.blocks) > count:
            raise ValueError(f"n_dims={n} and n_scales={scales} do not fit its {count} columns")


@dataclass(frozen=True)
class DescriptorSettings(FeatureSettings):
    """All that decides the numbers of a descriptor."""

    variant: str = Features.variant

    def __post_init__(self) -> None:
        check_choice(self.variant, "variant", tuple(VARIANT_BLOCKS))
        if self.transition is None and self.joint:
            object.__setattr__(self, "transition", "exact")
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
        return self.variant == "joint"

    @cached_property
    def columns(self) -> Layout:
        """The columns of the descriptor."""
        return layout(self.variant, self.blocks, self.n_dims, self.n_scales, tuple(self.centers.tolist()))
