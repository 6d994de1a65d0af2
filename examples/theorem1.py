"""Theorem 1, seen: where the heat dimension of a sample is that of its manifold, and where it is not.

Samples four manifolds of reach 1 at growing m, measures |d_heat - d| at every interior point over
a wide range of times t, and draws it with the window that the theorem names:

    python examples/theorem1.py                     # docs/theory/theorem1.png and .json, a minute on one core
    python examples/theorem1.py --out here --seed 1
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from datetime import UTC, datetime
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image
from tqdm import tqdm

import heatfield as hf
from heatfield.datasets import sample_manifold

matplotlib.use("Agg")  # only writes a file: no display needed
import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

SIZES = (250, 1000, 4000, 16000)
FIRST_TIME = {"circle": 1e-8, "sphere": 1e-5, "torus": 1e-5, "swiss_roll": 1e-5}
LAST_TIME = 10.0
TIMES_A_DECADE = 6
WELL_BELOW = 0.2  # t << reach**2 is read as t <= 0.2 reach**2
DELTA = 0.05  # the theorem's bound holds with probability 1 - delta
COLORS = ("#fdb366", "#e8684a", "#a63a79", "#3b1f6b")
NOISE_TEXT = {1: "$t^{-1/4}$", 2: "$t^{-1/2}$"}  # t**(-d/4)
BIAS_TEXT = {"circle": "$t$", "sphere": "$e^{-1/t}/t$", "torus": "$t$", "swiss_roll": "$e^{-1/t}/t$"}
INK, WINDOW, GUIDE = "#333344", "#2a9d8f", "#111111"


# --- what the theorem's proof gives with its constants kept, to first order in t and 1/mu ---------------


def noise(d: int, mu: np.ndarray) -> np.ndarray:
    """Mean of |d_heat - d| from sampling alone, sqrt(2/pi) sigma / sqrt(mu).

    The variance of S / (2 t N_0) is 2**(-d/2) (d/2 + d**2/4) / mu: the squared weights are Gaussian with
    variance t in each of d directions, and d_heat - d is the weighted mean of |x - x_j|**2 / 2t - d.
    """
    return np.sqrt(2 / np.pi * 2 ** (-d / 2) * (d / 2 + d**2 / 4) / mu)


def bias(name: str, t: np.ndarray) -> np.ndarray:
    """What remains of d_heat - d with infinitely many points, averaged over the manifold.

    A curve of curvature k gives t k**2 / 2, a surface with principal curvatures k1, k2 gives
    t (k1 - k2)**2 / 2. That is nothing on a sphere, where 2 t d(log u)/dt leaves (2/t) / (exp(1/t) - 1).
    On the roll another sheet at distance 2 adds (2/t) exp(-1/t), and is felt before the bending is.
    """
    if name == "circle":
        return t / 2
    if name == "torus":
        return t / np.sqrt(3)  # mean of (2 / (2 + cos))**2 / 2 over the area
    if name == "sphere":
        return 2 / t / np.expm1(np.minimum(1 / t, 700))  # exp overflows beyond
    # Arc length s = a**2 / 2 pi at angle a; interior points have 9 pi / 8 + 2 <= s <= 81 pi / 8 - 2.
    first, last = 9 * np.pi / 8 + 2, 81 * np.pi / 8 - 2
    k2 = np.pi * np.log(last / first) / 2 / (last - first)  # mean squared curvature (pi / a)**2
    has_outer = 25 * np.pi / 8 - first  # a sheet lies outside up to the angle 2.5 pi ...
    has_inner = last - 49 * np.pi / 8  # ... and inside from 3.5 pi on
    sheets = (has_outer + has_inner) / (last - first)
    return t * k2 / 2 + sheets * 2 / t * np.exp(-1 / t)


# --- measuring ------------------------------------------------------------------------------------------


def errors(name: str, m: int, repeats: int, times: np.ndarray, seed: int) -> dict:
    """Mean and 95th percentile of |d_heat - d| at each time, over the interior points of all repeats."""
    pieces = []
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, list(FIRST_TIME).index(name), m, repeat])
        manifold = sample_manifold(name, m, random_state=rng)
        s = hf.signatures(manifold.points, times, with_spectrum=False, n_jobs=-1)
        pieces.append(np.abs(s.dimension[manifold.interior] - manifold.dimension))
    error = np.concatenate(pieces)
    mean, p95 = error.mean(axis=0), np.percentile(error, 95, axis=0)
    low, high = manifold.window(DELTA)
    best = int(mean[times <= WELL_BELOW * high].argmin())
    return {
        "m": m,
        "samples": repeats,
        "interior_points": len(error),
        "sampling_scale": low,
        "geometric_variation_scale": high,
        "mu": manifold.mu(times),
        "mean_error": mean,
        "p95_error": p95,
        "best": {"t": times[best], "mean_error": mean[best], "p95_error": p95[best]},
    }


def measure(seed: int) -> dict:
    """All manifolds at all sizes; small clouds are sampled more often, so that every curve is as smooth."""
    results = {}
    with tqdm(total=len(FIRST_TIME) * len(SIZES), desc="clouds", leave=False) as progress:
        for name, first in FIRST_TIME.items():
            count = round(np.log10(LAST_TIME / first) * TIMES_A_DECADE) + 1
            times = np.geomspace(first, LAST_TIME, count)
            curves = []
            for m in SIZES:
                progress.set_postfix_str(f"{name}, m = {m}")
                curves.append(errors(name, m, SIZES[-1] // m, times, seed))
                progress.update()
            known = sample_manifold(name, 1, random_state=0)
            d, best = known.dimension, [c["best"]["mean_error"] for c in curves]
            fixed = int(np.abs(np.log(times / curves[-2]["sampling_scale"])).argmin())
            results[name] = {
                "dimension": d,
                "reach": known.reach,
                "area": known.area,
                "times": times,
                "curves": curves,
                "rate_at_best_t": {
                    "what": "slope of log(mean error at its best t) against log(m)",
                    "measured": np.polyfit(np.log(SIZES), np.log(best), 1)[0],
                    "bound": -2 / (d + 4),  # where t balances (m t**(d/2))**(-1/2)
                },
                "rate_at_fixed_t": {
                    "what": f"slope of log(mean error) against log(m), {SIZES[-2]} to {SIZES[-1]}, one t",
                    "t": times[fixed],
                    "measured": np.log(curves[-1]["mean_error"][fixed] / curves[-2]["mean_error"][fixed])
                    / np.log(SIZES[-1] / SIZES[-2]),
                    "bound": -1 / 2,
                },
            }
    return results


# --- drawing --------------------------------------------------------------------------------------------


def draw_panel(axis: plt.Axes, name: str, result: dict) -> None:
    """Error against time on one manifold."""
    times, d, largest = result["times"], result["dimension"], result["curves"][-1]
    low, high = largest["sampling_scale"], largest["geometric_variation_scale"]
    floor, ceiling = 0.008, 4.5
    # "t << reach**2" has no sharp end: the shade fades over its last decade.
    fade = np.geomspace(low, high, 200)
    alpha = 0.20 * np.clip(np.log10(high / fade), 0.12, 1)
    for left, right, a in zip(fade, fade[1:], alpha, strict=False):
        axis.axvspan(left, right, color=WINDOW, alpha=a, lw=0)
    for edge, text, side in (
        (low, "sampling\nscale", "right"),
        (high, "geometric\nvariation\nscale", "left"),
    ):
        axis.axvline(edge, color=WINDOW, lw=1.2)
        axis.annotate(
            text,
            (edge, floor),
            (-5 if side == "right" else 5, 6),
            textcoords="offset points",
            ha=side,
            va="bottom",
            color="#1d6f66",
            fontsize=9,
            linespacing=1.1,
        )

    for curve, color in zip(result["curves"], COLORS, strict=True):
        axis.plot(times, curve["mean_error"], color=color, lw=2.0, zorder=3)
    axis.plot(times, largest["p95_error"], color=COLORS[-1], lw=1.0, ls=(0, (1, 1.2)), zorder=3)

    sampling, geometry = noise(d, largest["mu"]), bias(name, times)
    for line, seen, style, text, place, shift in (
        (sampling, (largest["mu"] > 1) & (times < 0.5 * high), "--", NOISE_TEXT[d], 0.5, (-30, -15)),
        (geometry, (geometry > 2 * floor) & (times < 0.5 * high), "-.", BIAS_TEXT[name], 0.3, (6, -10)),
    ):
        axis.plot(times[seen], line[seen], color=GUIDE, lw=1.1, ls=style, zorder=4)
        k = int(place * seen.sum())
        axis.annotate(
            text, (times[seen][k], line[seen][k]), shift, textcoords="offset points", fontsize=11, zorder=5
        )
    for at, text, side in (
        (low / 1.15, r"too fine: $d_{\mathrm{heat}} \to 0$", "right"),
        (np.sqrt(low * high), r"$d_{\mathrm{heat}} \approx d$", "center"),
        (high * 1.15, "too coarse", "left"),
    ):
        axis.text(at, 0.83 * ceiling, text, ha=side, va="top", fontsize=10, color="#66667a")

    axis.set(xscale="log", yscale="log", xlim=(times[0], times[-1]), ylim=(floor, ceiling))
    axis.set_yticks([0.01, 0.03, 0.1, 0.3, 1, d] if d > 1 else [0.01, 0.03, 0.1, 0.3, 1])
    axis.yaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axis.minorticks_off()
    axis.grid(color="#dddde4", lw=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_title(f"{name.replace('_', ' ')}, d = {d}", loc="left", fontsize=13, color=INK)


def draw_cloud(axis: plt.Axes, name: str) -> None:
    """The manifold itself, small, in the empty corner of its panel."""
    points = sample_manifold(name, 2000, random_state=0).points
    points = np.c_[points, np.zeros((len(points), 3 - points.shape[1]))]
    inset = axis.inset_axes((0.0, 0.06, 0.26, 0.40), projection="3d")
    inset.patch.set_alpha(0)
    if name == "swiss_roll":
        points = points[:, [0, 2, 1]]  # lay it down, to be seen from its end
    inset.scatter(*points.T, s=1.4, c=points[:, 2 if name != "circle" else 0], cmap="viridis", lw=0)
    inset.view_init(elev={"circle": 90, "swiss_roll": 14}.get(name, 35), azim=-70)
    inset.set_box_aspect(np.maximum(np.ptp(points, axis=0), 1e-3), zoom=1.1 if name == "circle" else 1.35)
    inset.set_axis_off()


def draw(results: dict, path: Path) -> None:
    """One panel per manifold; saved as a picture 1200 pixels wide."""
    plt.rcParams.update({"font.size": 10.5, "axes.edgecolor": "#9999a5", "text.color": INK})
    figure, axes = plt.subplots(2, 2, figsize=(12, 9.4), dpi=100)
    for axis, (name, result) in zip(axes.flat, results.items(), strict=True):
        draw_panel(axis, name, result)
        draw_cloud(axis, name)
    for axis in axes[1]:
        axis.set_xlabel("diffusion time t   (reach = 1)", color=INK)
    for axis in axes[:, 0]:
        axis.set_ylabel(r"mean $|d_{\mathrm{heat}} - d|$", color=INK)
    handles = [
        Line2D([], [], color=c, lw=2.2, label=f"m = {m:,}") for c, m in zip(COLORS, SIZES, strict=True)
    ]
    handles += [
        Line2D(
            [], [], color=COLORS[-1], lw=1.2, ls=(0, (1, 1.2)), label=f"95th percentile, m = {SIZES[-1]:,}"
        ),
        Line2D([], [], color=GUIDE, lw=1.1, ls="--", label=r"predicted noise, $(m\,t^{d/2})^{-1/2}$"),
        Line2D([], [], color=GUIDE, lw=1.1, ls="-.", label="predicted bias (no constant is fitted)"),
        Patch(color=WINDOW, alpha=0.2, lw=0, label=f"the theorem's window, m = {SIZES[-1]:,}"),
    ]
    figure.suptitle(
        "Theorem 1, seen: the heat dimension is right between the sampling scale "
        "and the geometric variation scale",
        fontsize=14,
        x=0.065,
        ha="left",
        y=0.975,
    )
    figure.legend(handles=handles, loc="lower center", ncols=4, frameon=False, fontsize=10)
    figure.subplots_adjust(left=0.065, right=0.985, top=0.90, bottom=0.14, hspace=0.24, wspace=0.12)
    figure.canvas.draw()
    picture = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)  # a third of the size
    plt.close(figure)


# --- writing down ---------------------------------------------------------------------------------------


def machine() -> dict:
    """Where the numbers were made."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": model or platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "heatfield": hf.__version__,
    }


def plain(value: object) -> object:
    """Arrays and floats as JSON holds them, to five digits."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    return float(f"{value:.5g}") if isinstance(value, (float, np.floating)) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(__file__).parents[1] / "docs" / "theory",
        help="folder to write to (default: docs/theory)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of all samples (default: 0)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    start = time.process_time()  # of the processor: what else runs does not count
    results = measure(options.seed)
    seconds = time.process_time() - start

    print(f"{'manifold':12}{'m':>7}{'window of t':>20}{'best t':>10}{'mean error':>12}{'95th pct':>10}")
    for name, result in results.items():
        for c in result["curves"]:
            low, high = c["sampling_scale"], c["geometric_variation_scale"]
            window = f"{low:.2g} to {high:.2g}" if low < high else "none"
            b = c["best"]
            print(
                f"{name:12}{c['m']:7}{window:>20}{b['t']:10.2g}{b['mean_error']:12.3f}{b['p95_error']:10.3f}"
            )
        best, fixed = result["rate_at_best_t"], result["rate_at_fixed_t"]
        print(
            f"{'':12}falls as m^{best['measured']:.2f} at the best t (bound: {best['bound']:.2f}), "
            f"m^{fixed['measured']:.2f} at t = {fixed['t']:.2g} (bound: {fixed['bound']:.2f})"
        )

    report = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine(),
        "parameters": {"sizes": SIZES, "delta": DELTA, "seed": options.seed, "best_t_at_most": WELL_BELOW},
        "processor_seconds": round(seconds, 1),
        "manifolds": results,
    }
    numbers, picture = options.out / "theorem1.json", options.out / "theorem1.png"
    numbers.write_text(json.dumps(plain(report), indent=1) + "\n")
    draw(results, picture)
    print(f"wrote {picture} and {numbers} ({seconds:.0f} s of processor time)")


if __name__ == "__main__":
    main()
