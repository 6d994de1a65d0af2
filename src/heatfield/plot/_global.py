"""Global signatures: how the whole heat landscape concentrates and dissipates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..heat_signatures import Signatures
from ._style import class_color, class_line, escaped, pyplot, tidy

_CURVES = (
    ("energy", "energy $E_2$", True),
    ("response", "response $C_2$", False),
    ("roughness", "roughness $\\mathcal{E}$", True),
    ("relative_roughness", "relative roughness", True),
)


def global_curves(
    signatures: Signatures | Sequence[Signatures],
    names: Sequence[Any] | None = None,
    *,
    unit: str | None = None,
) -> Any:
    """Energy, response, roughness and relative roughness over the length sqrt(t), one curve per cloud.

    Guide: ``heatfield docs guide/plots``.

    Parameters
    ----------
    signatures : Signatures, or a sequence of them
        With one time for all points.
    names : sequence, optional
        Names of the clouds.
    unit : str, optional
        Of the coordinates, for the axis.

    Returns
    -------
    axes : ndarray of four matplotlib axes

    Examples
    --------
    >>> import heatfield as hf
    >>> points, _ = hf.datasets.make_mixed_shape(300)
    >>> axes = hf.plot.global_curves(hf.signatures(points))
    >>> axes.shape, axes[1].get_title()
    ((4,), 'response $C_2$')
    """
    several = [signatures] if isinstance(signatures, Signatures) else list(signatures)
    if names is not None and len(names) != len(several):
        raise ValueError(f"names has {len(names)} names for {len(several)} clouds")
    for k, one in enumerate(several):
        if one.scales.ndim != 1 or not np.isfinite(one.energy).all():
            raise ValueError(
                f"signatures[{k}] has no global curves: it needs one time for all points and no targets"
            )
    _, axes = pyplot().subplots(1, 4, figsize=(12.6, 2.9), layout="constrained")
    for ax, (field, title, logarithmic) in zip(axes, _CURVES, strict=True):
        for k, one in enumerate(several):
            label = None if names is None else str(names[k])
            line = {"color": class_color(k), **class_line(k)}
            ax.plot(np.sqrt(one.scales), getattr(one, field), markersize=3, label=label, **line)
        ax.set_xscale("log")
        ax.set_yscale("log" if logarithmic else "linear")
        ax.set_xlabel("length $\\sqrt{t}$" + (f", {escaped(unit)}" if unit else ""))
        tidy(ax, title)
    if names is not None:
        axes[0].legend(frameon=False, fontsize=9)
    return axes
