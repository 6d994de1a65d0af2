"""What is asked of a survey: checked once, and all that its numbers depend on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import KW_ONLY, asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .._base.check import check_choice
from .._signatures.settings import SignatureSettings
from ..core.costs import Costs
from ..core.moments import Request
from ..io import file_stamp

# The number of the work files: raised where their meaning changes.
SCHEMA = 2
CHANNELS = ("density", "dimension", "transition", "spectrum")


@dataclass(frozen=True)
class SurveySettings(SignatureSettings):
    """The options of signatures, and those of tiles."""

    _: KW_ONLY
    scales: tuple[float, ...] | None = None  # absolute times; None: chosen from the whole cloud
    overlap: str = "keep"
    invalid: str = "raise"
    max_bytes: int | None = None
    format: str | None = None  # of the tiles that are written; None: that of the tile read
    channels: tuple[str, ...] = CHANNELS
    point_dtype: str = "float32"
    costs: Costs = field(default_factory=Costs)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.overlap, "overlap", ("keep", "drop"))
        check_choice(self.invalid, "invalid", ("raise", "drop"))
        check_choice(self.point_dtype, "point_dtype", ("float32", "float64"))
        if self.format is not None:
            check_choice(self.format, "format", ("las", "laz", "parquet"))
        for name in self.channels:
            check_choice(name, "channels", CHANNELS)
        if self.scales is not None:
            times = np.asarray(self.scales, dtype=float)
            if times.ndim != 1 or times.size < 2 or not (np.diff(times) > 0).all() or not times[0] > 0:
                raise ValueError(f"scales must be two or more increasing positive times, got {self.scales!r}")
            object.__setattr__(self, "n_scales", int(times.size))

    @property
    def with_spectrum(self) -> bool:
        """Whether the directions are summed."""
        return "spectrum" in self.channels

    def fast_request(self, n_threads: int, *, energy: bool) -> Request:
        """What to sum: always to the tolerance, at the prices that were fixed for all workers."""
        asked = self.request(directions=self.with_spectrum, energy=energy, n_threads=n_threads)
        return Request(**{**vars(asked), "method": "fast", "costs": self.costs})

    def identity(self) -> dict[str, Any]:
        """See `SignatureSettings.identity`; the prices decide the last bits."""
        found = super().identity()
        found["costs"] = asdict(self.costs)
        return found


@dataclass(frozen=True)
class Tile:
    """One file, and where its points go with their signatures."""

    number: int
    path: str
    target: str


@dataclass(frozen=True)
class Job:
    """All that a task needs to know; what earlier passes found lies in the folder."""

    settings: SurveySettings
    tiles: tuple[Tile, ...]
    folder: str
    digest: str

    def file(self, kind: str, number: int, suffix: str = "npz") -> Path:
        """A file of the work folder: its name says what it depends on."""
        return Path(self.folder) / f"{kind}-{number:06d}-{self.digest}.{suffix}"


def make_job(settings: SurveySettings, tiles: tuple[Tile, ...], folder: str) -> Job:
    """The job of these tiles as they are now; where the folder lies makes no difference to it."""
    stamps = [[tile.path, *file_stamp(tile.path)] for tile in tiles]
    targets = [Path(tile.target).name for tile in tiles]
    text = json.dumps([__version__, SCHEMA, settings.identity(), stamps, targets], sort_keys=True)
    return Job(settings, tiles, folder, hashlib.sha256(text.encode()).hexdigest()[:24])
