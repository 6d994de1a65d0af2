"""Which diffusion times: the options that several verbs share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

DEFAULTS = {"n_scales": 8, "c_min": 0.05, "c_max": 0.25}
_OPTIONS = {"n_scales": "--scales", "c_min": "--c-min", "c_max": "--c-max"}


def add_scales(parser: argparse.ArgumentParser, *, ends: bool = True) -> None:
    """Number and ends of the schedule, or lengths in the unit of the data."""
    parser.add_argument(
        "--scales", dest="n_scales", type=int, metavar="T", help="number of diffusion times (default 8)"
    )
    if ends:
        parser.add_argument("--c-min", type=float, metavar="C", help="finest time over r_nn² (default 0.05)")
        parser.add_argument(
            "--c-max", type=float, metavar="C", help="coarsest time over diam² (default 0.25)"
        )
    parser.add_argument(
        "--lengths", metavar="A,B,..",
        help="instead: lengths √t in the unit of the data, the same for all clouds, such as 0.1,0.3,1",
    )  # fmt: skip


def parse_lengths(text: str | None) -> tuple[float, ...] | None:
    """Lengths as they are given on the command line; ValueError names the option and the wrong word."""
    if text is None:
        return None
    from .._signatures.scales import as_lengths

    found = []
    for word in text.split(","):
        try:
            found.append(float(word))
        except ValueError:
            raise ValueError(
                f"--lengths must be numbers with commas between them, got {word.strip()!r} in {text!r}"
            ) from None
    return as_lengths(found, least=2)


def scale_options(options: argparse.Namespace) -> dict[str, Any]:
    """As arguments of `signatures` and `HFSDescriptor`, checked."""
    from .._base.check import check_count, check_range

    given = {name: getattr(options, name, None) for name in DEFAULTS}
    lengths = parse_lengths(options.lengths)
    clash = [_OPTIONS[name] for name, value in given.items() if value is not None]
    if lengths is not None and clash:
        raise ValueError(f"--lengths sets all scales: leave out {clash[0]}")
    chosen = {name: DEFAULTS[name] if value is None else value for name, value in given.items()}
    check_count(chosen["n_scales"], "--scales", 2)
    check_range(chosen["c_min"], chosen["c_max"])
    return {**chosen, "lengths": lengths}


def words(lengths: Sequence[float]) -> str:
    """``s0 0.1, s1 0.3``: index and length of each scale."""
    return ", ".join(f"s{a} {length:.4g}" for a, length in enumerate(lengths))
