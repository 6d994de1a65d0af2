"""Time and memory against the number of points: exponents and the picture."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from benchmarks.lib.clouds import LARGE_CLOUDS

METHODS = ("dense", "fast", "auto", "sklearn", "keops")
FIT_FROM = 10_000


def series(runs: dict[str, dict], name: str, method: str, what: str, extrapolated: bool) -> np.ndarray:
    """(sizes, values) of one line of the picture."""
    found = []
    for word, entry in runs.items():
        cloud, way, m = word.split("/")
        mine = (cloud, way) == (name, method) and bool(entry.get("extrapolated")) == extrapolated
        if mine and what in entry:
            found.append((int(m), entry[what]))
    return np.array(sorted(found), float).reshape(-1, 2).T


def exponent(m: np.ndarray, seconds: np.ndarray) -> float:
    """p of seconds ~ m**p over the sizes from 1e4 on; NaN for fewer than two."""
    late = m >= FIT_FROM
    return float(np.polyfit(np.log(m[late]), np.log(seconds[late]), 1)[0]) if late.sum() > 1 else math.nan


def exponents(runs: dict[str, dict]) -> dict[str, float]:
    """By cloud and method, where two sizes or more are known."""
    out = {}
    for name in LARGE_CLOUDS:
        for method in METHODS:
            p = exponent(*series(runs, name, method, "seconds", False))
            if math.isfinite(p):
                out[f"{name}/{method}"] = round(p, 3)
    return out


def draw(runs: dict[str, dict], path: Path) -> None:
    """Log-log: seconds above, peak memory below, one column per cloud."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = dict(zip(METHODS, ("#888888", "#1f77b4", "#d62728", "#2ca02c", "#9467bd"), strict=True))
    figure, axes = plt.subplots(
        2,
        len(LARGE_CLOUDS),
        figsize=(3.4 * len(LARGE_CLOUDS), 6.4),
        sharex=True,
        sharey="row",
        layout="constrained",
    )
    for column, name in enumerate(LARGE_CLOUDS):
        time_axis, memory_axis = axes[:, column]
        for method in METHODS:
            m, seconds = series(runs, name, method, "seconds", False)
            if m.size == 0:
                continue
            p = exponent(m, seconds)
            label = {"sklearn": "sklearn KDE, 1 scale", "keops": "KeOps density, 1 scale"}.get(method, method)
            label += f"  $m^{{{p:.2f}}}$" if math.isfinite(p) else ""
            style = {"color": colours[method], "marker": "o", "ms": 4}
            if method == "fast":  # auto often lies on it
                style |= {"marker": "s", "ms": 7, "mfc": "none"}
            time_axis.loglog(m, seconds, label=label, **style)
            far, extended = series(runs, name, method, "seconds", True)
            if far.size:
                time_axis.loglog(
                    [m[-1], *far], [seconds[-1], *extended], "--", color=colours[method], lw=1,
                    label="dense, extrapolated $m^2$",
                )  # fmt: skip
            memory = series(runs, name, method, "peak_bytes", False)
            memory_axis.loglog(memory[0], memory[1] / 2**30, **style)
        time_axis.set_title({"curves": "curve bundle", "tree": "LiDAR-like tree"}.get(name, name))
        if time_axis.lines:
            time_axis.legend(fontsize=7, loc="upper left")
        memory_axis.set_xlabel("points")
        for axis in (time_axis, memory_axis):
            axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("seconds")
    axes[1, 0].set_ylabel("peak memory of the process, GiB")
    figure.savefig(path, dpi=110)
    plt.close(figure)
