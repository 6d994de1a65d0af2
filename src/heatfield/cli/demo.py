"""``heatfield demo``: see `heatfield.workflows.demo`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..options import Threads
from .parsing import add_options, given


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument(
        "-o", "--out", type=Path, default=Path("heatfield-demo"), help="folder for pictures and results"
    )
    parser.add_argument("--clouds", type=int, default=60, help="Orbit5k clouds per class (default 60)")
    add_options(parser, Threads)


def run(options: argparse.Namespace) -> int:
    """Describe, classify, draw, and say where everything is."""
    from ..workflows.demo import FILES, demo

    found = demo(options.out, clouds=options.clouds, **given(options, Threads))
    orbits, shape = found["orbit5k"], found["mixed_shape"]
    print(f"Orbit5k: {orbits['clouds']} clouds in 5 classes")
    print(f"  {orbits['clouds_per_second']:.0f} clouds per second, {orbits['columns']} numbers each")
    print(f"  accuracy {100 * orbits['accuracy']:.1f} % on three tenths of them (chance: 20 %)")
    print("  with all 5,000 clouds the paper reports 93.2 %")
    print(f"Mixed shape: {shape['points']} points, signatures at 8 scales in {shape['seconds']:.2f} s")
    for part, dimension in shape["median_dimension_at_scale_3"].items():
        print(f"  {part:9s} median heat dimension {dimension:.2f} at scale 3")
    print("Results and pictures:", *(options.out / name for name in FILES), sep="\n  ")
    return 0
