"""Which features, and from which signatures: the settings of descriptors and of point features."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from .._base.check import check_choice
from .._signatures.settings import SignatureSettings
from .layout import NEED_SPECTRUM, VARIANT_BLOCKS, Layout, layout

# Options of the estimators that decide their features, by the names that all of them use.
OPTIONS = (
    "blocks", "n_scales", "c_min", "c_max", "lengths", "transition", "hds_centers", "hds_sigma", "method",
    "tol", "dtype", "n_jobs",
)  # fmt: skip


def options_of(estimator: Any) -> dict[str, Any]:
    """Those options of an estimator that decide its features, as arguments of settings."""
    return {name: getattr(estimator, name) for name in OPTIONS if hasattr(estimator, name)}


@dataclass(frozen=True)
class FeatureSettings(SignatureSettings):
    """Signatures, and the blocks of features that are made of them."""

    blocks: tuple[str, ...] = None  # type: ignore[assignment]  # None: the blocks of the paper

    own_transition: ClassVar[str | None] = "difference"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "blocks", self._checked_blocks(self.blocks))

    def _checked_blocks(self, blocks: Any) -> tuple[str, ...]:
        raise NotImplementedError

    @property
    def with_spectrum(self) -> bool:
        """Whether any chosen block is read from the sums of w r and w r r'."""
        return not NEED_SPECTRUM.isdisjoint(self.blocks)


@dataclass(frozen=True)
class DescriptorSettings(FeatureSettings):
    """All that decides the numbers of a descriptor."""

    variant: str = "desc"

    def __post_init__(self) -> None:
        check_choice(self.variant, "variant", tuple(VARIANT_BLOCKS))
        if self.transition is None and self.joint:
            object.__setattr__(self, "transition", "exact")
        super().__post_init__()

    def _checked_blocks(self, blocks: Any) -> tuple[str, ...]:
        known = VARIANT_BLOCKS[self.variant]
        chosen = known if blocks is None else names_of(blocks)
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


def names_of(blocks: Iterable[str]) -> tuple[str, ...]:
    """Names of blocks, not the letters of one."""
    if isinstance(blocks, str):
        raise ValueError(f"blocks must be a sequence of names, got the string {blocks!r}; pass ({blocks!r},)")
    return tuple(blocks)
