"""The summaries of signatures and of a heat dimension spectrum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._base.drawing import band
from .._base.summary import MOST_ROWS, Summary, chosen_columns, number, plural, quantiles, shape
from ..core.plan_summary import plan_words
from .channels import CHANNELS

if TYPE_CHECKING:
    from .signatures import HeatDimensionSpectrum, Signatures


def summary_of(s: Signatures) -> Summary:
    """Points, scales, shapes, the median dimension, and what was chosen."""
    m, steps = s.dimension.shape
    n = None if s.spectrum is None else s.spectrum.shape[-1]
    space = "" if n is None else f" in {plural(n, 'dimension')}"
    title = f"Signatures at {plural(m, 'point')}{space}, {plural(steps, 'scale')}"
    own = s.scales.ndim == 2
    with np.errstate(invalid="ignore"):
        lengths = np.sqrt(quantiles(s.scales, [0.5])[0] if own else s.scales)
    low, middle, high = quantiles(s.dimension, [0.1, 0.5, 0.9])
    columns = chosen_columns(steps)
    unit = "in the unit of the points" + (", median: each point has its own" if own else "")
    of = "median" if m <= MOST_ROWS else f"median of every {1 + (m - 1) // MOST_ROWS}th point"
    lines: list[tuple[str, str | list[str]]] = [
        ("scale", [*map(str, columns), ""]),
        ("sqrt(t)", [*(number(float(lengths[a])) for a in columns), unit]),
        ("dimension", [*(number(float(middle[a])) for a in columns), of]),
    ]
    for dims, names in _by_shape(s).items():
        lines.append(("per point", f"{dims}  {', '.join(names)}"))
    if s.directions is not None:
        lines.append(("per point", f"{shape(s.directions)}  directions; normals, verticality"))
    lines.append(("as a whole", f"{shape(s.energy)}  energy, response, roughness, relative_roughness"))
    lines.append(("hds", _shares(s.hds)))
    chosen = (
        "nothing could be computed: two distinct points are needed" if s.plan is None else plan_words(s.plan)
    )
    lines.append(("chosen", chosen))
    drawing = band(
        lengths, low, middle, high, top=3.0 if n is None else float(n),
        title="dimension: median, 10 to 90 % of the points", below="sqrt(t), in the unit of the points",
    )  # fmt: skip
    return Summary(title, lines, [drawing] if drawing else [])


def summary_of_hds(hds: HeatDimensionSpectrum) -> Summary:
    """Shares of the dimensions, scale by scale."""
    steps, count = hds.composition.shape
    columns = chosen_columns(steps)
    lines: list[tuple[str, str | list[str]]] = [("scale", [*map(str, columns), ""])]
    remark = "composition: share of the points"
    for k in chosen_columns(count, 10):
        cells = [number(float(hds.composition[a, k])) for a in columns]
        lines.append((f"d = {hds.centers[k]:g}", [*cells, remark if k == 0 else ""]))
    lines.append(("arrays", f"{shape(hds.composition)}  composition, contrast; sigma {hds.sigma:g}"))
    return Summary(f"Heat dimension spectrum at {plural(steps, 'scale')}", lines)


def _shares(hds: HeatDimensionSpectrum) -> str:
    centers = ", ".join(f"{c:g}" for c in hds.centers[:6]) + (", ..." if len(hds.centers) > 6 else "")
    return f"{shape(hds.composition)}  composition, contrast, at dimension {centers}"


def _by_shape(s: Signatures) -> dict[str, list[str]]:
    """Names of the local signatures by the shape of their arrays."""
    found: dict[str, list[str]] = {}
    for channel in CHANNELS:
        values = None if channel.on_request else channel.values(s)
        if values is not None:
            words = channel.name + (f" [{channel.unit}]" if channel.unit else "")
            found.setdefault(shape(values), []).append(words)
    return found
