"""What all pictures share: colours, and a clear error when matplotlib is missing."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._base.check import Array, as_points
from .._base.optional import need
from ..heat_signatures import Signatures

# Dimension 0, 1, 2, 3: point, filament, surface, volume. The colours can be told apart in
# print and by most colour-blind readers.
DIMENSION_COLORS = ("#4d4d4d", "#d95f02", "#1b9e77", "#3b528b")
CLASS_COLORS = ("#3b528b", "#d95f02", "#1b9e77", "#c51b7d", "#b8860b", "#4d4d4d", "#66a61e", "#7570b3")
_COLOURS = 64
_MARKERS, _DASHES = ("o", "s", "^", "D", "v"), ("-", "--", "-.", ":", "-")
DIMENSION_NAMES = ("point", "filament", "surface", "volume")
TRANSITION_COLORS = ("#2166ac", "#92c5de", "#e0e0e0", "#f4a582", "#b2182b")
SPECTRUM_COLORS = ("#762a83", "#d9d2dd", "#1b9e77", "#d95f02")
HEAT_COLORS = ("#fff7ec", "#fdd49e", "#fc8d59", "#d7301f", "#7f0000")
# By the name that a channel's entry gives (`channels`); the viewer's are in its colours.js.
RAMPS = {
    "density": HEAT_COLORS[1:],
    "dimension": DIMENSION_COLORS,
    "transition": TRANSITION_COLORS,
    "spectrum": SPECTRUM_COLORS,
    "column": ("#440154", "#3b528b", "#21908d", "#5dc963", "#d8c514"),
}


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that says what to install."""
    return need("matplotlib.pyplot", "pictures", "show")


def ramp(name: str, colors: tuple[str, ...]) -> Any:
    """A colour map through the given colours."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(name, colors)


def own_axes(ax: Any, size: tuple[float, float]) -> Any:
    """The axes that were given, or new ones."""
    return pyplot().subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def tidy(ax: Any, title: str | None = None) -> Any:
    """The common style of charts: no frame above and to the right, small title."""
    ax.spines[["top", "right"]].set_visible(False)
    if title:
        ax.set_title(title, fontsize=10)
    return ax


def scale_axis(
    ax: Any, steps: int, lengths: ArrayLike | None = None, unit: str | None = None, every: int | None = None
) -> None:
    """Scales from fine to coarse along x: their lengths sqrt(t), each over its index, where they are known.

    ``lengths`` is (T,), or (N, T) with one row per cloud; where the rows differ, medians are shown.
    ``every`` k-th scale has a tick.
    """
    ax.set(xlim=(0, steps - 1), xlabel="scale, fine to coarse", xticks=np.arange(steps))
    if lengths is None:
        return
    table = np.atleast_2d(np.asarray(lengths, dtype=float))
    if table.ndim != 2 or table.shape[1] != steps:
        raise ValueError(
            f"lengths must have shape (T,) or (N, T) for T = {steps} scales, got {np.shape(lengths)}"
        )
    table = table[np.isfinite(table).all(axis=1)]
    if len(table) == 0:
        return
    shown = np.median(table, axis=0)
    several = np.ptp(table, axis=0).max() > 1e-9 * shown.max()
    words = "median length" if several else "length"
    ax.set_xlabel(f"{words} $\\sqrt{{t}}$" + (f", {escaped(unit)}" if unit else ""))
    every = every or (1 if steps <= 10 else 2)
    ax.set_xticks(
        np.arange(0, steps, every), [f"{shown[a]:.2g}\ns{a}" for a in range(0, steps, every)], fontsize=8
    )


def legend_beside(ax: Any, size: float = 9, reverse: bool = False, **more: Any) -> None:
    """The legend to the right of the axes."""
    handles, words = ax.get_legend_handles_labels()
    step = -1 if reverse else 1
    more |= {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "frameon": False, "fontsize": size}
    ax.legend(handles[::step], words[::step], **more)


def stack_shares(
    ax: Any, shares: Array, centers: ArrayLike, lengths: ArrayLike | None, unit: str | None
) -> None:
    """Shares (T, K) of points that look like each dimension, one area on the other over the scales."""
    names = [dimension_name(center) for center in np.asarray(centers)]
    colors = [DIMENSION_COLORS[min(k, 3)] for k in range(len(names))]
    steps = np.arange(len(shares))
    ax.stackplot(steps, 100 * shares.T, colors=colors, labels=names, alpha=0.9, linewidth=0)
    scale_axis(ax, len(shares), lengths, unit)
    ax.set(ylim=(0, 100), ylabel="share of points, %")
    legend_beside(ax, reverse=True)


def at_length(length: float, unit: str | None = None, scale: int | None = None) -> str:
    """``s3: sqrt(t) = 0.2 m`` as a formula for titles."""
    index = "" if scale is None else f"s{scale}:  "
    return f"{index}$\\sqrt{{t}}$ = {length:.3g}" + (f" {escaped(unit)}" if unit else "")


def lengths_of(signatures: Signatures) -> Array:
    """The lengths sqrt(t) of signatures; of times that differ from point to point, of their means."""
    return np.sqrt(np.atleast_2d(signatures.scales).mean(axis=0))


def escaped(text: str) -> str:
    """Words that matplotlib takes as they are: a dollar sign would start a formula."""
    return text.replace("$", r"\$")


def class_color(k: int) -> str:
    """The colour of the k-th class: eight chosen by hand, then those furthest from all before; 64 differ."""
    return _class_colors()[k % _COLOURS]


@cache
def _class_colors() -> tuple[str, ...]:
    """Colours by their numbers: of a regular grid, each the one that lies furthest from those before it."""
    levels = np.arange(0, 256, 15)
    grid = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
    light = grid @ np.array([0.2126, 0.7152, 0.0722])
    grid = grid[(light > 25) & (light < 165)]  # neither black nor fading on white paper
    chosen = [np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) for color in CLASS_COLORS]
    nearest = np.min([((grid - color) ** 2).sum(axis=1) for color in chosen], axis=0)
    while len(chosen) < _COLOURS:
        chosen.append(grid[int(nearest.argmax())])
        nearest = np.minimum(nearest, ((grid - chosen[-1]) ** 2).sum(axis=1))
    return tuple(f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in chosen)


def class_marker(k: int) -> str:
    """The marker of the k-th class: another one for every eight classes."""
    return _MARKERS[(k // len(CLASS_COLORS)) % len(_MARKERS)]


def class_line(k: int) -> dict[str, str]:
    """Marker and dashes of the k-th class: others for every eight classes, for readers who mix up colours."""
    group = (k // len(CLASS_COLORS)) % len(_MARKERS)
    return {"marker": class_marker(k), "linestyle": _DASHES[group]}


def drawable_points(points: ArrayLike, signatures: Signatures | None = None) -> Array:
    """Points of two or three coordinates that belong to the signatures, or an error."""
    checked = as_points(points)
    if checked.shape[1] not in (2, 3):
        raise ValueError(f"points must have 2 or 3 coordinates to be drawn, got {checked.shape[1]}")
    if signatures is not None and signatures.dimension.shape[0] != checked.shape[0]:
        raise ValueError(
            f"signatures are of {signatures.dimension.shape[0]} points, but points has {checked.shape[0]}"
        )
    return checked


def as_image(axes: Any, kind: str, dpi: int = 110) -> bytes:
    """A figure as "png" or "svg", the same bytes each time, with the mark of this library; it is closed."""
    figure = np.atleast_1d(np.asarray(axes, dtype=object)).flat[0].figure
    buffer = io.BytesIO()
    metadata = {"Software": "heatfield"} if kind == "png" else {"Creator": "heatfield", "Date": None}
    # Without a salt the names inside an SVG are drawn at random.
    with pyplot().rc_context({"svg.hashsalt": "heatfield"}):
        figure.savefig(buffer, dpi=dpi, format=kind, metadata=metadata)
    pyplot().close(figure)
    return buffer.getvalue()


def draw_cloud(
    ax: Any, points: Array, values: ArrayLike, cmap: Any, low: float, high: float,
    *, zoom: float = 1.2, **more: Any,
) -> Any:  # fmt: skip
    """A scatter without axes, in equal units; in space seen from above at an angle."""
    size = more.pop("s", float(np.clip(6000 / len(points), 0.3, 12)))
    shown = ax.scatter(*points.T, c=values, s=size, cmap=cmap, vmin=low, vmax=high, linewidths=0, **more)
    if points.shape[1] == 3:
        extent = np.ptp(points, axis=0)
        ax.set_proj_type("ortho")
        ax.set_box_aspect(np.maximum(extent, 1e-3 * extent.max() or 1.0), zoom=zoom)
        ax.view_init(elev=22, azim=-72)
        ax.set_clip_on(False)
        shown.set_clip_on(False)
    else:
        ax.set_aspect("equal")
    ax.set_axis_off()
    return shown


def dimension_name(center: float) -> str:
    """ "1 (filament)" and so on."""
    if float(center).is_integer() and 0 <= center < len(DIMENSION_NAMES):
        return f"{center:g} ({DIMENSION_NAMES[int(center)]})"
    return f"{center:g}"
