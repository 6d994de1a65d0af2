"""What the elementary steps cost on this machine, in seconds: measured once, kept as a small file.

The plan compares sums over pairs with transforms, so only the ratios matter. Where nothing can be
written, or a measurement looks wrong, defaults from a common machine serve.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path

import numpy as np

from .._base.check import Array
from .._base.files import write_atomically

SCHEMA = 4


@dataclass(frozen=True)
class Costs:
    """Seconds a step on one core."""

    pair: float = 2.4e-9  # all sums of one pair
    single: float = 1.1e-9  # the same in single precision
    ring: float = 0.8e-9  # the radial sums alone, in single precision
    target: float = 4e-7  # finding the neighbours of one target
    spread: float = 0.7e-9  # one grid point of one point's spreading kernel
    fourier: float = 1.2e-9  # one point of the fine grid, times log2 of their number
    call: float = 1e-3  # planning a transform
    read: float = 4e-10  # one grid point of one target's bump
    modes: float = 1e-8  # factors on the modes of one grid point

    def as_array(self) -> Array:
        """The numbers in order, for compiled code."""
        return np.array(astuple(self))


def cache_file() -> Path:
    """Where this user's measurement is kept."""
    if os.environ.get("XDG_CACHE_HOME"):
        folder = Path(os.environ["XDG_CACHE_HOME"])
    elif sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA", tempfile.gettempdir()))
    elif sys.platform == "darwin":
        folder = Path("~/Library/Caches").expanduser()
    else:
        folder = Path("~/.cache").expanduser()
    return folder / "heatfield" / "costs.json"


_known: Costs | None = None


def costs(measure: bool = True) -> Costs:
    """This machine's costs: from memory, from the file, or measured now (half a second)."""
    global _known
    if _known is None:
        found = _read(cache_file())
        if found is None and not measure:
            return Costs()
        if found is None:
            found = _measured()
            _write(cache_file(), found)
        _known = found
    return _known


def _read(path: Path) -> Costs | None:
    try:
        stored = json.loads(path.read_text())
        if stored.pop("schema") != SCHEMA:
            return None
        read = Costs(**{field.name: float(stored[field.name]) for field in fields(Costs)})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return read if all(0.0 < value < 1.0 for value in astuple(read)) else None


def _write(path: Path, found: Costs) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps({"schema": SCHEMA, **asdict(found)}).encode())
    except OSError:  # a read-only home: the measurement lasts as long as the process
        return


def _best(work: Callable[[], object], repeats: int = 3) -> float:
    work()  # compiles, and warms the caches
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _measured() -> Costs:
    """Time the real kernels on a small cloud; a value far from the default is not believed."""
    import finufft

    from .._cloud.arrange import BLOCK, arrange
    from .._cloud.box_tree import grow
    from .fourier.interpolate import interpolate
    from .fourier.kernel import lanes_for
    from .near import near_sums

    sources, boxes, _, _ = arrange(np.random.default_rng(0).random((4096, 3)))
    tree = grow(boxes)
    m, none = sources.shape[1], np.empty(0)
    sums = np.empty((m, 14))

    def near(t: float, full: float, wide: float, tol: float) -> float:
        one = np.array([t])
        return _best(
            lambda: near_sums(
                sources, one, none, sources, none, boxes, *tree, 0, 32 * BLOCK, full, wide, tol,
                True, False, False, none, sums,
            )
        )  # fmt: skip

    rows = 32 * BLOCK
    target = near(1e-9, 1.0, 1.0, 1.0) / rows
    pair = near(1e3, 1.0, 1.0, 1e-12) / (rows * m)  # everything is close: double precision
    single = near(1e3, 1.0, 1.0, 1.0) / (rows * m)  # a tolerance of 1 allows single precision everywhere
    ring = near(1e3, 0.0, 1.0, 1.0) / (rows * m)

    angles = [np.ascontiguousarray(axis) for axis in sources * 1.5]
    ones = np.ones(m, np.complex128)

    def transform(modes: int) -> float:
        plan = finufft.Plan(1, (modes,) * 3, eps=1e-7, nthreads=1, upsampfac=2.0)
        plan.setpts(*angles)
        return _best(lambda: plan.execute(ones))

    small, large = transform(4), transform(40)
    values, found = np.ones((32, 32, 32 + lanes_for(10))), np.empty((m, 10))
    centre, steps = np.zeros(3), np.full(3, 16.0)
    read = _best(lambda: interpolate(values, 10, sources, centre, steps, found)) / (m * 10**3)
    grid = 80.0**3
    measured = Costs(
        pair=pair,
        single=single,
        ring=ring,
        target=target,
        spread=small / (m * 8**3),
        fourier=max(large - small, 1e-9) / (grid * math.log2(grid)),
        call=Costs.call,
        read=read,
        modes=Costs.modes,
    )
    # Within a factor of ten of the defaults; anything else was another process in the way.
    kept = {
        field.name: getattr(measured, field.name)
        for field in fields(Costs)
        if 0.1 < getattr(measured, field.name) / getattr(Costs, field.name) < 10.0
    }
    return Costs(**kept)
