"""Draw docs/guide/pipeline.png from one real neuron, which is not part of this repository.

python -m tools.neuron_picture NEURON.swc.gz
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import heatfield as hf

OUTPUT = Path(__file__).parents[1] / "docs" / "guide" / "pipeline.png"


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    points = hf.read_points(sys.argv[1], budget=4000)
    axes = hf.plot.pipeline(points, title="A cortical neuron, from points to a descriptor")
    axes.flat[0].figure.savefig(OUTPUT, dpi=80, pil_kwargs={"optimize": True})
    print(OUTPUT, OUTPUT.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
