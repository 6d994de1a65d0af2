"""Write the kept pictures, tests/golden/pictures.npz, again.

    python -m tools.write_pictures [FOLDER]

Look at the pictures first: they are written as PNG into FOLDER where it is given.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from tests.helpers.pictures import GOLDEN, PICTURES, blocks, gaps, render


def main() -> None:
    found = {}
    for name, draw in PICTURES.items():
        axes = draw(False)
        found[name] = blocks(render(axes))
        print(name, "changed by mean, largest:", *np.round(gaps(found[name], blocks(render(draw(True)))), 1))
        if len(sys.argv) > 1:
            figure = np.atleast_1d(np.asarray(axes, dtype=object)).flat[0].figure
            figure.savefig(Path(sys.argv[1]) / f"{name}.png", dpi=80)
        plt.close("all")
    np.savez_compressed(GOLDEN, **found)


if __name__ == "__main__":
    main()
