"""What is asked of a survey, checked once, and what every task is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

from .._base.check import check_choice
from .._signatures.channels import CHANNELS as REGISTRY
from .._signatures.settings import SignatureSettings
from ..core.costs import Costs
from ..core.moments import Request
from ..options import Features, PointFiles, Spectrum, Tiling

# Options of the groups that a survey has no use for: its sums are always to a tolerance.
LEFT_OUT = ("variant", "blocks", "method", "dtype")
CHANNELS = ("density", "dimension", "transition", "spectrum")


@dataclass(frozen=True)
class SurveySettings(SignatureSettings):
    """The options of signatures, those of tiles, and the costs by which all workers plan."""

    _: KW_ONLY
    channels: tuple[str, ...] = CHANNELS
    point_dtype: str = PointFiles.point_dtype
    invalid: str = Tiling.invalid
    max_bytes: int | None = None
    costs: Costs = field(default_factory=Costs)

    @classmethod
    def of(
        cls, n_dims: int, features: Features, spectrum: Spectrum, points: PointFiles, tiling: Tiling
    ) -> SurveySettings:
        """From options as a user gives them; a ValueError repeats a wrong one."""
        own = {name: value for name, value in vars(features).items() if name not in LEFT_OUT}
        return cls(
            n_dims, **own, **vars(spectrum), method="fast", channels=_channels(points.point_channels),
            point_dtype=points.point_dtype, invalid=tiling.invalid, max_bytes=tiling.max_bytes,
        )  # fmt: skip

    @property
    def with_spectrum(self) -> bool:
        """Whether the directions are summed."""
        return not set(self.channels) <= set(CHANNELS[:3])

    def sums(self, n_threads: int, *, energy: bool) -> Request:
        """What to sum, to the tolerance, at costs that do not depend on the machine."""
        asked = self.request(directions=self.with_spectrum, energy=energy, n_threads=n_threads)
        return Request(**{**vars(asked), "costs": self.costs})


def _channels(asked: Sequence[str] | None) -> tuple[str, ...]:
    """Names of channels in their order; those that need directions are not among them."""
    possible = [c.name for c in REGISTRY if c.in_table and not c.with_directions] + ["local_type"]
    for name in asked or ():
        check_choice(name, "point_channels", possible)
    return CHANNELS if asked is None else tuple(name for name in possible if name in asked)


@dataclass(frozen=True)
class Context:
    """What every task is told: the options, and where passes leave what later ones need."""

    settings: SurveySettings
    folder: str
    digest: str  # of all options and tiles

    def file(self, *words: Any, suffix: str = "npy") -> Path:
        """A file of the folder: its name says what it depends on."""
        return Path(self.folder) / f"{self.digest}.{'-'.join(map(str, words))}.{suffix}"
