"""The files of --per-point: which channels, and from which signatures."""

from __future__ import annotations

import warnings
from typing import Any

from .._base.check import HeatFieldWarning
from .._signatures import channels as registry
from .._signatures.signatures import signatures
from ..io import Cloud, channel_names, write_signatures


def check_channels(text: str | None) -> tuple[str, ...] | None:
    """Channels as they are given on the command line; ValueError names the option and the wrong one."""
    if text is None:
        return None
    chosen = tuple(word.strip() for word in text.split(","))
    for word in chosen:
        if word not in channel_names():
            raise ValueError(f"--point-channels must be some of {','.join(channel_names())}, got {word!r}")
    return tuple(name for name in channel_names() if name in chosen)


def write_per_point(
    cloud: Cloud,
    target: str,
    descriptor: dict[str, Any],
    *,
    channels: tuple[str, ...] | None = None,
    dtype: str = "float64",
) -> None:
    """Compute and write the signatures of one cloud: see `write_signatures`."""
    own = "exact" if descriptor["variant"] == "joint" else "difference"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeatFieldWarning)  # a cloud without scales has NaN signatures
        s = signatures(
            cloud.points,
            n_scales=descriptor["n_scales"],
            c_min=descriptor["c_min"],
            c_max=descriptor["c_max"],
            lengths=descriptor.get("lengths"),
            transition=descriptor["transition"] or own,
            with_spectrum=channels is None or _needs(channels, "with_spectrum") or "local_type" in channels,
            with_directions=channels is not None and _needs(channels, "with_directions"),
            method=descriptor["method"],
            tol=descriptor["tol"],
        )
    write_signatures(target, cloud, s, channels=channels, dtype=dtype)


def _needs(channels: tuple[str, ...], what: str) -> bool:
    """Whether one of the channels says that it cannot be read without ``what``."""
    return any(getattr(channel, what) for channel in registry.CHANNELS if channel.name in channels)
